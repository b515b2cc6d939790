// SPDX-License-Identifier: Apache-2.0
/* Whether what is stored has what was asked for. */
#include "operator/object.h"

#include "tests/test.h"

static json_t *read(const char *text) {
    return json_loads(text, JSON_DECODE_ANY, NULL);
}

static void test_holds(void) {
    static const struct {
        const char *stored, *asked;
        bool holds, holds_but_times;
    } rows[] = {
        {"{}", "{}", true, true},
        {"{\"a\": 1}", "{}", true, true},
        {"{}", "{\"a\": 1}", false, false},
        {"{\"a\": 1}", "{\"a\": 1.0}", true, true},
        {"{\"a\": 2}", "{\"a\": 1}", false, false},
        {"{\"a\": \"1\"}", "{\"a\": 1}", false, false},
        {"{\"a\": {\"b\": true, \"c\": 1}}", "{\"a\": {\"b\": true}}", true, true},
        {"{\"a\": {\"c\": 1}}", "{\"a\": {\"b\": true}}", false, false},
        {"{\"a\": [1, 2]}", "{\"a\": [1]}", false, false},
        {"{\"a\": [1]}", "{\"a\": [1, 2]}", false, false},
        {"{\"a\": [{\"b\": 1, \"c\": 2}]}", "{\"a\": [{\"b\": 1}]}", true, true},
        {"{\"a\": \"2026-11-23T10:00:00Z\"}", "{\"a\": \"2026-11-23T10:00:01Z\"}", false, true},
        {"{\"a\": \"x\"}", "{\"a\": \"y\"}", false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *stored = read(rows[i].stored);
        AUTO(tree_freep) json_t *asked = read(rows[i].asked);
        CHECK_INT(object_holds(stored, asked, false), rows[i].holds);
        CHECK_INT(object_holds(stored, asked, true), rows[i].holds_but_times);
    }
    AUTO(tree_freep) json_t *asked = read("{\"a\": 1}");
    CHECK(!object_holds(NULL, asked, false));
}

int main(void) {
    TEST(test_holds);
    return TEST_END();
}
