// SPDX-License-Identifier: Apache-2.0
/* A run belongs to the files that it began with. */
#include "agent/score/log/run_file.h"

#include "agent/data/input/input.h"
#include "tests/unit/agent/data/tries.h"

/* Another network or other labels under the old names end a run that began with others. */
static void test_files_that_have_changed_are_refused_by_name(void) {
    static const char *const fields[] = {"scorer.onnx.path", "scorer.onnx.postprocess.labels"};
    AUTO(store_freep) struct store *output = open_output("out/run_file");
    struct error err = {0};
    static const struct input_kind kind = {0}; /* by lines: nothing to list */
    static const struct media media = {.lines = &kind};
    AUTO(tree_freep) json_t *files = json_pack("{s:s,s:s}", fields[0], "aa", fields[1], "bb");
    AUTO(tree_freep) json_t *run = run_file_make(&media, NULL, files);
    CHECK_OK(run_file_check(output, RUN, run, &err), &err); /* there is none yet */
    CHECK_OK(run_file_store(output, RUN, run, &err), &err);
    CHECK_OK(run_file_store(output, RUN, run, &err), &err);
    CHECK_OK(run_file_check(output, RUN, run, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        for (int is_gone = 0; is_gone < 2; is_gone++) {
            AUTO(tree_freep) json_t *others = json_deep_copy(files);
            if (is_gone) {
                json_object_del(others, fields[i]);
            } else {
                json_object_set_new(others, fields[i], json_string("cc"));
            }
            AUTO(tree_freep) json_t *other = run_file_make(&media, NULL, others);
            for (int way = 0; way < 2; way++) {
                err = (struct error){0};
                CHECK_INT(way ? run_file_store(output, RUN, other, &err)
                              : run_file_check(output, RUN, other, &err),
                          -1);
                CHECK_INT(err.kind, ERROR_INVALID);
                AUTO(text_freep)
                char *says = x_printf("spec.%s is not the file that this run began with (SHA-256 "
                                      "%s, the run began with %s;",
                                      fields[i], is_gone ? "none" : "cc", i ? "bb" : "aa");
                CHECK_STR(strncmp(err.text, says, strlen(says)) == 0 ? says : err.text, says);
            }
        }
    }
}

/* A file that appears is a change, too, and so is a run of another release. */
static void test_changes_are_found_from_both_sides(void) {
    AUTO(tree_freep) json_t *none = json_object();
    AUTO(tree_freep) json_t *one = json_pack("{s:s}", "scorer.onnx.path", "aa");
    CHECK(!run_file_find_change(none, NULL));
    CHECK(!run_file_find_change(one, one));
    CHECK_STR(run_file_find_change(none, one), "scorer.onnx.path");
    CHECK_STR(run_file_find_change(one, NULL), "scorer.onnx.path");
    AUTO(tree_freep) json_t *code = json_pack("{s:s}", RUN_FILE_CODE "code/a.py", "aa");
    AUTO(tree_freep) json_t *edited = json_pack("{s:s}", RUN_FILE_CODE "code/a.py", "bb");
    CHECK(!run_file_find_change(none, code)); /* it was added, or the run is an earlier release's */
    CHECK_STR(run_file_find_change(code, none), RUN_FILE_CODE "code/a.py");
    CHECK_STR(run_file_find_change(code, edited), RUN_FILE_CODE "code/a.py");
    struct error err = {0};
    AUTO(store_freep) struct store *output = open_output("out/older");
    AUTO(tree_freep) json_t *older = json_pack("{s:i,s:s}", "windlass", 1, "model", "aa");
    AUTO(tree_freep) json_t *run = json_pack("{s:i,s:O}", "windlass", 2, "files", one);
    CHECK_OK(run_file_store(output, RUN, older, &err), &err);
    CHECK_INT(run_file_check(output, RUN, run, &err), -1);
    CHECK(strstr(err.text, "was written by another release (its format is 1, this one's 2)"));
}

int main(void) {
    fixtures_start("run_file");
    TEST(test_files_that_have_changed_are_refused_by_name);
    TEST(test_changes_are_found_from_both_sides);
    return TEST_END();
}
