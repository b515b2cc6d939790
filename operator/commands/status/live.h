/* live.h: the figures of running jobs as their hubs (a coordinator, the first pod of a gang) report
 * them at this moment, for `windlass status`. The API server's proxy of Services asks them, so that
 * a user's machine needs no way into the cluster's network:
 *
 *    GET /api/v1/namespaces/NAMESPACE/services/https:SERVICE:PORT/proxy/progress
 *    Windlass-Read-Token: the annotation of the Service; the proxy takes off Authorization
 *
 * Where that fails (a missing right, no pod yet, no answer in time), the figures of the status
 * stay, and the caller gets a word of why. */
#pragma once

#include "operator/commands/remote.h"

enum {
    LIVE_JOBS_MAX = 16,         /* asked at a time; further ones keep their status */
    LIVE_WAIT_MS = 2000,        /* for all answers together */
    LIVE_ANSWER_MAX = 64 << 10, /* bytes of one */
    LIVE_AGAIN_MS = 30000,      /* after a missing right */
    LIVE_WHY_MAX = 512
};

struct live;

/* remote is borrowed. */
struct live *live_new(struct remote *remote);
void live_free(struct live *live);
void live_freep(struct live **live);

/* Brings the figures in `status` of each of these jobs (an array of objects as the API server sent
 * them, changed in place) up to date, as far as they run. Takes at most LIVE_WAIT_MS, and ends
 * at remote.end_ms. Returns how many are live. ret_why: why one that runs is not; "": none. */
size_t live_update(struct live *live, json_t *jobs, char ret_why[static LIVE_WHY_MAX]);
