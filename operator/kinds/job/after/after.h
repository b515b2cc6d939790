/* after.h: spec.after: a job that waits until other jobs of its namespace have succeeded, and uses
 * their output. Decides from the other jobs as they were observed; what it read of them is kept in
 * status.after, so that later changes of theirs do not matter. Pure. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

enum {
    AFTER_SEEN_MAX = 128, /* jobs that are looked at for a circle */
    AFTER_TEXT_MAX = 600,
};

enum after_state {
    AFTER_DONE,    /* all have succeeded */
    AFTER_WAITS,   /* for some of them */
    AFTER_CIRCLE,  /* a job waits for itself: a person must act */
    AFTER_UNCLEAR, /* the same: a name that several jobs have, or a job that never ends */
    AFTER_FAILED,  /* one of them has, or has no such output */
};

struct after {
    enum after_state state;
    char message[AFTER_TEXT_MAX];
    json_t *values; /* AFTER_DONE: status.after; owned */
};

/* Whether the other jobs still matter: it names some, has not ended, and status.after does not have
 * them yet. */
bool after_is_open(const json_t *object);
/* Whether an entry of spec.after means that job. */
bool after_is_named(const json_t *object, const json_t *job);
/* Whether the job has succeeded or failed, and does not go on. */
bool after_has_ended(const json_t *job);
/* others: of the jobs that it names, and that those name, all that exist: an array. */
void after_judge(const json_t *object, const json_t *others, struct after *ret_after);
/* status.after of a job whose others have all succeeded; owned. */
json_t *after_values(const json_t *object, const json_t *others);
void after_release(struct after *after);

/* What the others have for it, borrowed or NULL: the folder of a job's results (of a command the
 * only one of its outputs), the ONNX file of a training. */
const char *after_output(const json_t *job);
/* The same; owned by the caller. */
char *after_model(const json_t *job);
