// SPDX-License-Identifier: Apache-2.0
#include "agent/score/log/record_resolver.h"

#include <stdlib.h>
#include <string.h>

/* A cell's word: its rank in the upper two bits, below them the number of the record. */
enum { RANK_NONE, RANK_FAILED, RANK_PARTIAL, RANK_DONE, RANK_SHIFT = 30, ROOM_FIRST = 1024 };

struct standing {
    uint32_t *cells;
    int64_t room, cells_max;
    uint32_t added, told; /* records that score cells, in either reading */
};

struct standing *standing_new(int64_t cells_max) {
    struct standing *standing = x_calloc(1, sizeof *standing);
    standing->cells_max = cells_max;
    return standing;
}

void standing_free(struct standing *standing) {
    if (standing) {
        free(standing->cells);
        free(standing);
    }
}

void standing_freep(struct standing **standing) {
    standing_free(*standing);
}

static uint32_t rank_of(enum commit_verdict verdict) {
    switch (verdict) {
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

static void grow(struct standing *standing, int64_t cells) {
    if (cells <= standing->room) {
        return;
    }
    int64_t room = MIN(standing->cells_max, MAX(cells, MAX(standing->room * 2, ROOM_FIRST)));
    standing->cells = x_realloc_array(standing->cells, (size_t)room, sizeof *standing->cells);
    memset(standing->cells + standing->room, 0,
           (size_t)(room - standing->room) * sizeof *standing->cells);
    standing->room = room;
}

int standing_add(struct standing *standing, const struct commit_record *record, struct error *err) {
    uint32_t rank = rank_of(record->verdict);
    if (rank == RANK_NONE && record->verdict != COMMIT_VOID) {
        return 0;
    }
    if (record->cells > standing->cells_max ||
        record->first > standing->cells_max - record->cells) {
        return error_set(err, ERROR_INVALID,
                         "a record of mini-batch %lld, but the job has %lld of them",
                         (long long)record->first, (long long)standing->cells_max);
    }
    grow(standing, record->first + record->cells);
    if (rank == RANK_NONE) {
        memset(standing->cells + record->first, 0, (size_t)record->cells * sizeof *standing->cells);
        return 0;
    }
    if (standing->added == STANDING_RECORDS_MAX) {
        return error_set(err, ERROR_INVALID, "more than %d records", STANDING_RECORDS_MAX);
    }
    uint32_t word = rank << RANK_SHIFT | standing->added++;
    for (int64_t i = record->first; i < record->first + record->cells; i++) {
        uint32_t old = standing->cells[i] >> RANK_SHIFT;
        if (rank > old || (rank == RANK_FAILED && old == RANK_FAILED)) {
            standing->cells[i] = word;
        }
    }
    return 0;
}

int64_t standing_next(struct standing *standing, const struct commit_record *record) {
    uint32_t rank = rank_of(record->verdict);
    if (rank == RANK_NONE) {
        return 0;
    }
    uint32_t word = rank << RANK_SHIFT | standing->told++;
    int64_t count = 0;
    int64_t end = MIN(record->first + record->cells, standing->room);
    for (int64_t i = record->first; i < end; i++) {
        count += standing->cells[i] == word;
    }
    return count;
}
