// SPDX-License-Identifier: Apache-2.0
#include "operator/schema.h"

#include "tests/test.h"

#include <stdlib.h>

/* A definition with features that BatchScore's does not use. */
static const char crd[] =
    "spec:\n"
    "  group: test.dev\n"
    "  names: {kind: Thing}\n"
    "  versions:\n"
    "    - name: v1\n"
    "      schema:\n"
    "        openAPIV3Schema:\n"
    "          type: object\n"
    "          properties:\n"
    "            apiVersion: {type: string}\n"
    "            kind: {type: string}\n"
    "            metadata: {type: object, properties: {name: {type: string, maxLength: 5}}}\n"
    "            spec:\n"
    "              type: object\n"
    "              properties:\n"
    "                open: {type: object, x-kubernetes-preserve-unknown-fields: true}\n"
    "                any: {x-kubernetes-preserve-unknown-fields: true}\n"
    "                maybe: {type: string, nullable: true, default: x}\n"
    "                ratio: {type: number, minimum: 0, maximum: 1}\n"
    "                rate: {x-kubernetes-preserve-unknown-fields: true, minimum: 0, maximum: 9,\n"
    "                       pattern: '^[0-9.]*(e-?[0-9]+)?$', maxLength: 32}\n"
    "                some: {type: array, items: {x-kubernetes-preserve-unknown-fields: true,\n"
    "                       pattern: '^[^$]*$'}}\n"
    "                flag: {type: boolean}\n"
    "                set: {type: array, minItems: 1, maxItems: 3, x-kubernetes-list-type: set,\n"
    "                      items: {type: string, maxLength: 3}}\n"
    "                map: {type: object, maxProperties: 2, additionalProperties:\n"
    "                      {type: object, properties: {q: {type: integer, default: 7}}}}\n"
    "                list: {type: array, items: {type: object, properties: {\n"
    "                      is: {type: boolean, default: false}, at: {type: integer}}}}\n";

static struct schema *load(void) {
    struct error err = {0};
    struct schema *schema = NULL;
    CHECK_OK(schema_parse(crd, strlen(crd), &schema, &err), &err);
    return schema;
}

static json_t *thing(const char *spec) {
    struct error err = {0};
    AUTO(text_freep)
    char *text = x_printf("{\"apiVersion\":\"test.dev/v1\",\"kind\":\"Thing\","
                          "\"metadata\":{\"name\":\"a\"},\"spec\":%s}",
                          spec);
    json_t *tree = NULL;
    CHECK_OK(tree_parse(text, strlen(text), 10000, &tree, &err), &err);
    return tree;
}

static void test_checks(void) {
    AUTO(schema_freep) struct schema *schema = load();
    static const struct {
        const char *spec, *says; /* NULL: accepted */
    } rows[] = {
        {"{}", NULL},
        {"{\"open\":{\"x\":[1,{\"y\":null}]},\"any\":[7]}", NULL},
        {"{\"open\":3}", "spec.open: must be fields, not a number"},
        {"{\"maybe\":null}", NULL},
        {"{\"ratio\":0.5,\"flag\":true}", NULL},
        {"{\"ratio\":1}", NULL},
        {"{\"ratio\":1.5}", "spec.ratio: is 1.5, at most 1 is allowed"},
        {"{\"ratio\":-1}", "spec.ratio: is -1, at least 0 is needed"},
        {"{\"flag\":\"true\"}", "spec.flag: must be true or false, not a string"},
        {"{\"rate\":0.5,\"some\":[1,0.5,\"a\"]}", NULL},
        {"{\"rate\":\"0.5\"}", NULL},
        {"{\"rate\":10}", "spec.rate: is 10, at most 9 is allowed"},
        {"{\"rate\":\"high\"}", "spec.rate: \"high\" does not match ^[0-9.]*(e-?[0-9]+)?$"},
        {"{\"rate\":true}", "spec.rate: must be a number, not true or false"},
        {"{\"some\":[{}]}", "spec.some[0]: must be a number or a string, not fields"},
        {"{\"set\":[\"a\",\"b\"]}", NULL},
        {"{\"set\":[]}", "spec.set: 0 entries, at least 1 are required"},
        {"{\"set\":[\"a\",\"b\",\"c\",\"d\"]}", "spec.set: 4 entries, at most 3 are allowed"},
        {"{\"set\":[\"a\",\"b\",\"a\"]}", "spec.set[2]: value \"a\" is used twice"},
        {"{\"set\":[\"ééé\"]}", NULL},
        {"{\"set\":[\"éééé\"]}", "spec.set[0]: has 4 characters, at most 3 are allowed"},
        {"{\"map\":{\"a\":{},\"b.c\":{\"q\":\"x\"}}}",
         "spec.map[b.c].q: must be a whole number, not a string"},
        {"{\"map\":{\"a\":{},\"b\":{},\"c\":{}}}", "spec.map: 3 entries, at most 2 are allowed"},
        {"{\"map\":{\"a\":{\"m\":1}}}", "spec.map.a.m: unknown field, did you mean q?"},
        {"{\"zzz\":1}", "spec.zzz: unknown field; spec has: open, any, maybe, ratio, rate, some, "
                        "flag, set, map, list"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(tree_freep) json_t *object = thing(rows[i].spec);
        CHECK_INT(schema_check(schema, object, &err), rows[i].says ? -1 : 0);
        CHECK_STR(err.text, rows[i].says ? rows[i].says : "");
    }
}

static void test_metadata(void) {
    AUTO(schema_freep) struct schema *schema = load();
    static const struct {
        const char *metadata, *says;
    } rows[] = {
        {"{\"name\":\"a\",\"uid\":\"u\",\"labels\":{\"a\":\"b\"},\"finalizers\":[]}", ""},
        {"{\"name\":\"abcdef\"}", "metadata.name: has 6 characters, at most 5 are allowed"},
        {"{\"generateName\":\"a\"}", "metadata.name: is missing"},
        {"{\"name\":\"a\",\"labels\":{\"a\":1}}",
         "metadata.labels.a: must be a string, not a number"},
        {"{\"name\":\"a\",\"annotation\":{}}",
         "metadata.annotation: unknown field, did you mean annotations?"},
        {"{\"name\":\"a\",\"managedFields\":[{\"apiVersion\":\"v1\",\"fieldsV1\":{\"f:x\":{}}}],"
         "\"ownerReferences\":[{\"kind\":\"A\"}],\"finalizers\":[\"x/y\"]}",
         ""},
        {"[]", "metadata: must be fields, not a list"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0}, ignored = {0};
        AUTO(tree_freep) json_t *object = thing("{}");
        json_t *metadata = NULL;
        CHECK_OK(tree_parse(rows[i].metadata, strlen(rows[i].metadata), 1000, &metadata, &ignored),
                 &ignored);
        json_object_set_new(object, "metadata", metadata);
        CHECK_INT(schema_check(schema, object, &err), *rows[i].says ? -1 : 0);
        CHECK_STR(err.text, rows[i].says);
    }
}

static void test_defaults(void) {
    AUTO(schema_freep) struct schema *schema = load();
    static const struct {
        const char *before, *after;
    } rows[] = {
        {"{}", "{\"maybe\":\"x\"}"},
        {"{\"maybe\":null}", "{\"maybe\":null}"},
        {"{\"maybe\":\"y\",\"flag\":null}", "{\"maybe\":\"y\"}"},
        {"{\"maybe\":\"y\",\"map\":{\"a\":{},\"b\":{\"q\":1},\"c\":null}}",
         "{\"map\":{\"a\":{\"q\":7},\"b\":{\"q\":1}},\"maybe\":\"y\"}"},
        {"{\"maybe\":\"y\",\"rate\":1.50,\"some\":[3,0.1,\"0.10\",1e-5,2.0]}",
         "{\"maybe\":\"y\",\"rate\":\"1.5\",\"some\":[3,\"0.1\",\"0.10\",\"1e-5\",\"2\"]}"},
        {"{\"maybe\":\"y\",\"rate\":2,\"some\":[1e21,0.30000000000000004,-0.0012]}",
         "{\"maybe\":\"y\",\"rate\":\"2\","
         "\"some\":[\"1e21\",\"0.30000000000000004\",\"-0.0012\"]}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *object = thing(rows[i].before);
        schema_fill_defaults(schema, object);
        AUTO(text_freep) char *seen = tree_canonical(json_object_get(object, "spec"));
        CHECK_STR(seen, rows[i].after);
        schema_fill_defaults(schema, object);
        AUTO(text_freep) char *again = tree_canonical(json_object_get(object, "spec"));
        CHECK_STR(again, rows[i].after);
    }
}

/* A number of a server's object is a text in the copy, and stays one. */
static void test_decimal_of_server(void) {
    AUTO(schema_freep) struct schema *schema = load();
    AUTO(tree_freep) json_t *object = thing("{\"maybe\":\"y\",\"rate\":0.05}");
    AUTO(tree_freep) json_t *filled = schema_filled(schema, object);
    CHECK_STR(tree_text(filled, "spec.rate", ""), "0.05");
    CHECK(json_is_real(tree_get(object, "spec.rate")));
    schema_unfill(filled);
    CHECK_STR(tree_text(filled, "spec.rate", ""), "0.05");
}

/* What an older definition lacks is filled in, listed, and removed again. */
static void test_filled(void) {
    AUTO(schema_freep) struct schema *schema = load();
    static const struct {
        const char *before, *after, *paths;
    } rows[] = {
        {"{\"maybe\":\"y\"}", NULL, NULL},
        {"{\"list\":[{\"is\":true}],\"map\":{\"a\":{\"q\":1}},\"maybe\":null}", NULL, NULL},
        {"{}", "{\"maybe\":\"x\"}", "[[\"spec\",\"maybe\"]]"},
        {"{\"list\":[{\"at\":1,\"is\":true},{\"at\":2}],\"map\":{\"a.b\":{}},\"maybe\":\"y\"}",
         "{\"list\":[{\"at\":1,\"is\":true},{\"at\":2,\"is\":false}],\"map\":{\"a.b\":{\"q\":7}},"
         "\"maybe\":\"y\"}",
         "[[\"spec\",\"list\",1,\"is\"],[\"spec\",\"map\",\"a.b\",\"q\"]]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *object = thing(rows[i].before);
        AUTO(tree_freep) json_t *filled = schema_filled(schema, object);
        AUTO(text_freep) char *kept = tree_canonical(json_object_get(object, "spec"));
        CHECK_STR(kept, rows[i].before);
        CHECK((filled != NULL) == (rows[i].after != NULL));
        if (!filled || !rows[i].after) {
            continue;
        }
        AUTO(text_freep) char *spec = tree_canonical(json_object_get(filled, "spec"));
        AUTO(text_freep) char *paths = tree_canonical(json_object_get(filled, SCHEMA_FILLED));
        CHECK_STR(spec, rows[i].after);
        CHECK_STR(paths, rows[i].paths);
        schema_unfill(filled);
        CHECK(json_equal(filled, object));
    }
}

/* A rule that we do not implement must be detected. */
static void test_unknown_keyword(void) {
    static const char *const lines[][2] = {
        {"          anyOf: []\n", "unsupported keyword anyOf"},
        {"          pattern: \"[\"\n", "not a pattern"},
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct error err = {0};
        struct schema *schema = NULL;
        AUTO(text_freep)
        char *text = x_printf("spec:\n  group: g\n  names: {kind: K}\n  versions:\n    - name: v1\n"
                              "      schema:\n        openAPIV3Schema:\n          type: object\n%s"
                              "          properties: {metadata: {type: object}}\n",
                              lines[i][0]);
        CHECK_INT(schema_parse(text, strlen(text), &schema, &err), -1);
        CHECK_INT(err.kind, ERROR_BUG);
        CHECK(strstr(err.text, lines[i][1]) != NULL);
    }
}

int main(void) {
    TEST(test_checks);
    TEST(test_metadata);
    TEST(test_defaults);
    TEST(test_decimal_of_server);
    TEST(test_filled);
    TEST(test_unknown_keyword);
    return TEST_END();
}
