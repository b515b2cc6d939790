// SPDX-License-Identifier: Apache-2.0
#include "agent/score/scorer/scorer.h"

int scorer_find(const json_t *spec, const struct scorer_kind **ret_kind, struct error *err) {
    for (const struct scorer_kind *const *kind = scorer_kinds; *kind; kind++) {
        if (json_object_get(tree_get(spec, "scorer"), (*kind)->name)) {
            *ret_kind = *kind;
            return 0;
        }
    }
    return error_set(err, ERROR_INVALID, "spec.scorer: one of onnx, command, endpoint is expected");
}

/* A request may wait for room, for a limit per minute, or for a server that is away: the pool's
 * clocks end each of them, and a worker that is gone is noticed within 10 s. */
int64_t scorer_lease_ms(const json_t *spec, int64_t timeout_ms) {
    enum { DAY_MS = 86400000 };
    return tree_get(spec, "scorer.endpoint") ? DAY_MS : timeout_ms;
}

bool scorer_may_repeat(const json_t *spec) {
    return !tree_get(spec, "scorer.endpoint") || tree_bool(spec, "scorer.endpoint.hedge", false);
}

int64_t scorer_cells_for_second_run(const json_t *spec) {
    return tree_get(spec, "scorer.endpoint") ? 100 : 0;
}

int64_t scorer_init_ms(const json_t *spec) {
    return tree_integer(spec, "scorer.command.initTimeoutSeconds", 0) * 1000;
}

/* The delay before a restart of a short-lived program, plus the wait for an answer that is no
 * longer wanted. */
int64_t scorer_wait_ms(const json_t *spec, int64_t timeout_ms) {
    return SCORER_START_DELAY_MAX_MS + scorer_init_ms(spec) + timeout_ms;
}

int scorer_count_failure(const struct scorer_task *task, struct scorer_count *count,
                         const char *cause, struct error *err) {
    if (failures_add(task->failures, count->items, cause, err) < 0) {
        return -1;
    }
    count->failed++;
    count->items++;
    return 0;
}

const char *scorer_size_hint(const json_t *spec) {
    return tree_get(spec, "input.table.partitionKeys")
               ? "name more columns in spec.input.table.partitionKeys, so that fewer rows are of "
                 "one key"
               : "make spec.miniBatchSize smaller";
}
