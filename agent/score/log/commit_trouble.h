/* commit_trouble.h: why the output's storage gives or takes no commit now, while the log waits for
 * it (commit.h). The log notes it; any thread may show it. */
#pragma once

#include "lib/error.h"

#include <pthread.h>

struct commit_trouble {
    /* Private. */
    pthread_mutex_t lock;
    struct error why; /* ERROR_NONE: the log does not wait */
    int64_t since_ms;
};

void commit_trouble_init(struct commit_trouble *trouble);
void commit_trouble_release(struct commit_trouble *trouble);

/* why: NULL: it is over. Of each kind the first text stays: others may have other numbers of
 * requests in them. trouble: NULL: it is not shown. */
void commit_trouble_note(struct commit_trouble *trouble, const struct error *why);
/* For how long the log has waited, and why; -1: it does not wait. now_ms: monotonic. */
int64_t commit_trouble_find(struct commit_trouble *trouble, int64_t now_ms, struct error *ret_why);
