// SPDX-License-Identifier: Apache-2.0
/* Which record counts, against the rules applied cell by cell with all records in memory.
 * SOAK_SEED, SOAK_ROUNDS: other logs, more of them. */
#include "agent/score/log/record_resolver.h"

#include "tests/seed.h"
#include "tests/test.h"

#include <stdlib.h>

enum { CELLS = 24, RECORDS = 60 };

static uint64_t seed_now;

static int64_t any(int64_t below) {
    return (int64_t)test_below(&seed_now, (uint64_t)below);
}

static struct commit_record random_record(void) {
    static const enum commit_record_type types[] = {COMMIT_DONE,   COMMIT_DONE, COMMIT_PARTIAL,
                                                    COMMIT_FAILED, COMMIT_VOID, COMMIT_PUBLISHED,
                                                    COMMIT_END};
    struct commit_record record = {.type = types[any(ARRAY_LEN(types))]};
    record.first = any(CELLS);
    record.cells = record.type == COMMIT_END ? CELLS : 1 + any(MIN(5, CELLS - record.first));
    record.first = record.type == COMMIT_END ? 0 : record.first;
    return record;
}

/* The record that counts for a cell, by the rules of exactly-once.md; -1: none. */
static int winner(const struct commit_record *records, int count, int64_t cell) {
    int won = -1;
    for (int i = 0; i < count; i++) {
        const struct commit_record *record = &records[i];
        if (cell < record->first || cell >= record->first + record->cells) {
            continue;
        }
        enum commit_record_type old = won < 0 ? COMMIT_END : records[won].type;
        switch (record->type) {
        case COMMIT_VOID:
            won = -1;
            break;
        case COMMIT_DONE:
            won = old == COMMIT_DONE ? won : i;
            break;
        case COMMIT_PARTIAL:
            won = old == COMMIT_DONE || old == COMMIT_PARTIAL ? won : i;
            break;
        case COMMIT_FAILED:
            won = old == COMMIT_DONE || old == COMMIT_PARTIAL ? won : i;
            break;
        default:
            break;
        }
    }
    return won;
}

/* By its number among the records that score cells; -1: none, or it has failed. */
static int64_t number_of(const struct commit_record *records, int won) {
    int64_t number = 0;
    for (int i = 0; i < won; i++) {
        number += records[i].type <= COMMIT_FAILED;
    }
    return won < 0 || records[won].type == COMMIT_FAILED ? -1 : number;
}

/* All cells, from range to range. */
static bool ranges_are_found(const struct record_resolver *resolver,
                             const struct commit_record *records) {
    int64_t cell = 0, own = 0;
    for (; cell < CELLS; cell += own) {
        int64_t found = record_resolver_find(resolver, cell, &own);
        for (int64_t i = cell; i < cell + own; i++) {
            if (own < 1 || i >= CELLS || found != number_of(records, winner(records, RECORDS, i))) {
                return false;
            }
        }
    }
    return true;
}

static bool check_log(void) {
    struct error err = {0};
    struct commit_record records[RECORDS];
    int64_t wanted[RECORDS] = {0};
    AUTO(record_resolver_freep) struct record_resolver *resolver = record_resolver_new(CELLS);
    for (int i = 0; i < RECORDS; i++) {
        records[i] = random_record();
        if (record_resolver_add(resolver, &records[i], &err) < 0) {
            printf("# %s\n", err.text);
            return false;
        }
    }
    if (!ranges_are_found(resolver, records)) {
        return false;
    }
    for (int64_t cell = 0; cell < CELLS; cell++) {
        int won = winner(records, RECORDS, cell);
        if (won >= 0) {
            wanted[won]++;
        }
    }
    for (int i = 0; i < RECORDS; i++) {
        if (record_resolver_next(resolver, &records[i]) != wanted[i]) {
            return false;
        }
    }
    return true;
}

static void the_rules_hold_for_any_log(void) {
    uint64_t first = test_seed(1);
    int64_t rounds = test_rounds(30) * 100;
    for (int64_t i = 0; i < rounds; i++) {
        seed_now = first + (uint64_t)i;
        if (!check_log()) {
            printf("# SOAK_SEED=%llu: another record counts\n",
                   (unsigned long long)(first + (uint64_t)i));
            CHECK(false);
            return;
        }
    }
}

static void cells_the_job_cannot_have_are_refused(void) {
    static const struct commit_record records[] = {
        {.type = COMMIT_DONE, .first = 10, .cells = 1},
        {.type = COMMIT_DONE, .first = 9, .cells = 2},
        {.type = COMMIT_DONE, .first = 0, .cells = INT64_MAX / 2},
        {.type = COMMIT_VOID, .first = INT64_MAX / 2, .cells = INT64_MAX / 2},
    };
    for (size_t i = 0; i < ARRAY_LEN(records); i++) {
        struct error err = {0};
        AUTO(record_resolver_freep) struct record_resolver *resolver = record_resolver_new(10);
        CHECK(record_resolver_add(resolver, &records[i], &err) < 0);
        CHECK_INT(err.kind, ERROR_INVALID);
    }
}

int main(void) {
    TEST(the_rules_hold_for_any_log);
    TEST(cells_the_job_cannot_have_are_refused);
    return TEST_END();
}
