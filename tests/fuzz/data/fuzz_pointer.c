// SPDX-License-Identifier: Apache-2.0
/* A JSON pointer, up to the first NUL, then a row of any bytes: looking it up reads no wrong byte;
 * and to each value of the row the pointer that is spelled for it leads. */
#include "agent/score/feed/row_value.h"

#include "lib/buffer.h"

#include <stdlib.h>
#include <string.h>

enum { INPUT_MAX = 4000, POINTER_MAX = 16 << 10, DEPTH_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct walk {
    const json_t *row;
    struct buffer pointer;
    struct error err;
};

static void add(struct walk *walk, const char *text, size_t size) {
    if (buffer_append(&walk->pointer, text, size, &walk->err) < 0) {
        abort();
    }
}

static void add_part(struct walk *walk, const char *key) {
    add(walk, "/", 1);
    for (; *key; key++) {
        add(walk,
            *key == '~'   ? "~0"
            : *key == '/' ? "~1"
                          : key,
            *key == '~' || *key == '/' ? 2 : 1);
    }
}

static void check(struct walk *walk, const json_t *value, int depth);

static void check_part(struct walk *walk, const char *key, const json_t *value, int depth) {
    size_t before = walk->pointer.size;
    add_part(walk, key);
    check(walk, value, depth + 1);
    walk->pointer.size = before;
}

static void check(struct walk *walk, const json_t *value, int depth) {
    const char *key;
    const json_t *member;
    size_t i;
    add(walk, "", 1); /* its end */
    const char *pointer = walk->pointer.data;
    walk->pointer.size--;
    /* A member that is called like the pointer comes first. */
    if (depth > 0 && !json_object_get(walk->row, pointer) &&
        row_value(walk->row, pointer) != value) {
        abort();
    }
    if (depth == DEPTH_MAX) {
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, member) {
        check_part(walk, key, member, depth);
    }
    json_array_foreach(value, i, member) {
        char number[24];
        snprintf(number, sizeof number, "%zu", i);
        check_part(walk, number, member, depth);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    const char *end = size <= INPUT_MAX ? memchr(text, 0, size) : NULL;
    if (!end) {
        return 0;
    }
    size_t used = (size_t)(end - text) + 1;
    json_t *row = json_loadb(text + used, size - used, 0, NULL);
    if (json_is_object(row)) {
        struct walk walk = {.row = row};
        buffer_init(&walk.pointer, POINTER_MAX);
        (void)row_value(row, text);
        check(&walk, row, 0);
        buffer_release(&walk.pointer);
    }
    json_decref(row);
    return 0;
}
