/* plan_pods.h: the parts of plan.c that read pods and decide about them, and what they share. Pure.
 */
#pragma once

#include "operator/kinds/batchscore/life.h"
#include "operator/kinds/batchscore/plan.h"
#include "operator/kinds/batchscore/pods.h"
#include "operator/kinds/batchscore/status.h"

struct plan {
    struct batchscore_observed seen;
    const struct batchscore_observed *observed; /* that, its object completed by begun_recall */
    const json_t *stored;                       /* the object as it is */
    json_t *object;                             /* the completed one; owned */
    bool is_series;                             /* it makes runs (series.h) */
    bool is_changed; /* the spec is not what the job began with, or cannot be read */
    struct batchscore_spec spec;
    struct endpoint endpoint;
    int64_t now_ms;
    int64_t wake_ms;    /* when something may be decided by time alone */
    struct life *lives; /* of observed->pods */
    size_t life_count;
    const struct life *coordinator; /* the newest; NULL: none */
    int coordinator_failures;
    bool excludes;    /* the output's storage keeps two coordinators apart */
    json_t *progress; /* the coordinator's last words, else its last answer; owned; may be NULL */
    json_t *create, *apply, *delete, *events; /* owned */
    struct outcome outcome;
};

enum {
    PLAN_LOST_MS = 60000, /* past its grace period, a pod that is still there is on a lost node */
    PLAN_LAST_WORDS_MAX = 1 << 20,
};

/* Fills in lives, coordinator, its failures, excludes and progress (plan_read.c). */
void plan_read_pods(struct plan *plan);
bool plan_is_coordinator(const struct life *life);
void plan_remove_pod(struct plan *plan, const struct life *life);
/* Asks for another look at that time. */
void plan_wake(struct plan *plan, int64_t at_ms);
/* An event that is told when the object of that name is made. */
void plan_event(struct plan *plan, const char *type, const char *reason, const char *of,
                const char *format, ...) PRINTF_LIKE(5, 6);
/* An event that is told when the status is written. */
void plan_tell(struct plan *plan, const char *type, const char *reason, const char *format, ...)
    PRINTF_LIKE(4, 5);
bool plan_has_running_worker(const struct plan *plan);

/* The verdict of a coordinator that ended, if it is one. */
void plan_verdict(struct plan *plan);
/* What runs, what is missing, what is too much. */
void plan_pods(struct plan *plan);
/* Deletes what still runs, and what is not worth keeping: of a success the workers' pods;
 * everything when all is true. */
void plan_clean_up(struct plan *plan, bool succeeded, bool all);
