// SPDX-License-Identifier: Apache-2.0
#include "operator/manifest_write.h"

#include "operator/manifest.h"
#include "tests/test.h"

#include <stdlib.h>

static json_t *parse(const char *text) {
    return json_loads(text, 0, NULL);
}

/* What is written is read as the same tree, whatever its texts look like. */
static void test_same_tree(void) {
    static const char *const trees[] = {
        "{\"a\":1,\"b\":{\"c\":[1,2.5,true,null,\"x\"],\"d\":{}},\"e\":[]}",
        "{\"yes\":\"no\",\"on\":\"010\",\"1\":\"1_000\",\"n\":\"null\",\"t\":\"true\",\"f\":"
        "\"1e3\"}",
        "{\"a\":\"\",\"b\":\" x \",\"c\":\"a: b\",\"d\":\"- a\",\"e\":\"#x\",\"f\":\"a #b\"}",
        "{\"a\":\"[x]\",\"b\":\"{x}\",\"c\":\"*.jpg\",\"d\":\"&a\",\"e\":\"!x\",\"f\":\"a,b\"}",
        "{\"a\":\"line\\nline\\ttab\\\"quote\\\\\",\"b\":\"\\u0001\",\"c\":\"Gr\\u00fc\\u00dfe\"}",
        "{\"a\":[{\"b\":\"x, "
        "y\",\"c\":{\"d\":[\"1\",2]}},{\"b\":\"z\"}],\"g\":{\"h\":[{\"i\":1}]}}",
        "{\"s\":{\"o\":{\"path\":\"work/my model.onnx\",\"columns\":[\"mean radius\",\"b\"]}}}",
        "{\"-\":\"-\",\"a b\":\".\",\"c.d\":\"/x\",\"~\":\"~\"}",
        /* What YAML allows nowhere, and what it takes for the end of a line. */
        "{\"a\\u0085b\":\"\\u007f\\u0080\\u0085\\u009f\\u00a0\\u2027\\u2028\\u2029\\u202a\",\"b\":["
        "\"\\ufeff\\ufffe\\uffff\\ufffd\",{\"\\u2028c: d\":\"\\u2029\"}]}",
    };
    for (size_t i = 0; i < ARRAY_LEN(trees); i++) {
        struct error err = {0};
        AUTO(manifest_freep) struct manifest *read = NULL;
        AUTO(tree_freep) json_t *tree = parse(trees[i]);
        AUTO(text_freep) char *text = manifest_write(tree, NULL);
        if (manifest_parse("text", text, strlen(text), &read, &err) < 0) {
            printf("# %s\n%s\n", err.text, text);
            CHECK(false);
            continue;
        }
        CHECK(json_equal(read->documents[0].tree, tree));
    }
}

/* A comment ends where its line does, whatever is in it. */
static void test_remarks_stay_remarks(void) {
    static const char *const ends[] = {"\\n", "\\r", "\\u0085", "\\u2028", "\\u2029"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct error err = {0};
        AUTO(manifest_freep) struct manifest *read = NULL;
        AUTO(tree_freep) json_t *tree = parse("{\"a\":1,\"b\":2}");
        AUTO(text_freep)
        char *given = x_printf("{\"\":\"x%sc: 3\",\"b\":\"y%sd: 4\"}", ends[i], ends[i]);
        AUTO(tree_freep) json_t *remarks = parse(given);
        AUTO(text_freep) char *text = manifest_write(tree, remarks);
        CHECK_OK(manifest_parse("text", text, strlen(text), &read, &err), &err);
        CHECK(read && json_equal(read->documents[0].tree, tree));
    }
}

static void test_form(void) {
    AUTO(tree_freep)
    json_t *tree = parse("{\"kind\":\"K\",\"metadata\":{\"name\":\"x\"},\"spec\":{\"count\":1,"
                         "\"list\":[\"a\",\"b c\"],"
                         "\"small\":{\"a\":1,\"b\":\"two\"},\"volumes\":[{\"name\":\"work\"}]}}");
    AUTO(tree_freep)
    json_t *remarks =
        parse("{\"\":\"Top.\\nSecond.\",\"spec.volumes\":\"Folders.\",\"spec.small.b\":\"B.\"}");
    AUTO(text_freep) char *text = manifest_write(tree, remarks);
    CHECK_STR(text, "# Top.\n"
                    "# Second.\n"
                    "kind: K\n"
                    "metadata:\n"
                    "  name: x\n"
                    "spec:\n"
                    "  count: 1\n"
                    "  list: [a, \"b c\"]\n"
                    "  small:\n"
                    "    a: 1\n"
                    "    # B.\n"
                    "    b: two\n"
                    "  # Folders.\n"
                    "  volumes:\n"
                    "    - {name: work}\n");
}

int main(void) {
    TEST(test_same_tree);
    TEST(test_remarks_stay_remarks);
    TEST(test_form);
    return TEST_END();
}
