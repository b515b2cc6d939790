// SPDX-License-Identifier: Apache-2.0
/* References to what other jobs have written: which are refused, and what is replaced. The waiting
 * itself is in the rows of tests/data/plan*. */
#include "operator/kinds/job/after/after.h"
#include "operator/kinds/job/after/after_reference.h"

#include "tests/parse_json.h"
#include "tests/test.h"

static json_t *job(const char *spec) {
    json_t *object = parse("{'kind': 'DistTrain', 'metadata': {'name': 'train'}}");
    json_object_set_new(object, "spec", parse(spec));
    return object;
}

static void test_which_are_refused(void) {
    static const struct {
        const char *spec;
        const char *refused; /* NULL: nothing */
    } rows[] = {
        {"{'after': [{'name': 'a-1'}], 'x': ['$(after.a-1.output)/b', '$(after.a-1.model)']}",
         NULL},
        {"{'after': [{'name': 'a'}], 'x': {'y': ['-', 'v=$(after.b.output)']}}",
         "spec.x.y[1]: $(after.b.output) is of a job that spec.after does not name"},
        {"{'after': [{'name': 'a'}], 'x': '$(after.a.model) $(after.a.log)'}",
         "spec.x: $(after.a.log) is not known; output and model are"},
        {"{'x': '$(after.a.output)'}", "spec.x: $(after.a.output) is of a job that spec.after"},
        {"{'x': '$$(after.a.output) $(after.sh x) $(after) $(after.a) $(after.a.b c) "
         "${after.a.b}'}",
         NULL},
        {"{'x': '$$$(after.a.output)'}", "spec.x: $(after.a.output)"},
        {"{'after': [{'name': 'train'}]}", "spec.after: names this job itself"},
        {"{'after': [{'name': 'train', 'kind': 'DistTrain'}]}",
         "spec.after: names this job itself"},
        {"{'after': [{'name': 'train', 'kind': 'BatchScore'}]}", NULL},
        {"{'after': [{'name': 'a'}], 'schedule': {'cron': '* * * * *'}}",
         "spec.after: is not for trigger, schedule"},
        {"{'after': [{'name': 'a'}], 'trigger': {'path': 'x'}}", "spec.after: is not for trigger"},
        {"{'after': [{'name': 'a'}], 'rerun': 'OnChange'}", "spec.after: is not for trigger"},
        {"{'after': [{'name': 'a'}], 'rerun': 'Never'}", NULL},
        {"{'after': [{'name': 'a'}], 'output': {'path': '$(after.a.output)'}}",
         "spec.output.path: may not contain $(after...)"},
        {"{'after': [{'name': 'a'}], 'logs': {'path': 'data/$$(after.a.output)'}}",
         "spec.logs.path: may not contain $(after...)"},
        {"{'after': [{'name': 'a'}], 'trial': {'outputs': [{'path': '$(after.a.output)/x'}]}}",
         "spec.trial.outputs[0].path: may not contain $(after...)"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(tree_freep) json_t *object = job(rows[i].spec);
        int result = after_reference_check(object, &err);
        if ((result < 0) != (rows[i].refused != NULL) ||
            (result < 0 && !text_starts(err.text, rows[i].refused))) {
            printf("# row %zu: %s\n", i, err.text);
            test_failures++;
        }
    }
}

static void test_what_is_replaced(void) {
    AUTO(tree_freep)
    json_t *object =
        job("{'after': [{'name': 'a'}, {'name': 'b'}], 'n': 7, 'x': ['$(after.a.output)/c', "
            "{'y': '$(after.b.model)$(after.a.output) $$(after.a.output) $(RATE)'}, null, 'z']}");
    CHECK(!after_reference_fill(object)); /* nothing is known yet */
    json_object_set_new(object, "status",
                        parse("{'after': [{'name': 'a', 'output': 'data/$(x)'}, {'name': 'b', "
                              "'output': 'o', 'model': 'o/m.onnx'}]}"));
    AUTO(tree_freep) json_t *before = json_deep_copy(object);
    AUTO(tree_freep) json_t *filled = after_reference_fill(object);
    AUTO(tree_freep)
    json_t *wanted = parse("['data/$(x)/c', {'y': 'o/m.onnxdata/$(x) $$(after.a.output) $(RATE)'}, "
                           "null, 'z']");
    CHECK(json_equal(tree_get(filled, "spec.x"), wanted));
    CHECK_INT(tree_integer(filled, "spec.n", 0), 7);
    CHECK(json_equal(tree_get(filled, "spec.after"), tree_get(object, "spec.after")));
    CHECK(json_equal(object, before));
}

/* A program gets the folder of the volume. */
static void test_programs_get_folders(void) {
    AUTO(tree_freep)
    json_t *object =
        job("{'after': [{'name': 'a'}], 'command': ['sh', '-c', 'ls $(after.a.output)/x'], "
            "'scorer': {'command': {'environment': {'IN': '$(after.a.output)'}}}, 'trial': "
            "{'inputs': [{'path': '$(after.a.output)'}]}}");
    json_object_set_new(object, "status",
                        parse("{'after': [{'name': 'a', 'output': 'data/out'}]}"));
    AUTO(tree_freep) json_t *filled = after_reference_fill(object);
    CHECK_STR(tree_text(filled, "spec.command[2]", ""), "ls $(data)/out/x");
    CHECK_STR(tree_text(filled, "spec.scorer.command.environment.IN", ""), "$(data)/out");
    CHECK_STR(tree_text(filled, "spec.trial.inputs[0].path", ""), "data/out");
    json_object_set_new(object, "status",
                        parse("{'after': [{'name': 'a', 'output': 'az://acc/box/out'}]}"));
    AUTO(tree_freep) json_t *stored = after_reference_fill(object);
    CHECK_STR(tree_text(stored, "spec.command[2]", ""), "ls az://acc/box/out/x");
}

/* What a shell would read as its own never gets into its program; a path may have it. */
static void test_words_of_programs_are_plain(void) {
    static const char *const refused[] = {"data/my pictures", "data/a;b",  "data/$(id)",
                                          "data/a'b",         "data/a\nb", "data/\xc3\xa4"};
    AUTO(tree_freep)
    json_t *program = job("{'after': [{'name': 'a'}], 'command': ['sh', '-c', 'ls "
                          "$(after.a.output)']}");
    AUTO(tree_freep)
    json_t *path = job("{'after': [{'name': 'a'}], 'inputs': [{'path': '$(after.a.output)'}]}");
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct error err = {0};
        AUTO(tree_freep)
        json_t *values =
            json_pack("[{s:s, s:s, s:s}]", "name", "a", "kind", "DistTrain", "output", refused[i]);
        CHECK_INT(after_reference_check_values(path, values, &err), 0);
        CHECK_INT(after_reference_check_values(program, values, &err), -1);
        CHECK(text_starts(err.text, "spec.command[2]: the output of DistTrain a is \"data/"));
    }
    struct error err = {0};
    AUTO(tree_freep)
    json_t *values = parse("[{'name': 'a', 'output': 's3://b-1.x/a_B:9=@+/c'}]");
    CHECK_INT(after_reference_check_values(program, values, &err), 0);
}

/* In a program each value is longer by three characters. */
static void test_the_limit_is_that_of_the_use(void) {
    enum { LIMIT = 64 << 10, LEFT = LIMIT - 7 };
    AUTO(text_freep) char *text = x_calloc(1, LIMIT + 64);
    memset(text, 'x', LEFT);
    memcpy(text + LEFT, "$(after.a.output)", 17);
    AUTO(tree_freep) json_t *values = parse("[{'name': 'a', 'output': 'data/x'}]");
    static const struct {
        const char *member;
        int result;
    } rows[] = {{"path", 0}, {"command", -1}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(tree_freep) json_t *object = job("{'after': [{'name': 'a'}]}");
        json_object_set_new(json_object_get(object, "spec"), rows[i].member, json_string(text));
        CHECK_INT(after_reference_check_values(object, values, &err), rows[i].result);
    }
}

/* As often as a spec can name a value. */
static void test_growth_is_bounded(void) {
    enum { COPIES = 5000 };
    AUTO(tree_freep) json_t *object = job("{'after': [{'name': 'a'}]}");
    AUTO(text_freep) char *text = x_calloc(1, COPIES * strlen("$(after.a.output)") + 1);
    for (size_t i = 0; i < COPIES; i++) {
        memcpy(text + i * strlen("$(after.a.output)"), "$(after.a.output)", 17);
    }
    json_object_set_new(json_object_get(object, "spec"), "x", json_string(text));
    json_object_set_new(object, "status",
                        parse("{'after': [{'name': 'a', 'output': 'a/path/of/some/length'}]}"));
    AUTO(tree_freep) json_t *filled = after_reference_fill(object);
    CHECK_STR(tree_text(filled, "spec.x", ""), text); /* left as it is, and refused before */
    struct error err = {0};
    CHECK_INT(after_reference_check_values(object, tree_get(object, "status.after"), &err), -1);
    CHECK(text_starts(err.text, "spec.x: would be longer"));
}

/* What it waits for changes before it begins. */
static void test_which_are_open(void) {
    AUTO(tree_freep)
    json_t *object = job("{'after': [{'name': 'a'}, {'name': 'b', 'kind': 'Sweep'}]}");
    CHECK(after_is_open(object));
    json_object_set_new(object, "status",
                        parse("{'after': [{'name': 'a', 'kind': 'Sweep'}, {'name': 'b', 'kind': "
                              "'Sweep'}]}"));
    CHECK(!after_is_open(object));
    json_object_set_new(tree_get(object, "spec.after[1]"), "kind", json_string("BatchScore"));
    CHECK(after_is_open(object));
}

/* data/x is the same place for both only if data is. */
static void test_volumes_are_the_same(void) {
    static const char claim[] = "'persistentVolumeClaim': {'claimName': 'c'}";
    static const struct {
        const char *ours, *theirs, *word;
        const char *failed; /* NULL: it begins */
    } rows[] = {
        {claim, claim, "$(after.a.output)", NULL},
        {"'persistentVolumeClaim': {'claimName': 'c', 'readOnly': true}", claim,
         "$(after.a.output)", NULL},
        {"'persistentVolumeClaim': {'claimName': 'd'}", claim, "-i=$(after.a.output)",
         "spec.volumes: data is another volume than in DistTrain a, which has written to data/x"},
        {"'persistentVolumeClaim': {'claimName': 'd'}", claim, "it only waits", NULL},
        {"'hostPath': {'path': '/a'}", "'hostPath': {'path': '/b', 'type': 'Directory'}",
         "$(after.a.output)", "spec.volumes: data is another volume"},
        {"'nfs': {'server': 's', 'path': '/a'}", "'nfs': {'server': 's', 'path': '/b'}",
         "$(after.a.output)", "spec.volumes: data is another volume"},
        {"'nfs': {'server': 's', 'path': '/a'}", "'nfs': {'server': 's.local', 'path': '/a'}",
         "$(after.a.output)", NULL},
        {"'azureFile': {'shareName': 'a'}", "'azureFile': {'shareName': 'b'}", "$(after.a.output)",
         "spec.volumes: data is another volume"},
        {"'hostPath': {'path': '/a/'}", "'hostPath': {'path': '/a'}", "$(after.a.output)", NULL},
        {"'nfs': {'server': 's', 'path': '/a'}", "'nfs': {'server': 's', 'path': '/b/../a//'}",
         "$(after.a.output)", NULL},
        {"'blobfuse': {'container': 'c', 'secretName': 's'}",
         "'blobfuse': {'container': 'd', 'secretName': 's'}", "$(after.a.output)",
         "spec.volumes: data is another volume"},
        {"'blobfuse': {'account': 'a', 'container': 'c'}",
         "'blobfuse': {'account': 'b', 'container': 'c'}", "$(after.a.output)",
         "spec.volumes: data is another volume"},
        {"'blobfuse': {'container': 'c', 'secretName': 'read'}",
         "'blobfuse': {'container': 'c', 'secretName': 'write'}", "$(after.a.output)", NULL},
        {claim, "'hostPath': {'path': '/b'}", "$(after.a.output)", NULL}, /* it may be the same */
        {"'emptyDir': {}", "'emptyDir': {}", "$(after.a.output)",
         "spec.volumes: data lasts as long as a pod, so what DistTrain a has written to data/x"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep)
        char *spec = x_printf("{'after': [{'name': 'a'}], 'command': ['%s'], 'volumes': [{'name': "
                              "'data', %s}]}",
                              rows[i].word, rows[i].ours);
        AUTO(text_freep)
        char *other = x_printf("[{'kind': 'DistTrain', 'metadata': {'name': 'a', 'generation': 1}, "
                               "'spec': {'outputs': [{'path': 'data/x'}], 'volumes': [{'name': "
                               "'data', %s}]}, 'status': {'observedGeneration': 1, 'conditions': "
                               "[{'type': 'Succeeded', 'status': 'True'}]}}]",
                               rows[i].theirs);
        AUTO(tree_freep) json_t *object = job(spec);
        AUTO(tree_freep) json_t *others = parse(other);
        struct after after;
        after_judge(object, others, &after);
        bool is_right = rows[i].failed ? after.state == AFTER_FAILED &&
                                             text_starts(after.message, rows[i].failed)
                                       : after.state == AFTER_DONE;
        if (!is_right) {
            printf("# row %zu: %d %s\n", i, after.state, after.message);
            test_failures++;
        }
        after_release(&after);
    }
}

int main(void) {
    TEST(test_which_are_refused);
    TEST(test_what_is_replaced);
    TEST(test_programs_get_folders);
    TEST(test_words_of_programs_are_plain);
    TEST(test_the_limit_is_that_of_the_use);
    TEST(test_growth_is_bounded);
    TEST(test_which_are_open);
    TEST(test_volumes_are_the_same);
    return TEST_END();
}
