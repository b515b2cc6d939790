// SPDX-License-Identifier: Apache-2.0
/* Facts of a run collected in bounded memory, against plain sums over all records. SOAK_SEED,
 * SOAK_ROUNDS: other runs, more of them. */
#include "agent/score/report/report_facts.h"

#include "tests/collisions.h"
#include "tests/test.h"
#include "tests/unit/agent/score/report/made_up.h"

#include <stdlib.h>

/* ---- sums ----------------------------------------------------------------------------------- */

enum { SUM_WORKERS = 5, SUM_RECORDS = 400 };

struct plain {
    int64_t busy_ms, span_ms, after_ms, batches, items;
};

/* All facts of one epoch, from all records. */
static void add_plain(const struct commit_record *records, int count, int64_t offset_ms,
                      int64_t end_ms, struct plain plain[static SUM_WORKERS]) {
    for (int w = 0; w < SUM_WORKERS; w++) {
        int64_t first_ms = INT64_MAX, last_ms = -1;
        for (int i = 0; i < count; i++) {
            if (records[i].worker[1] - '0' != w) {
                continue;
            }
            int64_t from_ms = offset_ms + records[i].start_ms;
            first_ms = MIN(first_ms, from_ms);
            last_ms = MAX(last_ms, from_ms + records[i].took_ms);
            plain[w].busy_ms += records[i].took_ms;
            plain[w].batches++;
            plain[w].items += records[i].items;
        }
        if (last_ms >= 0) {
            plain[w].span_ms += last_ms - first_ms;
            plain[w].after_ms += end_ms - last_ms;
        }
    }
}

static void check_sums(void) {
    static const char *const names[SUM_WORKERS] = {"w0", "w1", "w2", "w3", "w4"};
    static struct commit_record records[SUM_RECORDS];
    struct plain plain[SUM_WORKERS] = {{0}};
    AUTO(facts_freep) struct facts *facts = facts_new();
    int64_t offset_ms = 0, busy_ms = 0, items = 0, longest = any(3) ? 900 : 200000, slowest = 0;
    for (int epoch = 0; epoch < 3; epoch++) {
        int count = 1 + (int)any(SUM_RECORDS);
        int64_t end_ms = offset_ms;
        for (int i = 0; i < count; i++) {
            records[i] = (struct commit_record){.type = COMMIT_DONE,
                                                .first = i,
                                                .cells = 1,
                                                .items = any(20),
                                                .epoch = epoch * 5,
                                                .try = 1,
                                                .worker = names[any(SUM_WORKERS)],
                                                .start_ms = any(60000),
                                                .took_ms = any(longest)};
            end_ms = MAX(end_ms, offset_ms + records[i].start_ms + records[i].took_ms);
            busy_ms += records[i].took_ms;
            items += records[i].items;
            slowest = MAX(slowest, records[i].took_ms);
            facts_add(facts, &records[i], 1);
        }
        add_plain(records, count, offset_ms, end_ms, plain);
        offset_ms = end_ms;
    }
    facts_finish(facts);
    double spread_items = 0, spread_busy = 0, done = 0;
    for (int i = 0; i < FACTS_BUCKETS; i++) {
        spread_items += facts->items_at[i];
        spread_busy += facts->busy_at[i];
        done += facts->done_at[i];
    }
    CHECK(fabs(spread_items - (double)items) < 1e-6 * (double)MAX(items, 1));
    CHECK(fabs(done - (double)items) < 1e-6);
    CHECK(fabs(spread_busy - (double)busy_ms) < 1e-3);
    CHECK_INT(facts->end_ms, offset_ms);
    CHECK_INT(facts->slowest_ms, slowest);
    CHECK_INT(facts->slowest[0].took_ms, slowest);
    CHECK(facts->end_ms / facts->width_ms < FACTS_BUCKETS);
    for (int i = 0; i < facts->worker_count; i++) {
        const struct facts_worker *worker = &facts->workers[i];
        const struct plain *wanted = &plain[worker->name[1] - '0'];
        CHECK_INT(worker->busy_ms, wanted->busy_ms);
        CHECK_INT(worker->span_ms, wanted->span_ms);
        CHECK_INT(worker->after_ms, wanted->after_ms);
        CHECK_INT(worker->batches, wanted->batches);
        CHECK_INT(worker->items, wanted->items);
        double strip = 0;
        for (int s = 0; s < FACTS_STRIP; s++) {
            strip += (double)worker->strip[s];
        }
        CHECK(fabs(strip - (double)worker->busy_ms) <= 1e-4 * (double)worker->busy_ms + 1);
    }
}

static void sums_are_those_of_all_records(void) {
    int64_t count = test_rounds(60);
    for (int64_t i = 0; i < count && !test_failures; i++) {
        seed_now = test_seed(1) + (uint64_t)i;
        check_sums();
        if (test_failures) {
            printf("# SOAK_SEED=%llu\n", (unsigned long long)(test_seed(1) + (uint64_t)i));
        }
    }
}

static int by_number(const void *a, const void *b) {
    const int64_t *one = a, *other = b;
    return *one < *other ? -1 : *one > *other;
}

static void quantiles_are_near(void) {
    enum { COUNT = 5000 };
    static int64_t times[COUNT];
    seed_now = 11;
    AUTO(facts_freep) struct facts *facts = facts_new();
    for (int i = 0; i < COUNT; i++) {
        times[i] = some_ms(1200);
        struct commit_record record = {
            .type = COMMIT_DONE, .cells = 1, .items = 1, .try = 1, .took_ms = times[i]};
        facts_add(facts, &record, 1);
    }
    facts_finish(facts);
    qsort(times, COUNT, sizeof *times, by_number);
    static const double shares[] = {0.01, 0.5, 0.95, 0.99, 1};
    for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
        double wanted = (double)times[(int)ceil(shares[i] * COUNT) - 1];
        double seen = (double)facts_quantile_ms(facts, shares[i]);
        CHECK(fabs(seen - wanted) <= 0.05 * wanted);
    }
    CHECK_INT(facts_quantile_ms(facts, 1), times[COUNT - 1]);
    for (int64_t ms = 0; ms < 100000; ms++) {
        int bucket = facts_duration(ms);
        if (ms < facts_duration_ms(bucket) || (ms > 20 && ms >= facts_duration_ms(bucket + 1))) {
            printf("# %lld ms\n", (long long)ms);
            CHECK(false);
            break;
        }
    }
    for (int i = 1; i < FACTS_SLOWEST; i++) {
        CHECK_INT(facts->slowest[i].took_ms, times[COUNT - 1 - i]);
    }
}

static void causes_are_grouped_by_their_words(void) {
    AUTO(facts_freep) struct facts *facts = facts_new();
    for (int64_t i = 0; i < 1000; i++) {
        char text[64];
        snprintf(text, sizeof text, i % 10 ? "row %lld of shop %lld" : "exit code %lld",
                 (long long)i, (long long)i * 77);
        struct commit_record record = {.type = COMMIT_FAILED,
                                       .first = i,
                                       .cells = 1,
                                       .items = 2,
                                       .failed = 2,
                                       .try = 1,
                                       .text = text,
                                       .text_size = strlen(text)};
        facts_add(facts, &record, 1);
    }
    for (int i = 0; i < 1000; i++) { /* more than the table holds: the rest is counted together */
        char text[64];
        snprintf(text, sizeof text, "%c%c only here", 'a' + i / 26 % 26, 'a' + i % 26);
        struct commit_record record = {.type = COMMIT_FAILED,
                                       .cells = 1,
                                       .items = 1,
                                       .failed = 1,
                                       .try = 1,
                                       .text = text,
                                       .text_size = strlen(text)};
        facts_add(facts, &record, 1);
    }
    facts_finish(facts);
    CHECK_INT(facts->causes[0].items, 1800);
    CHECK_INT(facts->causes[0].batches, 900);
    CHECK_STR(facts->causes[0].cause, "row 1 of shop 77");
    CHECK_INT(facts->causes[1].items, 200);
    CHECK_INT(facts->cause_count, FACTS_CAUSES);
    int64_t sum = facts->other_cause_items;
    for (int i = 0; i < facts->cause_count; i++) {
        sum += facts->causes[i].items;
    }
    CHECK_INT(sum, facts->failed_items);
    CHECK_INT(facts->failure_count, FACTS_FAILURES);
}

/* ---- workers -------------------------------------------------------------------------------- */

enum { NAMES = 100, SLOT_BITS = 15 };

/* FNV-1a over the bytes, as it was before it had a key. */
static uint64_t old_hash_of_names(uint64_t name) {
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < 8; i++) {
        hash = (hash ^ (name >> (8 * i) & 0xff)) * 1099511628211u;
    }
    return hash ^ hash >> 32;
}

static void chosen_names_spread_over_the_table(void) {
    AUTO(facts_freep) struct facts *facts = facts_new();
    uint64_t names[NAMES];
    choose_collisions(old_hash_of_names, SLOT_BITS, names, NAMES);
    for (int i = 0; i < NAMES; i++) {
        char name[9] = "";
        memcpy(name, &names[i], 8);
        struct commit_record record = {.type = COMMIT_DONE,
                                       .first = i,
                                       .cells = 1,
                                       .items = 1,
                                       .try = 1,
                                       .worker = name,
                                       .took_ms = 1};
        facts_add(facts, &record, 1);
    }
    CHECK_INT(facts->worker_count, NAMES);
    static bool is_taken[1 << SLOT_BITS];
    for (size_t i = 0; i < ARRAY_LEN(is_taken); i++) {
        is_taken[i] = facts->worker_slots[i] != 0;
    }
    CHECK(longest_walk(is_taken, ARRAY_LEN(is_taken)) < 50);
}

int main(void) {
    TEST(sums_are_those_of_all_records);
    TEST(chosen_names_spread_over_the_table);
    TEST(quantiles_are_near);
    TEST(causes_are_grouped_by_their_words);
    return TEST_END();
}
