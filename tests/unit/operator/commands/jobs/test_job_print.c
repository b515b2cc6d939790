// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/jobs/job_print.h"

#include "operator/manifest.h"
#include "tests/test.h"

/* Each is read back by the program's own reader of YAML. */
static void yaml_is_read_back(void) {
    static const char *const trees[] = {
        "{\"a\": 1}",
        "{\"a\": {\"b\": [1, -2.5, true, null, \"true\", \"no\", \"1e3\", \"0x1\", \"\"]}}",
        "{\"a\": [], \"b\": {}, \"c\": [{\"d\": [[1, 2], [{\"e\": \"f\"}]]}, {}]}",
        "{\"a b\": \"x: y\", \"$(x)/y\": \"# no comment\", \"t\": "
        "\"two\\nlines\\t\\u00e9\\u0001\"}",
        "{\"list\": [{\"first\": 1, \"second\": {\"third\": [\"- x\", \"? y\", \"&z\"]}}]}",
        "{\"2026-11-21\": \"2026-11-21\", \"null\": \"~\", \"end\": \"colon:\"}",
        "{\"a\\u202eb\": \"\\u001b[2J\\u009b2J\\u2066 \\u00e9\\ud83d\\ude00\"}",
    };
    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
        AUTO(tree_freep) json_t *tree = json_loads(trees[i], 0, NULL);
        AUTO(text_freep) char *text = job_print_yaml(tree);
        AUTO(manifest_freep) struct manifest *manifest = NULL;
        struct error err = {0};
        CHECK_OK(manifest_parse("it", text, strlen(text), &manifest, &err), &err);
        CHECK(manifest && manifest->count == 1 && json_equal(manifest->documents[0].tree, tree));
        /* Nothing in it acts on a terminal. */
        CHECK(!strchr(text, '\x1B') && !strstr(text, "\xc2\x9b") && !strstr(text, "\xe2\x80\xae"));
    }
}

int main(void) {
    TEST(yaml_is_read_back);
    return TEST_END();
}
