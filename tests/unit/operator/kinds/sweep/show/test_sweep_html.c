// SPDX-License-Identifier: Apache-2.0
/* sweep.html and the table of a Sweep: well formed for any names, values and messages, each trial
 * drawn, the best one marked, limits kept. SWEEP_HTML=FILE writes the page, for review. */
#include "operator/kinds/sweep/show/sweep_charts.h"

#include "lib/file.h"
#include "tests/page_check.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

enum { TRIALS = 40, MANY = 600, OLD = 2000, FRONT = 60 };

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
    CHECK(strstr(html, "://") == NULL && strstr(html, "<script") == NULL);
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

/* Those on the front: 0, 3, 6, ... of the trials with all numbers. */
static json_t *make_front(const struct sweep_trial *trials, size_t count) {
    json_t *front = json_array();
    for (size_t i = 0; i < count; i += 3) {
        if (isfinite(trials[i].best) && isfinite(trials[i].also[0])) {
            json_array_append_new(
                front, json_pack("{s:s, s:i, s:{s:o, s:o, s:o}}", "trial", trials[i].name, "index",
                                 (int)i, "objectives", "loss", json_sprintf("%.9g", trials[i].best),
                                 "a<b&\"'", json_sprintf("%.9g", trials[i].also[0]), "size",
                                 json_sprintf("%.9g", trials[i].also[1])));
        }
    }
    return front;
}

/* One chart for each further objective, with each trial that has both numbers once; the border only
 * where there are two objectives. */
static void several_objectives(void) {
    struct sweep_trial trials[TRIALS];
    size_t drawn = 0;
    for (int i = 0; i < TRIALS; i++) {
        trials[i] = make_trial(i);
        trials[i].also[0] = i % 4 == 2 ? (double)NAN : 100 - i;
        trials[i].also[1] = i % 4 == 2 ? (double)NAN : pow(10, i % 5);
        drawn += isfinite(trials[i].best) && isfinite(trials[i].also[0]);
    }
    AUTO(tree_freep) json_t *front = make_front(trials, TRIALS);
    struct sweep_facts facts = {.name = "two",
                                .state = "Completed",
                                .message = "",
                                .metric = "loss",
                                .is_minimized = true,
                                .parameters = parameters,
                                .parameter_count = 3,
                                .front = front,
                                .trials = trials,
                                .trial_count = TRIALS};
    facts.also[0] = (struct sweep_also){"a<b&\"'", false};
    facts.also[1] = (struct sweep_also){"size", true};
    for (facts.also_count = 1; facts.also_count <= 2; facts.also_count++) {
        AUTO(text_freep) char *html = NULL;
        check_page(&facts, &html);
        char *start = strstr(html, "<h2>Pareto front</h2>"), *end = strstr(html, "<h2>Best so far");
        CHECK(start && end && start < end);
        *end = 0;
        CHECK_INT(count_of(start, "<svg"), facts.also_count);
        CHECK_INT(count_of(start, "<circle"), drawn * facts.also_count);
        CHECK_INT(count_of(start, "class=\"ahead\""), facts.also_count == 1);
        CHECK_INT(count_of(start, "<tr>"), 1 + json_array_size(front));
        CHECK(strstr(start, "loss (less is better) over a&lt;b&amp;") != NULL);
    }
    facts.front = NULL;
    AUTO(text_freep) char *html = NULL;
    check_page(&facts, &html);
    CHECK(!strstr(html, "Pareto"));
    for (int i = 0; i < TRIALS; i++) {
        curve_release(&trials[i].curve);
    }
}

/* ---- attacks -------------------------------------------------------------------------------- */

enum { HOSTILE = 6, FULL_PARAMETERS = 32 };

/* What users write (names, values), what a program prints (messages) and what anybody may write
 * into an annotation (curves, the front). SWEEP_PAGES=FOLDER: the pages, for other programs. */
static void write_page(const char *html, const char *name) {
    struct error err = {0};
    if (getenv("SWEEP_PAGES")) {
        AUTO(text_freep) char *path = x_printf("%s/sweep-%s.html", getenv("SWEEP_PAGES"), name);
        CHECK_OK(file_write(path, html, strlen(html), &err), &err);
    }
}

static void hostile_names_stay_text(void) {
    for (size_t i = 0; i < PAGE_ATTACKS; i++) {
        const char *text = page_attacks[i];
        const char *const names_of[] = {text, text}, *const values_of[] = {text, "0.5"};
        struct sweep_trial trials[HOSTILE];
        for (int k = 0; k < HOSTILE; k++) {
            trials[k] = make_trial(k);
            trials[k].name = trials[k].message = text;
            trials[k].values = values_of;
            trials[k].also[0] = k;
        }
        AUTO(tree_freep) json_t *front = json_array();
        json_t *one = json_pack("{s:i}", "index", 2);
        json_object_set_new(one, "trial", json_stringn_nocheck(text, strlen(text)));
        json_array_append_new(front, one);
        struct sweep_facts facts = {.name = text,
                                    .state = text,
                                    .message = text,
                                    .metric = text,
                                    .parameters = names_of,
                                    .parameter_count = 2,
                                    .also = {{text, true}},
                                    .also_count = 1,
                                    .front = front,
                                    .trials = trials,
                                    .trial_count = HOSTILE};
        AUTO(text_freep) char *html = NULL;
        AUTO(text_freep) char *name = x_printf("hostile-%02zu", i);
        check_page(&facts, &html);
        CHECK(strstr(html, PAGE_POLICY) && !strstr(html, "<script") && !strstr(html, "<img"));
        CHECK(!strstr(html, "\xE2\x80\xAE") && !strchr(html, 0x1B) && !strchr(html, 0x7F));
        CHECK_INT(count_of(html, "<style>"), 1);
        write_page(html, name);
        for (int k = 0; k < HOSTILE; k++) {
            curve_release(&trials[k].curve);
        }
    }
}

static void hostile_numbers_do_no_harm(void) {
    static const double numbers[] = {-1.7e308, 1.7e308,     5e-324,           -5e-324,           0,
                                     -0.0,     (double)NAN, (double)INFINITY, -(double)INFINITY, 1};
    static const char *const written[] = {
        "1e999",   "-1e999",   "nan", "inf",    "0x1p-1074",
        "1.7e308", "-1.7e308", "",    "1e-320", "9223372036854775808"};
    bool is_logarithmic[] = {true, false};
    for (int round = 0; round < 100; round++) {
        struct sweep_trial trials[10] = {0};
        const char *drawn[10][2];
        for (int k = 0; k < 10; k++) {
            struct sweep_trial *trial = &trials[k];
            *trial = make_trial(0);
            curve_release(&trial->curve);
            for (int at = 0; at < 5; at++) {
                double value = numbers[(k + at * round) % 10];
                struct curve_point point = {at % 2 ? INT64_MAX - at : -at, value, value,
                                            INT64_MAX - at};
                curve_add(&trial->curve, &point);
            }
            trial->index = k;
            trial->reports = k % 2 ? INT64_MAX : INT64_MIN;
            trial->best = numbers[(k * (round + 1)) % 10];
            trial->also[0] = numbers[(k * 3 + round) % 10];
            drawn[k][0] = written[(k + round) % 10];
            drawn[k][1] = written[(k * 7 + round) % 10];
            trial->values = drawn[k];
        }
        struct sweep_facts facts = {.name = "numbers",
                                    .state = "Running",
                                    .message = "",
                                    .metric = "m",
                                    .parameters = parameters,
                                    .is_logarithmic = is_logarithmic,
                                    .parameter_count = 2,
                                    .also = {{"n", true}},
                                    .also_count = 1,
                                    .trials = trials,
                                    .trial_count = 10};
        AUTO(text_freep) char *html = NULL;
        check_page(&facts, &html);
        CHECK(strlen(html) < 200000);
        write_page(html, "numbers");
        for (int k = 0; k < 10; k++) {
            curve_release(&trials[k].curve);
        }
    }
}

/* The longest that the definition admits, each character as long as an entity. */
static void a_full_page_has_room(void) {
    char quotes[257];
    memset(quotes, '"', sizeof quotes - 1);
    quotes[sizeof quotes - 1] = 0;
    const char *all[FULL_PARAMETERS];
    static struct sweep_trial trials[MANY];
    for (int i = 0; i < FULL_PARAMETERS; i++) {
        all[i] = quotes;
    }
    for (int i = 0; i < MANY; i++) {
        trials[i] = make_trial(i);
        trials[i].name = trials[i].message = quotes;
        trials[i].values = all;
        for (int k = 0; k < SWEEP_ALSO_MAX; k++) {
            trials[i].also[k] = i;
        }
    }
    AUTO(tree_freep)
    json_t *front = json_pack("[{s:s, s:i}]", "trial", quotes, "index", 3);
    struct sweep_facts facts = {.name = quotes,
                                .state = quotes,
                                .message = quotes,
                                .metric = quotes,
                                .parameters = all,
                                .parameter_count = FULL_PARAMETERS,
                                .also = {{quotes, true}, {quotes, true}, {quotes, true}},
                                .also_count = SWEEP_ALSO_MAX,
                                .front = front,
                                .trials = trials,
                                .trial_count = MANY};
    AUTO(text_freep) char *html = NULL;
    check_page(&facts, &html);
    write_page(html, "full");
    for (int i = 0; i < MANY; i++) {
        curve_release(&trials[i].curve);
    }
}

/* ---- the front ------------------------------------------------------------------------------ */

static size_t after(const char *at, char command, double *ret_first) {
    const char *found = strchr(at, command);
    *ret_first = found ? strtod(found + 1, NULL) : (double)NAN;
    return found ? (size_t)(found - at) + 1 : 0;
}

/* More trials than are drawn, and the front among the oldest: each of the front has its point, and
 * the border turns there and nowhere else; of the others the newest are drawn, and the scales
 * follow what is drawn. */
static void an_old_front(void) {
    static struct sweep_trial trials[OLD];
    static char old_names[OLD][32];
    for (int i = 0; i < OLD; i++) {
        snprintf(old_names[i], sizeof old_names[i], "o-%04d", i);
        trials[i] = (struct sweep_trial){.index = i,
                                         .name = old_names[i],
                                         .state = SWEEP_COMPLETED,
                                         .best = i < FRONT ? 10 + i : 200 + i % 7};
        trials[i].also[0] = i < FRONT ? 100 - i : 300 + i % 11;
    }
    trials[FRONT].best = 1e9; /* not drawn */
    AUTO(tree_freep) json_t *front = json_array();
    for (int i = FRONT - 1; i >= 0; i--) {
        json_array_append_new(front, json_pack("{s:s, s:i, s:{s:s}}", "trial", old_names[i],
                                               "index", i, "objectives", "loss", "1"));
    }
    /* Another trial's index, one that is not there, and one twice. */
    json_array_append_new(front, json_pack("{s:s, s:i}", "trial", "o-0001", "index", FRONT + 1));
    json_array_append_new(front, json_pack("{s:s, s:i}", "trial", "gone", "index", OLD + 9));
    json_array_append_new(front, json_pack("{s:s, s:i}", "trial", "o-0002", "index", 2));
    struct sweep_facts facts = {.name = "o",
                                .state = "Completed",
                                .message = "",
                                .metric = "loss",
                                .is_minimized = true,
                                .front = front,
                                .also = {{"size", true}},
                                .also_count = 1,
                                .trials = trials,
                                .trial_count = OLD};
    AUTO(text_freep) char *html = NULL;
    check_page(&facts, &html);
    CHECK(strstr(html, "Of 2000 trials the newest 500, the best and the front are shown"));
    char *start = strstr(html, "<h2>Pareto front</h2>"), *end = strstr(html, "<h2>Best so far");
    CHECK(start && end && start < end);
    *end = 0;
    CHECK_INT(count_of(start, "<circle"), FRONT + SWEEP_HTML_LINES_MAX);
    CHECK_INT(count_of(start, "<circle class=\"front\""), FRONT - 1);
    CHECK_INT(count_of(start, "<circle class=\"best\""), 1);
    CHECK_INT(count_of(start, "r=\"6\""), FRONT);
    CHECK(!strstr(start, ">1e+09</text>"));
    for (int i = 0; i < FRONT; i++) {
        AUTO(text_freep) char *title = x_printf("<title>%s, completed", old_names[i]);
        CHECK_INT(count_of(start, title), 1);
    }
    const char *border = strstr(start, "<path class=\"ahead\" d=\"M");
    CHECK(border != NULL);
    AUTO(text_freep) char *line = x_strdup(border ?: "");
    line[strcspn(line, "/")] = 0;
    CHECK_INT(count_of(line, "V"), FRONT - 1);
    const char *at = line;
    for (int i = 0; i < FRONT - 1; i++) {
        double x, y;
        at += after(at, 'H', &x);
        at += after(at, 'V', &y);
        AUTO(text_freep) char *place = x_printf("cx=\"%.1f\" cy=\"%.1f\" r=\"6\"", x, y);
        CHECK_INT(count_of(start, place), 1);
    }
}

int main(void) {
    TEST(a_sweep);
    TEST(at_the_edges);
    TEST(scales);
    TEST(several_objectives);
    TEST(an_old_front);
    TEST(hostile_names_stay_text);
    TEST(hostile_numbers_do_no_harm);
    TEST(a_full_page_has_room);
    return TEST_END();
}
