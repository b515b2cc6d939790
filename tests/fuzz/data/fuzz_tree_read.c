// SPDX-License-Identifier: Apache-2.0
/* JSON that an API server sends: tree_load and jansson make the same tree, or both refuse the text
 * with the same words. Integers of more than 64 bits, which only jansson refuses, are not compared.
 */
#include "lib/tree_read.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In the order of the text: writers keep it. */
static char *dump(const json_t *tree) {
    return json_dumps(tree, JSON_COMPACT | JSON_ALLOW_NUL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_error_t problem = {0}, expected_problem = {0};
    /* A block of its own size: a byte that is read behind it is found. */
    char *text = malloc(size ? size : 1);
    if (!text) {
        abort();
    }
    memcpy(text, data, size);
    json_t *tree = tree_load(text, size, &problem);
    json_t *expected = json_loadb(text, size, JSON_ALLOW_NUL, &expected_problem);
    if (!expected && strstr(expected_problem.text, "too big")) {
        json_decref(tree);
        free(text);
        return 0;
    }
    if (!tree != !expected || (tree && !json_equal(tree, expected))) {
        abort();
    }
    if (tree) {
        char *one = dump(tree), *other = dump(expected);
        if (strcmp(one, other) != 0) {
            abort();
        }
        free(one);
        free(other);
    } else if (strcmp(problem.text, expected_problem.text) != 0) {
        abort();
    }
    json_decref(tree);
    json_decref(expected);
    free(text);
    return 0;
}
