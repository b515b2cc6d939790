// SPDX-License-Identifier: Apache-2.0
/* Which trials are on the Pareto front, and that the search's one score prefers what dominates. */
#include "operator/kinds/sweep/front.h"

#include "tests/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct front_objectives objectives = {
    {{"accuracy", GOAL_MAXIMIZE}, {"latency.p99", GOAL_MINIMIZE}}, 2};

struct values {
    enum trial_state state;
    double accuracy;
    const char *latency; /* NULL: none */
};

static size_t make_rows(const struct values *values, size_t count, struct trial_row *rows) {
    static char names[8][8];
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "s-%zu", i);
        rows[i] = (struct trial_row){.index = (int64_t)i,
                                     .state = values[i].state,
                                     .name = names[i],
                                     .best = values[i].accuracy};
        rows[i].also =
            values[i].latency ? json_pack("{s:s}", "latency.p99", values[i].latency) : NULL;
    }
    return count;
}

static void release(struct trial_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        json_decref(rows[i].also);
    }
}

static const struct values some[] = {
    {TRIAL_COMPLETED, 0.9, "5"},   {TRIAL_COMPLETED, 0.8, "3"},   {TRIAL_COMPLETED, 0.8, "4"},
    {TRIAL_COMPLETED, 0.95, NULL}, {TRIAL_STOPPED, 0.99, "1"},    {TRIAL_COMPLETED, 0.9, "5"},
    {TRIAL_COMPLETED, NAN, "1"},   {TRIAL_COMPLETED, 0.7, "nan"},
};

static void test_front(void) {
    struct trial_row rows[8];
    size_t count = make_rows(some, ARRAY_LEN(some), rows);
    AUTO(tree_freep) json_t *front = front_of(&objectives, rows, count);
    AUTO(text_freep) char *text = json_dumps(front, JSON_COMPACT);
    CHECK_STR(text, "[{\"trial\":\"s-0\",\"index\":0,\"objectives\":{\"accuracy\":\"0.9\","
                    "\"latency.p99\":\"5\"}},{\"trial\":\"s-1\",\"index\":1,\"objectives\":"
                    "{\"accuracy\":\"0.8\",\"latency.p99\":\"3\"}},{\"trial\":\"s-5\",\"index\":5,"
                    "\"objectives\":{\"accuracy\":\"0.9\",\"latency.p99\":\"5\"}}]");
    release(rows, count);
}

static void test_blend(void) {
    struct trial_row rows[8];
    size_t count = make_rows(some, ARRAY_LEN(some), rows);
    int first = 0;
    for (int64_t index = 0; index < 100; index++) {
        double scores[8], again[8];
        front_blend(&objectives, rows, count, 7, index, scores);
        front_blend(&objectives, rows, count, 7, index, again);
        CHECK(memcmp(scores, again, sizeof scores) == 0);
        CHECK(isnan(scores[3]) && isnan(scores[6]) && isnan(scores[7]));
        CHECK(scores[1] > scores[2] && scores[0] == scores[5] && scores[4] == 0);
        first += scores[0] > scores[1];
    }
    CHECK(first > 20 && first < 80); /* each of the front is the best for some weights */
    release(rows, count);
}

/* Those that failed or still run have no score, and none of them changes the others'. */
static void test_only_ends_with_values_count(void) {
    static const struct values all[] = {
        {TRIAL_COMPLETED, 0.9, "5"}, {TRIAL_COMPLETED, 0.8, "3"}, {TRIAL_STOPPED, 0.7, "4"},
        {TRIAL_FAILED, 0.99, "1e6"}, {TRIAL_RUNNING, 0.1, "900"}, {TRIAL_RUNNING, 0.6, "6"},
    };
    struct trial_row rows[8], fewer[8];
    char why[] = "it is not promising";
    size_t count = make_rows(all, ARRAY_LEN(all), rows);
    rows[5].stop = why; /* it ends with what it has */
    memcpy(fewer, rows, sizeof fewer);
    fewer[3] = rows[5];
    for (int64_t index = 0; index < 20; index++) {
        double scores[8], without[8];
        front_blend(&objectives, rows, count, 7, index, scores);
        front_blend(&objectives, fewer, 4, 7, index, without);
        CHECK(isnan(scores[3]) && isnan(scores[4]));
        CHECK(memcmp(scores, without, 3 * sizeof *scores) == 0 && scores[5] == without[3]);
    }
    release(rows, count);
}

/* One diverged training flattens no objective: the others stay as far apart. */
static void test_an_outlier(void) {
    static const struct values all[] = {{TRIAL_COMPLETED, 0.9, "1"},
                                        {TRIAL_COMPLETED, 0.9, "2"},
                                        {TRIAL_COMPLETED, 0.9, "3"},
                                        {TRIAL_COMPLETED, 0.9, "4"},
                                        {TRIAL_COMPLETED, 0.9, "1e12"}};
    struct trial_row rows[8];
    size_t count = make_rows(all, ARRAY_LEN(all), rows);
    for (int64_t index = 0; index < 20; index++) {
        double scores[8];
        front_blend(&objectives, rows, count, 7, index, scores);
        CHECK(scores[0] == 0 && scores[3] > scores[4]);
        CHECK(scores[3] < 0.2 * scores[4]); /* 3 of the 12 from the best to the limit */
    }
    release(rows, count);
}

int main(void) {
    TEST(test_front);
    TEST(test_blend);
    TEST(test_only_ends_with_values_count);
    TEST(test_an_outlier);
    return TEST_END();
}
