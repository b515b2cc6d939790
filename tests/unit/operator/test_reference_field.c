// SPDX-License-Identifier: Apache-2.0
#include "operator/reference.h"

#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

static const char crd[] =
    "spec:\n"
    "  group: test.dev\n"
    "  names: {kind: Thing}\n"
    "  versions:\n"
    "    - name: v1\n"
    "      schema:\n"
    "        openAPIV3Schema:\n"
    "          type: object\n"
    "          description: A thing.\n"
    "          properties:\n"
    "            apiVersion: {type: string}\n"
    "            kind: {type: string}\n"
    "            metadata: {type: object}\n"
    "            spec:\n"
    "              type: object\n"
    "              required: [parts]\n"
    "              properties:\n"
    "                color: {type: string, enum: [Red, Blue], default: Red}\n"
    "                parts: {type: array, maxItems: 3, description: What it is made of.,\n"
    "                        items: {type: object, required: [name], properties: {\n"
    "                        name: {type: string, maxLength: 9, description: Its name.},\n"
    "                        size: {type: integer, minimum: 1, maximum: 5, default: 2}}}}\n"
    "                map: {type: object, additionalProperties:\n"
    "                      {type: object, properties: {depth: {type: integer}}}}\n";

static const char parts_text[] = "Thing spec.parts (list, at most 3 entries; required)\n"
                                 "  What it is made of.\n"
                                 "\n"
                                 "  name (string, at most 9 characters; required)\n"
                                 "      Its name.\n"
                                 "\n"
                                 "  size (whole number, 1 to 5; default 2)\n";

static void check(const char *path, const char *text, int depth) {
    struct error err = {0};
    AUTO(schema_freep) struct schema *schema = NULL;
    AUTO(text_freep) char *got = NULL;
    int found;
    CHECK_OK(schema_parse(crd, strlen(crd), &schema, &err), &err);
    int result = reference_field(schema, path, &got, &found, &err);
    CHECK_INT(result, depth >= 0 ? 0 : -1);
    CHECK_STR(result == 0 ? got : err.text, text);
    if (depth >= 0) {
        CHECK_INT(found, depth);
    }
}

/* `spec` and "[]" may be left out; lists and maps have the fields of their entries. */
static void test_found(void) {
    check("spec.parts", parts_text, 2);
    check("parts", parts_text, 2);
    check("parts[]", parts_text, 2);
    check("spec.parts[0].name",
          "Thing spec.parts.name (string, at most 9 characters; required)\n"
          "  Its name.\n",
          3);
    check("color", "Thing spec.color (Red, Blue; default \"Red\")\n", 2);
    check("map.depth", "Thing spec.map.depth (whole number)\n", 3);
}

static void test_unknown(void) {
    check("spec.parts.nane", "Thing: spec.parts.nane: unknown field, did you mean name?", -1);
    check("colour", "Thing: spec.colour: unknown field, did you mean color?", -1);
    check("spec.color.x", "Thing: spec.color.x: unknown field; spec.color has no fields", -1);
    check("..", "Thing: spec.: unknown field; spec has: color, parts, map", -1);
}

int main(void) {
    TEST(test_found);
    TEST(test_unknown);
    return TEST_END();
}
