/* commit.h: the log of what counts: OUTPUT/.windlass/RUN/commit/000000000000, ...01, ..., each
 * created exclusively by the one live coordinator; docs/exactly-once.md says why this holds. One
 * thread opens it, one (maybe another) uses it, and a thread of its own writes. */
#pragma once

#include "agent/score/log/commit_format.h"
#include "agent/store/store.h"

/* Texts are copied; at most 253 bytes each, UTF-8. run: 16 hexadecimal digits. */
struct commit_identity {
    const char *run, *uid, *job;
    const char *name_space, *input; /* shown to a job that finds the output taken; may be NULL */
    int64_t patience_ms; /* how long the store may fail before we give up; 0: 5 minutes */
    int64_t absent_ms;   /* how long an existing name may seem absent (NFS); 0: 60 s */
};

struct commit_log;

/* Reads the existing commits (`each` gets every record that counts, in order; NULL: records are not
 * read) and claims the next number. output must outlive the log. CONFLICT: another RUN owns the
 * output; INVALID: a commit is torn with others behind it, missing, or not of this run;
 * UNSUPPORTED: of another release; else the store has failed for patience_ms. Blocks.
 * */
NODISCARD int commit_open(struct store *output, const struct commit_identity *identity,
                          commit_each *each, void *context, struct commit_log **ret_log,
                          struct error *err);
/* What was added and is not stored yet is dropped, as if this process had died. NULL is fine. Waits
 * for a call of the store that is under way. */
void commit_free(struct commit_log *log);
int64_t commit_epoch(const struct commit_log *log); /* the claim's number; in names of tries */

/* Copied. INVALID: see commit_writer_add; EXHAUSTED: commit_is_full was not heeded. */
NODISCARD int commit_add(struct commit_log *log, const struct commit_record *record,
                         struct error *err);
/* From the thread that adds, between events: hands on to the writer what is due (200 ms old, 4 MiB,
 * or at_once). 1: *ret_through of all added records, the first ones, are stored now; 0: nothing
 * new; -1: no more will be stored. GONE: a newer coordinator of this job (uid) has taken over,
 * leave without a verdict; BUSY: one of another job; UNAVAILABLE: the store has taken nothing for
 * patience_ms, full ones and those that refuse among them. now_ms: monotonic. */
NODISCARD int commit_turn(struct commit_log *log, bool at_once, int64_t now_ms,
                          int64_t *ret_through, struct error *err);
/* No more leases for now: the store is slower than the workers. */
bool commit_is_full(struct commit_log *log);

/* All records again from the start, those of this log that are stored among them; holds two objects
 * at a time. Any thread. */
NODISCARD int commit_replay(struct commit_log *log, commit_each *each, void *context,
                            struct error *err);
/* The records of this one object again, which commit_replay has passed. Any thread. */
NODISCARD int commit_read_again(struct commit_log *log, int64_t number, commit_each *each,
                                void *context, struct error *err);
