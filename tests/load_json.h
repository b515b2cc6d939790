/* load_json.h: a file of test data, owned by the caller; an error in it fails the test. */
#pragma once

#include "lib/file.h"
#include "lib/tree.h"
#include "tests/test.h"

static inline json_t *load_json(const char *folder, const char *name) {
    struct error err = {0};
    AUTO(text_freep) char *path = file_join(folder, name);
    AUTO(text_freep) char *text = NULL;
    size_t size;
    json_t *tree = NULL;
    CHECK_OK(file_read(path, 1 << 20, &text, &size, &err), &err);
    CHECK_OK(tree_parse(text, size, 1 << 20, &tree, &err), &err);
    return tree;
}
