/* plan.h: the desired state of a BatchScore. Pure: no I/O, no clock, no randomness, so that every
 * decision is a row in tests/data/plan/. The part that all kinds share is kinds/job/plan.h. */
#pragma once

#include "operator/kinds/job/plan.h"

struct batchscore_schedule;

/* What the controller has observed of one BatchScore. All borrowed. */
struct batchscore_observed {
    struct job_observed job;
    const json_t *runs; /* array of a series' runs (series.h), any order; NULL: none */
    const struct batchscore_schedule *schedule; /* spec.schedule, parsed (schedule.h); NULL: none */
};

extern const struct job_words batchscore_words;

/* The result of job/plan.h, owned by the caller. */
NODISCARD int batchscore_decide(const struct batchscore_observed *observed, int64_t now_ms,
                                struct plan_result *ret_result, struct error *err);
