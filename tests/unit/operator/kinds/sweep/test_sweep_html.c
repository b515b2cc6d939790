// SPDX-License-Identifier: Apache-2.0
/* sweep.html and the table of a Sweep: well formed for any names, values and messages, each trial
 * drawn, the best one marked, limits kept. SWEEP_HTML=FILE writes the page, for review. */
#include "operator/kinds/sweep/show/sweep_charts.h"

#include "lib/file.h"
#include "tests/page_check.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

enum { TRIALS = 40, MANY = 600 };

static const char *const parameters[] = {"LEARNING_RATE", "OPTIMIZER", "<b>&\"'"};
static char texts[MANY][3][32], names[MANY][32];
static const char *values[MANY][3];

/* A curve that falls towards its own limit. */
static struct sweep_trial make_trial(int i) {
    double rate = pow(10, -4 + 3.0 * (i * 7 % TRIALS) / TRIALS), end = fabs(log10(rate) + 2.5) / 3;
    struct sweep_trial trial = {.index = i,
                                .state = i % 5 == 4    ? SWEEP_STOPPED
                                         : i % 13 == 9 ? SWEEP_FAILED
                                         : i >= 37     ? SWEEP_RUNNING
                                                       : SWEEP_COMPLETED,
                                .best = (double)NAN,
                                .message = i == 9 ? "OOM <script>\x01\xff" : NULL};
    int points = trial.state == SWEEP_FAILED ? 0 : trial.state == SWEEP_STOPPED ? 6 : 20 - i % 3;
    for (int k = 1; k <= points; k++) {
        double best = end + (0.9 + 0.01 * (i % 9)) * exp(-0.25 * k);
        struct curve_point point = {k, best, best, 100 * k};
        curve_add(&trial.curve, &point);
        trial.best = best;
    }
    trial.reports = points;
    snprintf(names[i], sizeof names[i], "digits-%04d", i);
    snprintf(texts[i][0], sizeof texts[i][0], "%.4g", rate);
    snprintf(texts[i][1], sizeof texts[i][1], "%s", i % 3 ? "SGD" : "Adam");
    snprintf(texts[i][2], sizeof texts[i][2], "%d", 16 << i % 4);
    for (int k = 0; k < 3; k++) {
        values[i][k] = texts[i][k];
    }
    trial.name = names[i];
    trial.values = i == 11 ? NULL : values[i];
    return trial;
}

static size_t count_of(const char *text, const char *what) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, what)); at++) {
        count++;
    }
    return count;
}

static void check_page(const struct sweep_facts *facts, char **ret_html) {
    struct error err = {0};
    CHECK_OK(sweep_html(facts, ret_html, &err), &err);
    const char *at = "", *fault = page_fault(*ret_html, &at);
    if (fault) {
        printf("# %s: %.80s\n", fault, at);
    }
    CHECK(!fault);
}

static void a_sweep(void) {
    struct sweep_trial trials[TRIALS];
    struct error err = {0};
    for (int i = 0; i < TRIALS; i++) {
        trials[i] = make_trial(i);
    }
    struct sweep_facts facts = {.name = "digits",
                                .state = "Running",
                                .message = "37 of 60 trials have ended & <more>",
                                .metric = "loss",
                                .is_minimized = true,
                                .parameters = parameters,
                                .parameter_count = 3,
                                .trials = trials,
                                .trial_count = TRIALS};
    const struct sweep_trial *best = sweep_best(&facts);
    CHECK(best && best->state == SWEEP_COMPLETED);
    values[5][1] = "a \"text\" of 7 < 8";
    for (int i = 0; best && i < TRIALS; i++) {
        CHECK(trials[i].state != SWEEP_COMPLETED || !(trials[i].best < best->best));
    }
    AUTO(text_freep) char *html = NULL;
    check_page(&facts, &html);
    CHECK_INT(count_of(html, "<svg"), 3);
    CHECK_INT(count_of(html, "<path class=\"best\""), 2);
    CHECK_INT(count_of(html, "<circle class=\"best\""), 1);
    CHECK(strstr(html, "</i>28 completed</span>") && strstr(html, "</i>2 failed</span>"));
    CHECK(strstr(html, ">-0<") == NULL);
    const char *fifth = strstr(html, "<td>digits-0004"), *sixth = strstr(html, "<td>digits-0005");
    const char *winner = strstr(html, "<tr class=\"best\"><td>digits-0020");
    CHECK(fifth && sixth && winner && fifth < sixth && sixth < winner &&
          winner < strstr(html, "<td>digits-0021"));
    CHECK_INT(count_of(html, "<tr"), TRIALS + 1);
    CHECK(strstr(html, "http") == NULL && strstr(html, "<script") == NULL);
    if (getenv("SWEEP_HTML")) {
        CHECK_OK(file_write(getenv("SWEEP_HTML"), html, strlen(html), &err), &err);
    }
    AUTO(text_freep) char *table = sweep_table(&facts, 0);
    CHECK_INT(count_of(table, "\n"), TRIALS + 1);
    CHECK_INT(count_of(table, "\n*"), 1);
    CHECK(strstr(table, "############") && strstr(table, "####........") &&
          strstr(table, "............"));
    CHECK(strstr(table, "OPTIMIZER=SGD") != NULL);
    for (int i = 0; i < TRIALS; i++) {
        curve_release(&trials[i].curve);
    }
}

/* Nothing yet; one point; all equal; more than are drawn. */
static void at_the_edges(void) {
    struct sweep_trial one = make_trial(0);
    struct sweep_facts facts = {.name = "n",
                                .state = "Pending",
                                .message = "",
                                .metric = "m",
                                .parameters = parameters,
                                .parameter_count = 3,
                                .trials = &one};
    AUTO(text_freep) char *none = NULL;
    AUTO(text_freep) char *single = NULL;
    AUTO(text_freep) char *no_parameters = NULL;
    check_page(&facts, &none);
    CHECK(!sweep_best(&facts) && strstr(none, "No trial has a point"));
    facts.trial_count = 1;
    one.curve.count = 1;
    check_page(&facts, &single);
    CHECK(sweep_best(&facts) == &one && !strstr(single, "nan") && !strstr(single, "inf"));
    facts.parameter_count = 0;
    check_page(&facts, &no_parameters);
    curve_release(&one.curve);
    static struct sweep_trial many[MANY];
    for (int i = 0; i < MANY; i++) {
        many[i] = make_trial(i);
        many[i].best = i == 3 ? 99 : 1;
        many[i].state = SWEEP_COMPLETED;
    }
    struct sweep_facts all = facts;
    all.parameter_count = 3;
    all.trials = many;
    all.trial_count = MANY;
    AUTO(text_freep) char *html = NULL;
    check_page(&all, &html);
    CHECK(sweep_best(&all) == &many[3]);
    CHECK_INT(count_of(html, "<tr"), SWEEP_HTML_LINES_MAX + 2);
    CHECK(strstr(html, "Of 600 trials") && strstr(html, "<tr class=\"best\"><td>digits-0003"));
    for (int i = 0; i < MANY; i++) {
        curve_release(&many[i].curve);
    }
}

static void check_ticks(bool is_logarithmic, const char *wanted, const char *unwanted) {
    static const char *const rates[] = {"0.0001", "0.001", "1"};
    struct sweep_trial trials[3] = {0};
    const char *name = "A_VERY_LONG_NAME_OF_A_PARAMETER_INDEED_A";
    for (int i = 0; i < 3; i++) {
        trials[i] = (struct sweep_trial){
            .index = i, .name = "t", .state = SWEEP_COMPLETED, .best = i, .values = &rates[i]};
    }
    struct sweep_facts facts = {.name = "n",
                                .state = "s",
                                .message = "",
                                .metric = "m",
                                .parameters = &name,
                                .is_logarithmic = &is_logarithmic,
                                .parameter_count = 1,
                                .trials = trials,
                                .trial_count = 3};
    AUTO(text_freep) char *html = NULL;
    check_page(&facts, &html);
    CHECK(strstr(html, wanted) && !strstr(html, unwanted));
    CHECK(strstr(html, name));
}

/* A parameter's axis follows its distribution, not the drawn values; its numbers are round. */
static void scales(void) {
    char text[SWEEP_SHORT_MAX];
    check_ticks(true, ">0.01</text>", ">0.4</text>");
    check_ticks(false, ">0.4</text>", ">0.01</text>");
    CHECK_STR(sweep_short("0.513895751025271", 6, text), "0.513896");
    CHECK_STR(sweep_short("8.63407e-05", 6, text), "8.63407e-05");
    CHECK_STR(sweep_short("1.00000000000002", 6, text), "1");
    CHECK_STR(sweep_short("123456789012", 6, text), "123456789012");
    CHECK_STR(sweep_short("v1.2.3456789", 6, text), "v1.2.3456789");
}

int main(void) {
    TEST(a_sweep);
    TEST(at_the_edges);
    TEST(scales);
    return TEST_END();
}
