/* commit.h: the log of valid results: numbered objects in the output, the commits, which hold
 * records (commit_format.h). A commit is truncated if only a part of it was written; its last line
 * shows that. Their names are OUTPUT/.windlass/RUN/commit/000000000000, ...01, ..., each is created
 * exclusively, by the one live coordinator; docs/exactly-once.md says why this is safe. One thread
 * opens it, one (possibly another) uses it, and the log's writer thread stores. */
#pragma once

#include "agent/score/log/commit_format.h"
#include "agent/score/log/commit_seen.h"
#include "agent/score/log/commit_trouble.h"
#include "agent/store/store.h"

/* Texts are copied; at most 253 bytes each, UTF-8. run: 16 hexadecimal digits. */
struct commit_identity {
    const char *run, *uid, *job;
    const char *name_space, *input; /* shown to a job that finds the output in use; may be NULL */
    int64_t timeout_ms; /* how long the store may fail before the log gives up; 0: 5 minutes */
    int64_t absent_ms;  /* how long an existing name or folder may seem absent (NFS); 0: 60 s */
    struct commit_seen *seen; /* what commit_scan keeps, and commit_open reads first; NULL: none.
                                 Borrowed during the call */
    struct commit_trouble *trouble; /* says what the log waits for; NULL: it is not shown.
                                       Outlives the log */
};

struct commit_log;

/* Reads the existing commits (`each` gets every record that counts, in order; NULL: records are not
 * read) and claims the next number. output must outlive the log. CONFLICT: another RUN owns the
 * output; INVALID: a commit is truncated although later ones exist, missing, or not of this run;
 * UNSUPPORTED: a commit of another release; BUSY: in 10,000 tries other coordinators were first.
 * Else the store's: those of a machine (store_error_is_machine) after timeout_ms, others at once.
 * Blocks. */
NODISCARD int commit_open(struct store *output, const struct commit_identity *identity,
                          commit_each *each, void *context, struct commit_log **ret_log,
                          struct error *err);
/* Passes all records of an output, as commit_open does, without claiming anything: for a look at
 * what is there. Of tries as they are written here, `each` gets the type and the epoch alone, and
 * what else is in their lines is not checked: they are by far the most, and the commit_open that
 * follows reads them. identity: run, uid and job as for commit_open. */
NODISCARD int commit_scan(struct store *output, const struct commit_identity *identity,
                          commit_each *each, void *context, struct error *err);
/* Drops records that are added but not stored yet, as if this process had died. Accepts NULL. Waits
 * for a call of the store that is in progress. */
void commit_free(struct commit_log *log);
int64_t commit_epoch(const struct commit_log *log); /* the claim's number; part of the names of
                                                       tries */

/* The record is copied. INVALID: see commit_writer_add; EXHAUSTED: the caller ignored
 * commit_is_full. */
NODISCARD int commit_add(struct commit_log *log, const struct commit_record *record,
                         struct error *err);
/* The heads of the commits that are written from now on name these programs (scored_by.h). */
void commit_name_programs(struct commit_log *log, const json_t *programs);
/* The head of the next commit says what the requests of the workers have cost so far (an object of
 * each, request_metrics.h), unless that is more than COMMIT_REQUESTS_BYTES. */
void commit_name_requests(struct commit_log *log, const json_t *requests);
/* Called between events by the thread that adds: passes due records to the writer (200 ms old, 4
 * MiB, or at_once). 1: the first *ret_through of all added records are stored now; 0: nothing new;
 * -1: no more will be stored. GONE: a newer coordinator of this job (uid) has taken over; leave
 * without a verdict. BUSY: a coordinator of another job has. UNAVAILABLE: the store has accepted
 * nothing for timeout_ms, also because it is full or refuses; or has other bytes than were written.
 * NOT_FOUND: the output's folder has been gone for absent_ms. Else an error of the store that is
 * not the machine's. now_ms: monotonic. */
NODISCARD int commit_poll(struct commit_log *log, bool at_once, int64_t now_ms,
                          int64_t *ret_through, struct error *err);
/* True: the store is slower than the workers: grant no leases until it is false. */
bool commit_is_full(struct commit_log *log);

/* The last BEGIN record is alone in the commit `number`, which has this epoch: commit_replay starts
 * after it. Without this call it starts at the first commit. */
void commit_start_after(struct commit_log *log, int64_t number, int64_t epoch);
int64_t commit_next_number(struct commit_log *log); /* the number of the next commit */
/* Passes all stored records from the start to `each`, including those added to this log; holds two
 * objects at a time. Any thread. */
NODISCARD int commit_replay(struct commit_log *log, commit_each *each, void *context,
                            struct error *err);
/* Passes the records of one object, which commit_replay has passed before, to `each`. Any
 * thread. */
NODISCARD int commit_read_again(struct commit_log *log, int64_t number, commit_each *each,
                                void *context, struct error *err);
