// SPDX-License-Identifier: Apache-2.0
/* A generation belongs to what it began with. */
#include "agent/score/log/run_file.h"

#include "agent/data/input/input.h"
#include "tests/unit/agent/data/tries.h"

static const struct input_kind by_lines = {0}; /* nothing to list */
static const struct media media = {.lines = &by_lines};

/* Another network, or other labels, under the old names. */
static void test_changed_files_are_named(void) {
    static const char *const fields[] = {"scorer.onnx.path", "scorer.onnx.postprocess.labels"};
    char text[RUN_FILE_CHANGES_BYTES];
    AUTO(tree_freep) json_t *files = json_pack("{s:s,s:s}", fields[0], "aa", fields[1], "bb");
    AUTO(tree_freep) json_t *spec = json_pack("{s:{}}", "scorer");
    AUTO(tree_freep) json_t *run = run_file_make(spec, &media, NULL, files);
    CHECK_INT(run_file_changes(run, run, text), 0);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        for (int is_gone = 0; is_gone < 2; is_gone++) {
            AUTO(tree_freep) json_t *others = json_deep_copy(files);
            if (is_gone) {
                json_object_del(others, fields[i]);
            } else {
                json_object_set_new(others, fields[i], json_string("cc"));
            }
            AUTO(tree_freep) json_t *other = run_file_make(spec, &media, NULL, others);
            AUTO(text_freep)
            char *says = x_printf("spec.%s: the file's SHA-256 was %s, is %s", fields[i],
                                  i ? "bb" : "aa", is_gone ? "none" : "cc");
            CHECK_INT(run_file_changes(run, other, text), 1);
            CHECK_STR(text, says);
            CHECK_INT(run_file_changes(other, run, text), 1);
        }
    }
}

/* The size of a mini-batch changes no result, and neither do a program's processes; what a release
 * did not store does not count. */
static void test_changed_fields_are_named(void) {
    char text[RUN_FILE_CHANGES_BYTES];
    AUTO(tree_freep) json_t *files = json_object();
    AUTO(tree_freep)
    json_t *then = json_pack("{s:{s:{s:s}}, s:{s:{s:i}}, s:{s:s,s:s}, s:i}", "input", "files",
                             "path", "data/in", "scorer", "command", "processesPerWorker", 1,
                             "output", "path", "data/out", "mode", "PerFile", "miniBatchSize", 8);
    AUTO(tree_freep) json_t *now = json_deep_copy(then);
    json_object_set_new(tree_get(now, "scorer.command"), "processesPerWorker", json_integer(2));
    json_object_set_new(now, "miniBatchSize", json_integer(16));
    AUTO(tree_freep) json_t *before = run_file_make(then, &media, NULL, files);
    AUTO(tree_freep) json_t *same = run_file_make(now, &media, NULL, files);
    CHECK_INT(run_file_changes(before, same, text), 0);
    CHECK_INT(tree_integer(same, "size.miniBatchSize", 0), 16);
    json_object_set_new(tree_get(now, "output"), "mode", json_string("AppendRow"));
    json_object_set_new(tree_get(now, "input.files"), "order", json_string("Modified"));
    AUTO(tree_freep) json_t *other = run_file_make(now, &media, NULL, files);
    CHECK_INT(run_file_changes(before, other, text), 2);
    CHECK_STR(text, "spec.input.files.order: was absent, is \"Modified\"; spec.output.mode: was "
                    "\"PerFile\", is \"AppendRow\"");
    json_object_del(before, "spec");
    CHECK_INT(run_file_changes(before, other, text), 0);
}

/* Prices and certificates change no result. */
static void test_a_model_servers_fields_that_are_no_change(void) {
    static const char *const endpoints[] = {
        "{\"url\": \"a\"}",
        "{\"url\": \"a\", \"cost\": {\"perGpuHour\": 2},"
        " \"clientCertificate\": {\"secretName\": \"x\"}}",
    };
    AUTO(tree_freep) json_t *files = json_object();
    json_t *made[ARRAY_LEN(endpoints)];
    for (size_t i = 0; i < ARRAY_LEN(endpoints); i++) {
        AUTO(tree_freep)
        json_t *spec =
            json_pack("{s:{s:o}}", "scorer", "endpoint", json_loads(endpoints[i], 0, NULL));
        made[i] = run_file_make(spec, &media, NULL, files);
    }
    CHECK(json_equal(made[0], made[1]));
    json_decref(made[0]);
    json_decref(made[1]);
}

/* Values of variables are neither stored nor shown, also not those that an earlier release stored.
 */
static void test_values_of_variables_are_hidden(void) {
    struct error err = {0};
    char text[RUN_FILE_CHANGES_BYTES];
    AUTO(store_freep) struct store *output = open_output("out/run_file_values");
    AUTO(tree_freep) json_t *files = json_object();
    AUTO(tree_freep)
    json_t *spec = json_pack("{s:{s:{s:{s:s,s:s}}}}", "scorer", "command", "environment", "KEY",
                             "old-secret", "SEED", "7");
    AUTO(tree_freep) json_t *run = run_file_make(spec, &media, NULL, files);
    AUTO(tree_freep) json_t *plain = json_deep_copy(run);
    json_object_set(tree_get(plain, "spec"), "scorer", json_object_get(spec, "scorer"));
    CHECK_OK(run_file_store(output, RUN, 0, plain, &err), &err);
    AUTO(tree_freep) json_t *then = NULL;
    CHECK_OK(run_file_read(output, RUN, 0, &then, &err), &err);
    CHECK_INT(run_file_changes(then, run, text), 0);
    json_object_set_new(tree_get(spec, "scorer.command.environment"), "KEY",
                        json_string("new-secret"));
    AUTO(tree_freep) json_t *now = run_file_make(spec, &media, NULL, files);
    AUTO(text_freep) char *stored = tree_canonical(now);
    CHECK(!strstr(stored, "secret"));
    CHECK_INT(run_file_changes(then, now, text), 1);
    CHECK(text_starts(text, "spec.scorer.command.environment.KEY: was \"SHA-256 "));
    CHECK(!strstr(text, "secret"));
}

/* However many changes there are, the text has room, and says how many it leaves out. */
static void test_many_changes_are_counted(void) {
    char text[RUN_FILE_CHANGES_BYTES];
    AUTO(tree_freep) json_t *files = json_object();
    AUTO(tree_freep) json_t *spec = json_object();
    for (int i = 0; i < 100; i++) {
        AUTO(text_freep) char *name = x_printf("scorer.model%d", i);
        json_object_set_new(files, name, json_string("0123456789abcdef"));
    }
    AUTO(tree_freep) json_t *none = json_object();
    AUTO(tree_freep) json_t *then = run_file_make(spec, &media, NULL, files);
    AUTO(tree_freep) json_t *now = run_file_make(spec, &media, NULL, none);
    CHECK_INT(run_file_changes(then, now, text), 100);
    CHECK(strlen(text) < sizeof text && strstr(text, " more"));
}

/* A file that appears is a change, too. */
static void test_changes_are_found_from_both_sides(void) {
    AUTO(tree_freep) json_t *none = json_object();
    AUTO(tree_freep) json_t *one = json_pack("{s:s}", "scorer.onnx.path", "aa");
    CHECK(!run_file_find_change(none, NULL));
    CHECK(!run_file_find_change(one, one));
    CHECK_STR(run_file_find_change(none, one), "scorer.onnx.path");
    CHECK_STR(run_file_find_change(one, NULL), "scorer.onnx.path");
}

/* One per generation; the first one stays. */
static void test_what_is_stored_stays(void) {
    struct error err = {0};
    AUTO(store_freep) struct store *output = open_output("out/run_file");
    AUTO(tree_freep) json_t *files = json_pack("{s:s}", "scorer.onnx.path", "aa");
    AUTO(tree_freep) json_t *others = json_pack("{s:s}", "scorer.onnx.path", "bb");
    AUTO(tree_freep) json_t *spec = json_object();
    AUTO(tree_freep) json_t *run = run_file_make(spec, &media, NULL, files);
    AUTO(tree_freep) json_t *other = run_file_make(spec, &media, NULL, others);
    AUTO(tree_freep) json_t *none = NULL;
    AUTO(tree_freep) json_t *read = NULL;
    CHECK_OK(run_file_read(output, RUN, 0, &none, &err), &err);
    CHECK(!none);
    CHECK_OK(run_file_store(output, RUN, 0, run, &err), &err);
    CHECK_OK(run_file_store(output, RUN, 0, run, &err), &err);
    CHECK_INT(run_file_store(output, RUN, 0, other, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK(strstr(err.text, "SHA-256 was aa, is bb"));
    error_clear(&err);
    CHECK_OK(run_file_store(output, RUN, 1, other, &err), &err);
    CHECK_OK(run_file_read(output, RUN, 1, &read, &err), &err);
    CHECK_STR(tree_text(json_object_get(read, "files"), "scorer.onnx.path", ""), "");
    AUTO(tree_freep) json_t *older = json_pack("{s:i,s:s}", "windlass", 1, "model", "aa");
    CHECK_OK(run_file_store(output, RUN, 2, older, &err), &err);
    AUTO(tree_freep) json_t *unread = NULL;
    CHECK_INT(run_file_read(output, RUN, 2, &unread, &err), -1);
    CHECK(strstr(err.text, "was written by another release (its format is 1, this one's 2)"));
}

int main(void) {
    fixtures_start("run_file");
    TEST(test_changed_files_are_named);
    TEST(test_changed_fields_are_named);
    TEST(test_a_model_servers_fields_that_are_no_change);
    TEST(test_values_of_variables_are_hidden);
    TEST(test_many_changes_are_counted);
    TEST(test_changes_are_found_from_both_sides);
    TEST(test_what_is_stored_stays);
    return TEST_END();
}
