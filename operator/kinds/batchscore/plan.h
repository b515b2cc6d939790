/* plan.h: what a BatchScore should look like now. PURE: no I/O, no clock, no randomness, so that
 * every decision is a row in tests/data/plan/. What all kinds share: kinds/job/plan.h. */
#pragma once

#include "operator/kinds/job/plan.h"

struct schedule;

/* What the controller has seen of one BatchScore. All borrowed. */
struct batchscore_observed {
    struct job_observed job;
    const json_t *runs;              /* array of a series' runs (series.h), any order; NULL: none */
    const struct schedule *schedule; /* spec.schedule, read (schedule.h); NULL: none */
};

extern const struct job_words batchscore_words;

/* The result of job/plan.h, owned by the caller. */
NODISCARD int batchscore_plan(const struct batchscore_observed *observed, int64_t now_ms,
                              json_t **ret_result, struct error *err);
