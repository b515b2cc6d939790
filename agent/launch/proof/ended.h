/* ended.h: the record that all ranks of a gang have ended with 0. The hub stores it before it reads
 * what they have left, which may take long: when its pod dies meanwhile, its successor reads the
 * rest instead of starting the gang again.
 *
 *   OUTPUT/.windlass/RUN/ended/ATTEMPT   of the hub's pod (six digits); created exclusively
 *
 * One line of JSON: {"windlass": 1, "uid", "attempt", "ended": {"completed", "proof", "objective",
 * "metrics"}, "mac"}. The last two of `ended` are what the hub knew of the reports (objective.h,
 * latest_metrics.h); older hubs wrote none. mac is HMAC-SHA256 by the job's token over the rest
 * (canonical JSON), because programs of users write to the same folder. Without "ended" the attempt
 * is closed: a successor has found nothing, starts the gang, and no late hub of that attempt may
 * say that its ranks have ended. So of a hub and its successor exactly one has the attempt. Records
 * of another uid, and damaged ones, count as absent and stay: the next name counts then (ATTEMPT.1
 * to ATTEMPT.15; INVALID after that). */
#pragma once

#include "agent/store/store.h"
#include "lib/tree.h"

enum { ENDED_BYTES_MAX = 4 << 20, ENDED_ATTEMPTS_MAX = 64 /* closed by a successor */ };

/* Whose records, and where; texts are borrowed. */
struct ended_place {
    const char *path; /* the folder, a path (store.h); NULL: the job has none */
    const char *run;  /* at most 63 bytes */
    const char *uid, *token;
    int64_t attempt; /* of the hub's pod, from 1 */
};

struct ended {
    int64_t attempt; /* of the hub that stored it */
    json_t *end;     /* {"completed": when, "proof": as in result.json, ...}, as above; owned */
};
void ended_free(struct ended *ended); /* accepts NULL */
void ended_freep(struct ended **ended);

/* The text of a record; the caller frees. ended: NULL: it closes the attempt. */
char *ended_write(const struct ended_place *place, int64_t attempt, const struct ended *ended);
/* INVALID: damaged, by another token, or of another uid or attempt. *ret_ended: NULL: closed; else
 * the caller's. */
NODISCARD int ended_read(const struct ended_place *place, int64_t attempt, const char *text,
                         size_t size, struct ended **ret_ended, struct error *err);

/* Stores that the ranks of place->attempt have ended. CONFLICT: a successor has closed it. */
NODISCARD int ended_put(const struct ended_place *place, const struct ended *ended,
                        struct error *err);
/* What the ranks of that attempt left is not complete: another round may follow. */
NODISCARD int ended_withdraw(const struct ended_place *place, int64_t attempt, struct error *err);

/* For a hub that starts. The first attempt removes records of earlier jobs. A later one gets the
 * record of an earlier attempt, or NULL: then those attempts are closed, and the gang may start. */
NODISCARD int ended_find(const struct ended_place *place, struct ended **ret_ended,
                         struct error *err);
