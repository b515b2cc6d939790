// SPDX-License-Identifier: Apache-2.0
/* Values of a manifest in the texts of its spec: which references are refused, what is replaced,
 * what --set changes, and what a run of a series gets. */
#include "operator/kinds/job/parameters/parameters.h"

#include "operator/kinds/sweep/search/space.h"
#include "tests/parse_json.h"
#include "tests/test.h"

enum { TIME_MS = 1763694000 }; /* seconds of 2025-11-21T03:00:00Z */

static json_t *job(const char *kind, const char *spec) {
    json_t *object = json_pack("{s:s, s:{s:s}}", "kind", kind, "metadata", "name", "job");
    json_object_set_new(object, "spec", parse(spec));
    return object;
}

#define DAY "'parameters': [{'name': 'day', 'value': '2026-11-22'}]"
#define WHEN "'parameters': [{'name': 'at', 'from': 'Time'}]"

static void test_which_are_refused(void) {
    static const struct {
        const char *spec;
        const char *refused; /* NULL: nothing */
    } rows[] = {
        {"{" DAY ", 'input': {'files': {'path': 'd/$(parameters.day)/x'}}}", NULL},
        {"{" DAY ", 'command': ['sh', '$(parameters.day)', '$$(parameters.no) $(day)']}", NULL},
        {"{" DAY ", 'output': {'path': 'd/$(parameters.day)'}}", NULL},
        {"{" DAY ", 'input': {'table': {'query': {'sql': 'select $(parameters.day)'}}}}", NULL},
        {"{" DAY ", 'input': {'files': {'pattern': '$(parameters.day)*'}}}", NULL},
        {"{'command': ['$(parameters.day)']}",
         "spec.command[0]: $(parameters.day) is not in spec.parameters; add"},
        {"{" DAY ", 'command': ['$(parameters.Day)']}",
         "spec.command[0]: $(parameters.Day) is not"},
        {"{" DAY ", 'command': ['$(parameters.my-day) x']}",
         "spec.command[0]: $(parameters.my-day) x is not a reference"},
        {"{" DAY ", 'command': ['$(parameters.)']}", "spec.command[0]: $(parameters.) is not"},
        {"{" DAY ", 'command': ['$(parameters.day']}", "spec.command[0]: $(parameters.day is not"},
        {"{" DAY ", 'image': 'x:$(parameters.day)'}", "spec.image: takes no $(parameters.day)"},
        {"{" DAY ", 'volumes': [{'hostPath': {'path': '/$(parameters.day)'}}]}",
         "spec.volumes[0].hostPath.path: takes no"},
        {"{'parameters': [{'name': 'p', 'value': 'a//b'}], 'logs': {'path': 'd/$(parameters.p)'}}",
         "spec.logs.path: the value of p is part of a path here, and \"a//b\""},
        {"{'parameters': [{'name': 'p', 'value': '/b'}], 'logs': {'path': 'd/$(parameters.p)'}}",
         "spec.logs.path: the value of p is part of a path"},
        {"{'parameters': [{'name': 'p', 'value': 'b/'}], 'logs': {'path': 'd/$(parameters.p)'}}",
         "spec.logs.path: the value of p is part of a path"},
        {"{'parameters': [{'name': 'p', 'value': 'a/b'}], 'input': {'files': {'pattern': "
         "'$(parameters.p)'}}}",
         "spec.input.files.pattern: the value of p is part of a file's name"},
        {"{'parameters': [{'name': 'p', 'value': 'https://h/x/'}], 'command': "
         "['$(parameters.p)']}",
         NULL},
        {"{'parameters': [{'name': 'p'}]}", "spec.parameters[0]: exactly one of value and from"},
        {"{'parameters': [{'name': 'p', 'value': 'a', 'from': 'Time'}], 'schedule': {}}",
         "spec.parameters[0]: exactly one of value and from"},
        {"{" WHEN "}", "spec.parameters: from is for trigger, schedule and rerun"},
        {"{" WHEN ", 'schedule': {}, 'input': {'files': {'path': 'd/$(parameters.at)'}}}", NULL},
        {"{" WHEN ", 'rerun': 'OnChange', 'command': ['$(parameters.at)']}", NULL},
        {"{" WHEN ", 'rerun': 'OnChange', 'input': {'files': {'path': 'd/$(parameters.at)'}}}",
         "spec.input.files.path: $(parameters.at) is known only when a run starts, and rerun"},
        {"{" WHEN ", 'schedule': {}, 'output': {'path': 'd/$(parameters.at)'}}",
         "spec.output.path: $(parameters.at) is known only when a run starts; it is for input"},
        {"{" WHEN ", 'trigger': {'path': 'd/$(parameters.at)'}}",
         "spec.trigger.path: $(parameters.at) is known only when a run starts"},
        {"{'parameters': [{'name': 'p', 'from': 'Path'}], 'schedule': {}}",
         "spec.parameters: from: Path is for trigger"},
        {"{'parameters': [{'name': 'p', 'from': 'Path'}], 'trigger': {}, 'input': {'files': "
         "{'path': 'd/$(parameters.p)'}}}",
         "spec.input.files.path: $(parameters.p) is a whole path"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(tree_freep) json_t *object = job("BatchScore", rows[i].spec);
        int result = parameters_check(object, &err);
        if ((result < 0) != (rows[i].refused != NULL) ||
            (result < 0 && !text_starts(err.text, rows[i].refused))) {
            printf("# row %zu: %s\n", i, err.text);
            test_failures++;
        }
    }
    struct error err = {0};
    AUTO(tree_freep)
    json_t *sweep = job("Sweep", "{'parameters': [{'name': 'RATE', 'choice': [1]}], 'trial': "
                                 "{'command': ['$(parameters.RATE)']}}");
    CHECK_INT(parameters_check(sweep, &err), -1);
    CHECK(text_starts(err.text, "spec.trial.command[0]: $(parameters.RATE) is not for a Sweep"));
}

static void test_what_is_replaced(void) {
    AUTO(tree_freep)
    json_t *object =
        job("DistTrain", "{'parameters': [{'name': 'a', 'value': 'x/y'}, {'name': 'b', 'value': "
                         "'1'}], 'n': 7, 'after': [{'name': 'b'}], 'inputs': [{'path': "
                         "'d/$(parameters.a)/c'}], 'command': "
                         "['$(parameters.b)$(parameters.a) $$(parameters.a) $(d)/x', 'z', "
                         "'$$$(parameters.b)']}");
    AUTO(tree_freep) json_t *before = json_deep_copy(object);
    AUTO(tree_freep) json_t *filled = parameters_fill(object);
    CHECK_STR(tree_text(filled, "spec.inputs[0].path", ""), "d/x/y/c");
    CHECK_STR(tree_text(filled, "spec.command[0]", ""), "1x/y $$(parameters.a) $(d)/x");
    CHECK_STR(tree_text(filled, "spec.command[1]", ""), "z");
    CHECK_STR(tree_text(filled, "spec.command[2]", ""), "$$1");
    CHECK_INT(tree_integer(filled, "spec.n", 0), 7);
    CHECK(!tree_get(filled, "spec.parameters"));
    CHECK(json_equal(object, before));
    AUTO(tree_freep) json_t *none = parameters_fill(filled);
    CHECK(!none);
}

/* A job that is refused stays as it is, so that the check says why. */
static void test_nothing_is_replaced_of_a_refused_one(void) {
    AUTO(tree_freep)
    json_t *object =
        job("DistTrain", "{" DAY ", 'command': ['$(parameters.day) $(parameters.x)']}");
    AUTO(tree_freep) json_t *filled = parameters_fill(object);
    CHECK(!filled);
}

static void test_growth_is_bounded(void) {
    enum { COPIES = 4000 };
    static const char one[] = "$(parameters.p)";
    AUTO(text_freep) char *text = x_calloc(1, COPIES * strlen(one) + 1);
    for (size_t i = 0; i < COPIES; i++) {
        memcpy(text + i * strlen(one), one, strlen(one));
    }
    AUTO(tree_freep)
    json_t *object = job("DistTrain", "{'parameters': [{'name': 'p', 'value': "
                                      "'a-value-of-twenty-six-bytes'}]}");
    json_object_set_new(json_object_get(object, "spec"), "command", json_pack("[s]", text));
    struct error err = {0};
    CHECK_INT(parameters_check(object, &err), -1);
    CHECK(text_starts(err.text, "spec.command[0]: would be longer"));
}

static void test_runs_of_a_series(void) {
    AUTO(tree_freep)
    json_t *object =
        job("BatchScore", "{'parameters': [{'name': 'at', 'from': 'Time'}, {'name': 'day', 'from': "
                          "'Date'}, {'name': 'p', 'from': 'Path'}, {'name': 'v', 'value': '1'}], "
                          "'trigger': {'path': 'd/t'}, 'input': {'files': {'path': "
                          "'d/$(parameters.day)'}}, 'scorer': {'command': {'environment': {'A': "
                          "'$(parameters.at) $(parameters.p) $(parameters.v)'}}}}");
    AUTO(tree_freep) json_t *run = parameters_fill(object);
    CHECK_INT(json_array_size(tree_get(run, "spec.parameters")), 3);
    CHECK_STR(tree_text(run, "spec.scorer.command.environment.A", ""),
              "$(parameters.at) $(parameters.p) 1");
    struct error err = {0};
    const struct parameters_run bad = {1000LL * TIME_MS, "d/my file"};
    CHECK_INT(parameters_fill_run(run, &bad, &err), -1);
    CHECK(text_starts(err.text, "spec.parameters[2]: the path that changed is \"d/my file\""));
    error_clear(&err);
    const struct parameters_run begins = {1000LL * TIME_MS, "d/new/1"};
    CHECK_OK(parameters_fill_run(run, &begins, &err), &err);
    CHECK_STR(tree_text(run, "spec.input.files.path", ""), "d/2025-11-21");
    CHECK_STR(tree_text(run, "spec.scorer.command.environment.A", ""),
              "20251121T030000Z $(d)/new/1 1");
    CHECK(!tree_get(run, "spec.parameters"));
}

static void test_set(void) {
    static const char *const refused[] = {"day",      "=x",      "day=",     "a b=c",
                                          "my-day=1", "day=a b", "day=$(x)", "day=a'b"};
    AUTO(tree_freep) json_t *object = job("BatchScore", "{" DAY "}");
    AUTO(tree_freep) json_t *series = job("BatchScore", "{" WHEN ", 'schedule': {}}");
    AUTO(tree_freep)
    json_t *sweep =
        job("Sweep", "{'parameters': [{'name': 'R', 'uniform': {'min': 0, 'max': 1}}]}");
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct error err = {0};
        AUTO(text_freep) char *name = NULL;
        const char *value = NULL;
        CHECK_INT(parameters_split(refused[i], &name, &value, &err), -1);
        CHECK(text_starts(err.text, "--set "));
    }
    struct error err = {0};
    AUTO(text_freep) char *name = NULL;
    const char *value = NULL;
    CHECK_OK(parameters_split("day=a=b", &name, &value, &err), &err);
    CHECK(parameters_set(object, name, value) && !parameters_set(object, "x", "1"));
    CHECK_STR(tree_text(object, "spec.parameters[0].value", ""), "a=b");
    CHECK(parameters_set(series, "at", "now") && !tree_get(series, "spec.parameters[0].from"));
    CHECK(parameters_set(sweep, "R", "0.5") && !tree_get(sweep, "spec.parameters[0].uniform"));
    CHECK_STR(tree_text(sweep, "spec.parameters[0].choice[0]", ""), "0.5");
}

/* A choice that others depend on: by texts, by numbers, and over another one. */
static void test_set_of_a_choice_with_conditions(void) {
    static const struct {
        const char *name, *value, *left;
    } rows[] = {
        {"opt", "adam", "opt beta deep lr"},
        {"opt", "sgd", "opt momentum lr"},
        {"opt", "new", "opt lr"},
        {"beta", "0.90", "opt momentum beta deep lr"},
        {"beta", "1", "opt momentum beta lr"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep)
        json_t *sweep = job(
            "Sweep",
            "{'parameters': [{'name': 'opt', 'choice': ['adam', 'sgd', 'plain']}, "
            "{'name': 'momentum', 'choice': ['0.9'], 'when': {'parameter': 'opt', 'values': "
            "['sgd', 'plain']}}, {'name': 'beta', 'choice': [0.9, 1], 'when': {'parameter': 'opt', "
            "'values': ['adam']}}, {'name': 'deep', 'randint': {'upper': 3}, 'when': "
            "{'parameter': 'beta', 'values': [0.9]}}, {'name': 'lr', 'choice': ['1']}]}");
        struct space space;
        struct error err = {0};
        CHECK(parameters_set(sweep, rows[i].name, rows[i].value));
        const json_t *list = tree_get(sweep, "spec.parameters");
        CHECK_OK(space_read(list, &space, &err), &err);
        AUTO(text_freep) char *left = x_strdup("");
        for (size_t k = 0; k < json_array_size(list); k++) {
            AUTO(text_freep) char *before = left;
            left = x_printf("%s%s%s", before, *before ? " " : "",
                            tree_text(json_array_get(list, k), "name", ""));
        }
        if (strcmp(left, rows[i].left) != 0) {
            printf("# row %zu: %s\n", i, left);
            test_failures++;
        }
    }
}

int main(void) {
    TEST(test_which_are_refused);
    TEST(test_what_is_replaced);
    TEST(test_nothing_is_replaced_of_a_refused_one);
    TEST(test_growth_is_bounded);
    TEST(test_runs_of_a_series);
    TEST(test_set);
    TEST(test_set_of_a_choice_with_conditions);
    return TEST_END();
}
