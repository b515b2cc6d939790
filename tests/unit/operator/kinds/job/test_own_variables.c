// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/own_variables.h"

#include "tests/parse_json.h"
#include "tests/test.h"

/* Words of a command in which $(WINDLASS_PORT) is replaced, and which one is refused. */
static void test_which_words_are_refused(void) {
    static const struct {
        const char *words;
        const char *refused; /* NULL: none */
    } rows[] = {
        {"['vllm', '--port', '$(WINDLASS_PORT)', '$(data)/x']", NULL},
        {"['vllm', '$(WINDLASS_PORTS)']", "spec.c[1]: $WINDLASS_PORTS is not replaced there"},
        {"['vllm', '$WINDLASS_POR']", "spec.c[1]: $WINDLASS_POR is not replaced there"},
        {"['a', '$$WINDLASS_JOB', '$$(WINDLASS_JOB)', '$ WINDLASS_JOB']", NULL},
        {"['a', '$$$WINDLASS_JOB']", "spec.c[1]: $WINDLASS_JOB is not"},
        {"['$WINDLASS_JOB']", "spec.c[0]: $WINDLASS_JOB is not"},
        {"['/bin/bash', '-ec', 'echo $WINDLASS_JOB', '$WINDLASS_JOB']", NULL},
        {"['bash', '$WINDLASS_JOB', '-c']", "spec.c[1]: $WINDLASS_JOB is not"},
        {"['bash', '--rc', '$WINDLASS_JOB']", "spec.c[2]: $WINDLASS_JOB is not"},
        {"['python3', '-c', '$WINDLASS_JOB']", "spec.c[2]: $WINDLASS_JOB is not"},
        {"['vllm', '$(WINDLASS_PORT']", "spec.c[1]: $WINDLASS_PORT is not replaced there"},
        {"['vllm', '$(WINDLASS_PORT-1)']", "spec.c[1]: $WINDLASS_PORT is not replaced there"},
        {"['vllm', '$WINDLASS_PORT-1', '${WINDLASS_OTHER_PORT}']",
         "spec.c[2]: $WINDLASS_OTHER_PORT is not"},
        {"['vllm', '${WINDLASS_JOB%x}']", NULL}, /* a shell's */
        {"[]", NULL},
    };
    static const char *const allowed[] = {"WINDLASS_PORT", "WINDLASS_TWO", NULL};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(tree_freep) json_t *spec = json_pack("{s:o}", "c", parse(rows[i].words));
        int result = own_variables_check_command(spec, "c", allowed, &err);
        if ((result < 0) != (rows[i].refused != NULL) ||
            (result < 0 && !text_starts(err.text, rows[i].refused))) {
            printf("# row %zu: %s\n", i, err.text);
            test_failures++;
        }
    }
}

static void test_texts_of_a_tree(void) {
    struct error err = {0};
    AUTO(tree_freep)
    json_t *spec = parse("{'a': {'b': [1, null, {'c': 'x $WINDLASS_RUN y'}], 'd': "
                         "'$HOME'}, 'e': {'f': '$$WINDLASS_RUN'}}");
    CHECK_INT(own_variables_check_tree(spec, "a", NULL, &err), -1);
    CHECK_STR(err.text, "spec.a: $WINDLASS_RUN is not replaced there: x $WINDLASS_RUN y");
    err = (struct error){0};
    CHECK_OK(own_variables_check_tree(spec, "e", NULL, &err), &err);
    CHECK_OK(own_variables_check_tree(spec, "none", NULL, &err), &err);
    CHECK_OK(own_variables_check_path("output.path", "data/$HOME/WINDLASS_JOB", &err), &err);
    CHECK_INT(own_variables_check_path("output.path", "data/$(WINDLASS_JOB)", &err), -1);
}

int main(void) {
    TEST(test_which_words_are_refused);
    TEST(test_texts_of_a_tree);
    return TEST_END();
}
