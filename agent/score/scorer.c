// SPDX-License-Identifier: Apache-2.0
#include "agent/score/scorer.h"

#include "lib/jsontext.h"

#include <string.h>

enum { SLOTS_MAX = 64, CAUSE_MAX = 256 /* bytes; so much a commit keeps */ };

int scorer_find(const json_t *spec, const struct scorer_kind **ret_kind, struct error *err) {
    for (const struct scorer_kind *const *kind = scorer_kinds; *kind; kind++) {
        if (json_object_get(tree_get(spec, "scorer"), (*kind)->name)) {
            *ret_kind = *kind;
            return 0;
        }
    }
    return error_set(err, ERROR_INVALID, "spec.scorer: one of onnx, command is expected");
}

int scorer_slots(const json_t *spec) {
    int64_t processes = tree_integer(spec, "scorer.command.processesPerWorker", 1);
    return (int)MAX(MIN(processes, SLOTS_MAX), 1);
}

void scorer_count_failure(struct scorer_count *count, const char *cause) {
    size_t size = strnlen(cause, CAUSE_MAX);
    json_t *text = json_stringn(cause, jsontext_utf8_end(cause, size)); /* cut between characters */
    if (!count->failures) {
        count->failures = json_array();
    }
    json_array_append_new(count->failures, json_pack("[I,o]", (json_int_t)count->items, text));
    count->failed++;
    count->items++;
}

const char *scorer_size_hint(const json_t *spec) {
    return tree_get(spec, "input.table.partitionKeys")
               ? "name more columns in spec.input.table.partitionKeys, so that fewer rows are of "
                 "one key"
               : "make spec.miniBatchSize smaller";
}
