// SPDX-License-Identifier: Apache-2.0
#include "agent/graph/resident.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t bytes_of(const struct value *value) {
    return (size_t)shape_count(&value->shape) * tensor_type_size(value->type);
}

/* Whole pages alone: what else lies in the first and the last one is not ours. */
void resident_drop(const void *bytes, size_t size) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)bytes;
    uintptr_t first = (at + page - 1) / page * page, end = (at + size) / page * page;
    if (first < end) {
        (void)madvise((void *)first, end - first, MADV_DONTNEED); /* or they stay: no harm */
    }
}

void graph_let_go(const struct graph *graph, int index) {
    struct value *value = &graph->values[index];
    if (!graph->lets_go || !value->is_constant || !value->origin || value->is_held ||
        value->is_gone || bytes_of(value) < RESIDENT_BYTES_MIN) {
        return;
    }
    resident_drop(value->constant.data, bytes_of(value));
    value->is_gone = value->constant.data != value->origin;
}

void graph_hold(const struct graph *graph, int index, const void *bytes) {
    struct value *value = &graph->values[index];
    assert(!value->is_gone);
    value->is_held = true;
    for (size_t i = 0; !value->is_constant && i < graph->value_count; i++) {
        graph->values[i].is_held |= graph->values[i].constant.data == bytes;
    }
}

void graph_bring_back(const struct graph *graph) {
    for (size_t i = 0; i < graph->value_count; i++) {
        struct value *value = &graph->values[i];
        if (value->is_gone) {
            memcpy(value->constant.data, value->origin, bytes_of(value));
            resident_drop(value->origin, bytes_of(value));
            value->is_gone = false;
        }
    }
}
