/* parse_json.h: JSON in a test's source, with ' for "; an error in it fails the test. */
#pragma once

#include "lib/tree.h"
#include "tests/test.h"

/* The caller owns the result. */
static inline json_t *parse(const char *text) {
    AUTO(text_freep) char *json = x_strdup(text);
    for (char *at = json; *at; at++) {
        *at = *at == '\'' ? '"' : *at;
    }
    json_t *tree = json_loads(json, 0, NULL);
    CHECK(tree != NULL);
    return tree;
}
