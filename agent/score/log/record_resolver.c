// SPDX-License-Identifier: Apache-2.0
#include "agent/score/log/record_resolver.h"

#include <stdlib.h>
#include <string.h>

/* A cell's entry: its rank in the upper two bits, the number of the record in the others. */
enum { RANK_NONE, RANK_FAILED, RANK_PARTIAL, RANK_DONE, RANK_SHIFT = 30, ROOM_FIRST = 1024 };

struct record_resolver {
    uint32_t *cells;
    int64_t room, cells_max;
    uint32_t added, told; /* records that score cells, in the first and in the second reading */
};

struct record_resolver *record_resolver_new(int64_t cells_max) {
    struct record_resolver *resolver = x_calloc(1, sizeof *resolver);
    resolver->cells_max = cells_max;
    return resolver;
}

void record_resolver_free(struct record_resolver *resolver) {
    if (resolver) {
        free(resolver->cells);
        free(resolver);
    }
}

void record_resolver_freep(struct record_resolver **resolver) {
    record_resolver_free(*resolver);
}

static uint32_t rank_of(enum commit_record_type type) {
    switch (type) {
    case COMMIT_DONE:
        return RANK_DONE;
    case COMMIT_PARTIAL:
        return RANK_PARTIAL;
    case COMMIT_FAILED:
        return RANK_FAILED;
    default:
        return RANK_NONE;
    }
}

static void grow(struct record_resolver *resolver, int64_t cells) {
    if (cells <= resolver->room) {
        return;
    }
    int64_t room = MIN(resolver->cells_max, MAX(cells, MAX(resolver->room * 2, ROOM_FIRST)));
    resolver->cells = x_realloc_array(resolver->cells, (size_t)room, sizeof *resolver->cells);
    memset(resolver->cells + resolver->room, 0,
           (size_t)(room - resolver->room) * sizeof *resolver->cells);
    resolver->room = room;
}

int record_resolver_add(struct record_resolver *resolver, const struct commit_record *record,
                        struct error *err) {
    uint32_t rank = rank_of(record->type);
    if (rank == RANK_NONE && record->type != COMMIT_VOID) {
        return 0;
    }
    if (record->cells > resolver->cells_max ||
        record->first > resolver->cells_max - record->cells) {
        return error_set(err, ERROR_INVALID,
                         "a record of mini-batch %lld, but the job has %lld of them",
                         (long long)record->first, (long long)resolver->cells_max);
    }
    grow(resolver, record->first + record->cells);
    if (rank == RANK_NONE) {
        memset(resolver->cells + record->first, 0, (size_t)record->cells * sizeof *resolver->cells);
        return 0;
    }
    if (resolver->added == RECORD_RESOLVER_RECORDS_MAX) {
        return error_set(err, ERROR_INVALID, "more than %d records", RECORD_RESOLVER_RECORDS_MAX);
    }
    uint32_t word = rank << RANK_SHIFT | resolver->added++;
    for (int64_t i = record->first; i < record->first + record->cells; i++) {
        uint32_t old = resolver->cells[i] >> RANK_SHIFT;
        if (rank > old || (rank == RANK_FAILED && old == RANK_FAILED)) {
            resolver->cells[i] = word;
        }
    }
    return 0;
}

int64_t record_resolver_count(const struct record_resolver *resolver) {
    return resolver->added;
}

int64_t record_resolver_find(const struct record_resolver *resolver, int64_t cell,
                             int64_t *ret_cells) {
    int64_t end = cell;
    uint32_t word = cell < resolver->room ? resolver->cells[cell] : 0;
    while (end < resolver->room && resolver->cells[end] == word) {
        end++;
    }
    *ret_cells = (end < resolver->room || word ? end : resolver->cells_max) - cell;
    return word >> RANK_SHIFT > RANK_FAILED ? (int64_t)(word & RECORD_RESOLVER_RECORDS_MAX) : -1;
}

int64_t record_resolver_next(struct record_resolver *resolver, const struct commit_record *record) {
    uint32_t rank = rank_of(record->type);
    if (rank == RANK_NONE) {
        return 0;
    }
    uint32_t word = rank << RANK_SHIFT | resolver->told++;
    int64_t count = 0;
    int64_t end = MIN(record->first + record->cells, resolver->room);
    for (int64_t i = record->first; i < end; i++) {
        count += resolver->cells[i] == word;
    }
    return count;
}
