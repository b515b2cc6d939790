// SPDX-License-Identifier: Apache-2.0
/* Two rows, any JSON values on a line each: their keys by columns a and b are JSON again, and none
 * is the beginning of the other one unless they are equal. */
#include "agent/data/table/row_key.h"

#include "lib/text/jsontext.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void make(const struct row_key_columns *columns, const char *row, size_t size,
                 struct buffer *key) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, 1 << 20);
    if (row_key_make(columns, row, size, key, &err) < 0 ||
        row_key_write(&text, key->data, key->size, &err) < 0 ||
        !jsontext_is_value(text.data, text.size)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *rows = (const char *)data, *newline = size ? memchr(rows, '\n', size) : NULL;
    struct error err = {0};
    struct row_key_columns columns = {0};
    struct buffer a, b;
    if (!newline || size > 4000) {
        return 0;
    }
    size_t first = (size_t)(newline - rows), rest = size - first - 1;
    if (!jsontext_is_value(rows, first) || !jsontext_is_value(newline + 1, rest)) {
        return 0;
    }
    buffer_init(&a, 1 << 20);
    buffer_init(&b, 1 << 20);
    if (row_key_column(&columns, "a", &err) < 0 || row_key_column(&columns, "b\"", &err) < 0) {
        abort();
    }
    make(&columns, rows, first, &a);
    make(&columns, newline + 1, rest, &b);
    size_t shorter = MIN(a.size, b.size);
    if (a.size != b.size && memcmp(a.data, b.data, shorter) == 0) {
        abort();
    }
    buffer_release(&a);
    buffer_release(&b);
    row_key_columns_release(&columns);
    return 0;
}
