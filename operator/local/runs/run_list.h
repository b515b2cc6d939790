/* run_list.h: the runs of this machine (run_entry.h), for commands that look at them: which there
 * are, which of them live, and what each says about itself. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

#include <sys/types.h>

struct run_item {
    char *id;       /* "small-20261121-040000" */
    char *path;     /* of its files, without .json and .lock */
    json_t *record; /* run_entry.h */
    bool is_alive;  /* its process holds the lock */
    pid_t pid;      /* of that process; 0: not known here (another machine's or container's) */
};

struct run_list {
    struct run_item *at; /* newest first */
    size_t count;
};

/* Also removes the records of this machine's runs that have ended and whose folder of logs was
 * deleted, and all but the newest 500 of ended runs. A record that cannot be read is left out.
 * Where no run can be recorded (no HOME, no such folder, no right to read it) there are none. */
NODISCARD int run_list_read(struct run_list *ret_list, struct error *err);
void run_list_release(struct run_list *list); /* for AUTO, too */

/* What a record looks like from outside. */
struct run_stamp {
    int64_t changed_ns, bytes; /* of its file */
    bool is_alive;
};

struct run_visitor {
    /* Whether the record is to be read. */
    bool (*wants)(void *context, const char *id, const struct run_stamp *stamp);
    /* item is freed behind the call. */
    void (*takes)(void *context, const struct run_item *item);
    void *context;
};

/* Visits the runs in any order, one record in memory at a time, and removes none. */
NODISCARD int run_list_visit(const struct run_visitor *visitor, struct error *err);
/* Its folder of logs was deleted by somebody: run_list_read forgets such runs. */
bool run_list_has_lost_logs(const struct run_item *item);

/* By its ID, or the newest run of the job of that name; NULL: none. Borrowed. */
const struct run_item *run_list_find(const struct run_list *list, const char *name);

/* The job as a cluster would show it: of a run that is not running and whose job has not ended, the
 * condition Succeeded is False, with the reason Interrupted, Suspended, Cancelled, Failed, or
 * Killed (it left no end). Owned. */
json_t *run_list_job(const struct run_item *item);

/* Sends the signal to the process of the run, to no other that may have got its number. NOT_FOUND:
 * it is not running; UNSUPPORTED: it runs elsewhere. */
NODISCARD int run_list_signal(const struct run_item *item, int signal, struct error *err);
/* Waits until it is not running. TIMEOUT after timeout_ms (-1: never). */
NODISCARD int run_list_wait(const struct run_item *item, int64_t timeout_ms, struct error *err);
/* Sets the outcome ("Suspended") of a run that is not running. */
NODISCARD int run_list_set_outcome(const struct run_item *item, const char *outcome,
                                   struct error *err);
/* Removes the record, and the logs if the run has chosen their folder. */
NODISCARD int run_list_forget(const struct run_item *item, struct error *err);
