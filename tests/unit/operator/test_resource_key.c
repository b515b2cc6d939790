// SPDX-License-Identifier: Apache-2.0
#include "operator/resource_key.h"

#include "tests/test.h"

static void test_a_key_has_its_parts_again(void) {
    AUTO(text_freep) char *text = resource_key_format("BatchScore", "team-a", "paint.v2");
    CHECK_STR(text, "BatchScore team-a/paint.v2");
    AUTO(resource_key_release) struct resource_key key = resource_key_parse(text);
    CHECK_STR(key.kind, "BatchScore");
    CHECK_STR(key.namespace, "team-a");
    CHECK_STR(key.name, "paint.v2");
}

static void test_keys_of_objects(void) {
    AUTO(tree_freep)
    json_t *object =
        json_pack("{s:s,s:{s:s,s:s}}", "kind", "Pod", "metadata", "name", "p-0", "namespace", "n");
    AUTO(text_freep) char *key = resource_key_of_object(object);
    CHECK_STR(key, "Pod n/p-0");
    json_object_del(json_object_get(object, "metadata"), "namespace");
    AUTO(text_freep) char *other = resource_key_of_object(object);
    CHECK_STR(other, "Pod default/p-0");
}

int main(void) {
    TEST(test_a_key_has_its_parts_again);
    TEST(test_keys_of_objects);
    return TEST_END();
}
