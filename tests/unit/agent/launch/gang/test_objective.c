// SPDX-License-Identifier: Apache-2.0
/* Reports of an objective as figures and a curve: what counts, what a restarted gang reports twice,
 * what the next hub knows; and which lines of a program report a metric. */
#include "agent/launch/gang/gang_progress.h"
#include "agent/launch/gang/objective.h"
#include "agent/launch/rank/metric_line.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

static const struct objective_options accuracy = {.name = "accuracy", .interval = 1},
                                      loss = {.name = "loss", .is_minimized = true, .interval = 2};

static void add(struct objective *objective, int64_t round, double value, int64_t step) {
    struct metric metric = {.value = value, .step = step};
    snprintf(metric.name, sizeof metric.name, "%s", objective->options.name);
    objective_add(objective, round, &metric);
}

static void check(const struct objective *objective, const char *wanted) {
    AUTO(tree_freep) json_t *progress = json_object();
    objective_add_json(objective, progress);
    AUTO(text_freep) char *text = tree_canonical(progress);
    CHECK_STR(text, wanted);
}

static void figures_and_curve(void) {
    struct objective objective;
    objective_init(&objective, &accuracy);
    check(&objective, "{}");
    objective_read(&objective, 1, "0 accuracy 0.5 100\nnonsense\n3 accuracy 0.75 200\n");
    objective_read(&objective, 1, "0 accuracy nan 300\n0 accuracy inf 400\n0 accuracy 0.25 -1");
    check(&objective,
          "{\"objective\":{\"at\":\"1:100:0.5:0.5 2:200:0.75:0.625 3:300:0.75:0.625 "
          "4:400:0.75:0.625 5::0.75:0.5\",\"best\":\"0.75\",\"last\":\"0.25\",\"mean\":\"0.5\","
          "\"numbers\":3,\"reports\":5}}");
    objective_release(&objective);
    objective_init(&objective, &loss);
    add(&objective, 1, NAN, 7);
    check(&objective, "{\"objective\":{\"at\":\"\",\"last\":\"nan\",\"reports\":1,\"step\":7}}");
    add(&objective, 1, -2, 8);
    add(&objective, 1, 3, 9);
    check(&objective,
          "{\"objective\":{\"at\":\"2:8:-2:-2\",\"best\":\"-2\",\"last\":\"3\",\"mean\":"
          "\"0.5\",\"numbers\":2,\"reports\":3,\"step\":9}}");
    objective_release(&objective);
}

static void of_others_the_names(void) {
    struct objective objective;
    objective_init(&objective, &accuracy);
    objective_read(&objective, 1, "0 acc 1 1\n0 loss 1 1\n0 windlass.percent 5 2\n0 acc 1 2\n");
    check(&objective,
          "{\"objective\":{\"otherReports\":3,\"others\":[\"acc\",\"loss\"],\"reports\":0}}");
    for (int i = 0; i < 40; i++) {
        AUTO(text_freep) char *line = x_printf("0 other%d 1 1", i);
        objective_read(&objective, 1, line);
    }
    CHECK_INT(objective.other_count, OBJECTIVE_OTHERS_MAX);
    CHECK_INT(objective.other_reports, 43);
    add(&objective, 1, 1, 1);
    check(&objective,
          "{\"objective\":{\"at\":\"1:1:1:1\",\"best\":\"1\",\"last\":\"1\",\"mean\":\"1\","
          "\"reports\":1,\"step\":1}}");
    objective_release(&objective);
    objective_init(&objective, &(struct objective_options){.interval = 0});
    objective_read(&objective, 1, "0 acc 1 1\n0  1 1\n");
    check(&objective, "{}");
    objective_release(&objective);
}

/* The last numbers of metrics.also, in either form, and for the next hub; names may have dots. */
static void of_others_the_last(void) {
    struct objective objective, next;
    struct objective_options options = {
        .name = "accuracy", .interval = 1, .also = {"latency.p99", "size"}};
    objective_init(&objective, &options);
    objective_read(&objective, 1,
                   "0 latency.p99 3 -1\n0 latency.p99 2.5 -1\n0 latency.p99 nan -1\n");
    check(&objective, "{\"objective\":{\"also\":{\"latency.p99\":\"2.5\"},\"otherReports\":3,"
                      "\"others\":[\"latency.p99\"],\"reports\":0}}");
    objective_read(&objective, 1, "0 accuracy 1 1\n0 size 7 1\n0 acc 1 1\n");
    static const char all[] = "{\"objective\":{\"also\":{\"latency.p99\":\"2.5\",\"size\":\"7\"},"
                              "\"at\":\"1:1:1:1\",\"best\":\"1\",\"last\":\"1\",\"mean\":\"1\","
                              "\"reports\":1,\"step\":1}}";
    check(&objective, all);
    AUTO(tree_freep) json_t *progress = json_object();
    objective_add_json(&objective, progress);
    AUTO(text_freep) char *text = json_dumps(json_object_get(progress, "objective"), 0);
    objective_init(&next, &options);
    CHECK(objective_restore(&next, text));
    check(&next, all);
    objective_release(&objective);
    objective_release(&next);
}

/* A repeated report replaces the earlier one. */
static void another_round(void) {
    static const struct {
        int64_t steps[4]; /* of three reports of a first round, and the first of the second */
        const char *at;   /* the values are 1, 2, 3; 10 */
    } rows[] = {
        {{10, 20, 30, 20}, "1:10:1:1 2:20:10:5.5"},
        {{10, 20, 30, 25}, "1:10:1:1 2:20:2:1.5 3:25:10:4.33333333"},
        {{10, 20, 30, 40}, "1:10:1:1 2:20:2:1.5 3:30:3:2 4:40:10:4"},
        {{10, 20, 30, 5}, "1:5:10:10"},
        {{10, 20, 30, -1}, "1::10:10"},
        {{-1, -1, -1, -1}, "1::10:10"},
        {{-1, -1, -1, 40}, "1:40:10:10"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct objective objective;
        objective_init(&objective, &accuracy);
        for (int k = 0; k < 4; k++) {
            add(&objective, k < 3 ? 7 : 8, k < 3 ? k + 1 : 10, rows[i].steps[k]);
        }
        char at[CURVE_TEXT_MAX];
        curve_write(&objective.curve, at);
        CHECK_STR(at, rows[i].at);
        add(&objective, 8, 0, 1); /* any step of this round counts */
        AUTO(curve_release) struct curve wanted = curve_read(rows[i].at);
        CHECK_INT(objective.curve.count, wanted.count + 1);
        objective_release(&objective);
    }
}

/* The report of a step, always the same for a step; every 7th is NaN. */
static void add_from(struct objective *objective, int64_t round, int64_t from, int64_t to) {
    for (int64_t k = from; k <= to; k++) {
        double value = k % 7 == 3 ? (double)NAN : k == 25 ? 0.95 : (double)(k * 37 % 101) / 200;
        add(objective, round, value, 100 * k);
    }
}

static char *told_of(const struct objective *objective) {
    AUTO(tree_freep) json_t *progress = json_object();
    objective_add_json(objective, progress);
    return tree_canonical(json_object_get(progress, "objective"));
}

/* However often and wherever it restarts: the result is as without restarts. */
static void rounds_change_nothing(void) {
    static const struct {
        int64_t interval, delay, reached, from, reached_again, from_again, end;
    } rows[] = {
        {1, 0, 27, 27, 27, 27, 30},           /* after the point at 24 */
        {1, 0, 28, 28, 30, 25, 30},           /* at a point, and after one that is replaced */
        {10, 0, 25, 24, 26, 12, 31},          /* between two, and before both */
        {10, 40, 25, 24, 30, 2, 45},          /* no point yet */
        {1, 0, 4500, 4400, 4450, 4450, 4600}, /* no points after it */
        {1, 0, 1023, 2, 1100, 78, 1200},      /* as far as it knows */
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct objective_options options = accuracy;
        struct objective straight, again;
        options.interval = rows[i].interval;
        options.delay = rows[i].delay;
        objective_init(&straight, &options);
        objective_init(&again, &options);
        add_from(&straight, 1, 1, rows[i].end);
        add_from(&again, 1, 1, rows[i].reached);
        add_from(&again, 2, rows[i].from, rows[i].reached_again);
        add_from(&again, 3, rows[i].from_again, rows[i].end);
        AUTO(text_freep) char *wanted = told_of(&straight);
        AUTO(text_freep) char *told = told_of(&again);
        CHECK_STR(told, wanted);
        objective_release(&straight);
        objective_release(&again);
    }
}

/* Of older reports only the curve's points are known. */
static void further_back_it_goes_to_a_point(void) {
    struct objective objective;
    objective_init(&objective, &accuracy);
    add_from(&objective, 1, 1, 1100);
    add_from(&objective, 2, 60, 60);
    CHECK_INT(objective.reports, 57); /* the one at 56, and this */
    CHECK_INT(objective.numbers, 49); /* 56 less 8; 60 is a number */
    CHECK_INT(objective.curve.count, 16 + 4 + 3);
    add_from(&objective, 3, 60, 61);
    CHECK_INT(objective.reports, 58); /* it knows all reports from there */
    objective_release(&objective);
}

/* Reports of a pod that returns after the others went on without it. */
static void late_reports_are_passed_over(void) {
    struct objective objective;
    objective_init(&objective, &accuracy);
    add_from(&objective, 1, 1, 20);
    add_from(&objective, 2, 21, 28);
    AUTO(text_freep) char *wanted = told_of(&objective);
    add_from(&objective, 1, 10, 10);
    add_from(&objective, 1, 40, 41);
    AUTO(text_freep) char *told = told_of(&objective);
    CHECK_STR(told, wanted);
    objective_release(&objective);
}

/* Between the points at 24 and 28, and with times as steps. */
static void the_next_hub_knows_the_tail(void) {
    static const int64_t begins[] = {100, 1700000000000000000};
    for (size_t i = 0; i < ARRAY_LEN(begins); i++) {
        struct objective objective, next;
        objective_init(&objective, &accuracy);
        objective_init(&next, &accuracy);
        for (int64_t k = 1; k <= 27; k++) {
            double value = k == 1 ? (double)NAN : k == 25 ? 50 : (double)k;
            add(&objective, 1, value, begins[i] + k);
        }
        AUTO(text_freep) char *told = told_of(&objective);
        CHECK(objective_restore(&next, told));
        AUTO(text_freep) char *same = told_of(&next);
        CHECK_STR(same, told);
        add(&next, 1 << 20, 0, begins[i] + 26);
        CHECK_INT(next.reports, 26);
        CHECK_INT(next.numbers, 25);
        CHECK_INT(next.curve.count, 18);
        CHECK(next.best == 50 && fabs(next.mean - (299 + 50) / 25.0) < 1e-6);
        objective_release(&objective);
        objective_release(&next);
    }
}

static void the_next_hub(void) {
    static const char *const wrong[] = {"",
                                        "[]",
                                        "{",
                                        "{\"at\": \"1:1:1:1\"}",
                                        "{\"reports\": 1, \"at\": \"1:1:1:1 2:2:2:2\"}",
                                        "{\"reports\": 1, \"step\": -2}"};
    struct objective objective, next;
    objective_init(&objective, &accuracy);
    objective_init(&next, &accuracy);
    for (int i = 0; i < 21; i++) {
        add(&objective, 1 << 20, i % 7, 10 * i);
    }
    AUTO(tree_freep) json_t *progress = json_object();
    objective_add_json(&objective, progress);
    AUTO(text_freep) char *told = tree_canonical(json_object_get(progress, "objective"));
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        CHECK(!objective_restore(&next, wrong[i]));
    }
    check(&next, "{}");
    CHECK(objective_restore(&next, told));
    AUTO(text_freep) char *same = x_printf("{\"objective\":%s}", told);
    check(&next, same);
    /* Reports up to 200 arrived, and it continues from 150: after the 15th report. */
    add(&next, 2 << 20, 100, 150);
    CHECK_INT(next.reports, 16);
    CHECK_INT(next.curve.count, 16);
    CHECK(next.best == 100 && fabs(next.mean - (42 + 0 + 100) / 16.0) < 1e-8);
    CHECK(objective_restore(&next, "{\"reports\":0,\"others\":[\"acc\",7],\"otherReports\":30}"));
    check(&next, "{\"objective\":{\"otherReports\":30,\"others\":[\"acc\"],\"reports\":0}}");
    objective_release(&next);
    objective_release(&objective);
}

/* 10,000 reports of any length take a limited number of bytes, and fit into a termination message
 * with the rest. */
static void has_a_bound(void) {
    struct objective objective;
    objective_init(&objective, &accuracy);
    for (int i = 0; i < 10000; i++) {
        add(&objective, 1, -1.23456789e-300 / (i + 1), INT64_MAX - 10000 + i);
    }
    char words[GANG_DETAIL_MAX];
    memset(words, '"', sizeof words - 1);
    words[sizeof words - 1] = 0;
    struct gang_facts facts = {.state = GANG_STATE_FINISHED,
                               .last_failure = {GANG_CAUSE_APP, 2, 5, 7, ""}};
    snprintf(facts.last_failure.detail, sizeof facts.last_failure.detail, "%s", words);
    struct gang_progress progress = {.facts = &facts, .workers = 3, .is_finished = true, .code = 1};
    AUTO(tree_freep) json_t *tree = gang_progress_json(&progress);
    objective_add_json(&objective, tree);
    json_object_set_new(tree, "lost", json_pack("[s]", "digits-7"));
    AUTO(text_freep) char *all = json_dumps(tree, JSON_COMPACT);
    AUTO(text_freep) char *cut = gang_progress_cut(all, 4096);
    AUTO(tree_freep) json_t *read = json_loads(cut, 0, NULL);
    CHECK(strlen(all) > 4096 && strlen(cut) <= 4096);
    CHECK_STR(tree_text(read, "state", ""), "Failed");
    CHECK_STR(tree_text(read, "reason", ""), "RankFailed");
    CHECK(!json_object_get(read, "lost"));
    CHECK(json_equal(json_object_get(read, "objective"), json_object_get(tree, "objective")));
    CHECK(text_starts(tree_text(read, "message", ""), "worker 2, rank 5"));
    CHECK_INT(tree_integer(read, "objective.reports", 0), 10000);
    AUTO(text_freep) char *short_one = gang_progress_cut("{\"lost\":[]}", 4096);
    CHECK_STR(short_one, "{\"lost\":[]}");
    AUTO(text_freep) char *none = gang_progress_cut("no JSON", 3);
    CHECK_STR(none, "no JSON");
    objective_release(&objective);
}

/* ---- lines of a program --------------------------------------------------------------------- */

static void check_line(const struct metric *metric, bool is_one, const char *line,
                       const char *wanted) {
    char text[METRIC_TEXT_MAX] = "";
    if (is_one) {
        metric_write(metric, text);
    }
    if (strcmp(text, wanted) != 0) {
        printf("# of %s\n", line);
        CHECK_STR(text, wanted);
    }
}

static void lines_by_a_pattern(void) {
    static const char *const rows[][3] = {
        {"^([a-z]+)[=:] *([-+0-9.e]+)$", "loss: 1e-3", "0 loss 0.001 -1"},
        {"^([a-z]+)[=:] *([-+0-9.e]+)$", " loss: 1", ""},
        {"^([a-z]+)[=:] *([-+0-9.e]+)$", "loss: 1-2", ""},
        {"(acc|loss) ([0-9.]+) at ([0-9]+)", "epoch 3: acc 0.5 at 1200 s", "0 acc 0.5 1200"},
        {"(acc|loss) ([0-9.]+)( at [0-9]+)?", "acc 0.5", "0 acc 0.5 -1"},
        {"(acc|loss) ([0-9.]+)( at [0-9]+)?", "acc 0.5 at 7", ""},
        {"(.*)=(.*)", "two words=7", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct pattern *pattern = NULL;
        struct metric metric;
        CHECK_OK(pattern_new(rows[i][0], METRIC_GROUPS_MIN, &pattern, &err), &err);
        check_line(&metric, metric_line_find(pattern, rows[i][1], &metric), rows[i][1], rows[i][2]);
        pattern_free(pattern);
    }
}

static void lines_of_json(void) {
    static const char *const rows[][2] = {
        {"{\"name\": \"acc\", \"value\": 0.5, \"step\": 7}", "0 acc 0.5 7"},
        {"{\"name\": \"acc\", \"value\": 1, \"time\": [1, {}]}", "0 acc 1 -1"},
        {"{\"name\": \"acc\", \"value\": \"0.5\", \"step\": null}", "0 acc 0.5 -1"},
        {"{\"name\": \"acc\", \"value\": NaN, \"step\": 7}", "0 acc nan 7"},
        {"{\"name\": \"acc\", \"value\": -Infinity, \"text\": \"NaN \\\"NaN\\\" Infinity\"}",
         "0 acc -inf -1"},
        {"{\"name\": \"acc\", \"value\": 0.5, \"step\": -7}", ""},
        {"{\"name\": \"acc\", \"value\": 0.5, \"step\": 1.5}", ""},
        {"{\"name\": \"two words\", \"value\": 0.5}", ""},
        {"{\"name\": \"acc\", \"value\": \"high\"}", ""},
        {"{\"name\": \"acc\", \"value\": true}", ""},
        {"{\"name\": \"acc\"}", ""},
        {"[\"acc\", 0.5]", ""},
        {"{\"name\": \"acc\", \"value\"", ""},
        {"\"", ""},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct metric metric;
        bool is_one = metric_line_read_json(rows[i][0], strlen(rows[i][0]), &metric);
        check_line(&metric, is_one, rows[i][0], rows[i][1]);
    }
}

int main(void) {
    TEST(figures_and_curve);
    TEST(of_others_the_names);
    TEST(of_others_the_last);
    TEST(another_round);
    TEST(rounds_change_nothing);
    TEST(further_back_it_goes_to_a_point);
    TEST(late_reports_are_passed_over);
    TEST(the_next_hub_knows_the_tail);
    TEST(the_next_hub);
    TEST(has_a_bound);
    TEST(lines_by_a_pattern);
    TEST(lines_of_json);
    return TEST_END();
}
