// SPDX-License-Identifier: Apache-2.0
/* A file of any bytes: refused with a reason, or each row is one JSON object or has a fault; rows
 * that are read from the middle on are the same. */
#include "agent/data/parquet/row_reader.h"

#include "lib/digest.h"
#include "lib/text/jsontext.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS_MAX = 700, JSON_MAX = 1 << 20 };

struct bytes {
    const uint8_t *data;
    size_t size;
};

static int read_bytes(void *context, int64_t offset, void *data, size_t size, struct error *err) {
    const struct bytes *bytes = context;
    if (offset < 0 || (uint64_t)offset > bytes->size || size > bytes->size - (size_t)offset) {
        abort(); /* the reader asks only for what there is */
    }
    (void)err;
    memcpy(data, bytes->data + offset, size);
    return 0;
}

/* Reads the rows [first, ...), and adds each to *sums. */
static void read_rows(struct row_reader *reader, int64_t first, int64_t end, uint32_t *sums) {
    struct buffer json;
    buffer_init(&json, JSON_MAX);
    row_reader_start(reader, first, end);
    for (int64_t row = first;; row++) {
        const char *fault;
        struct error err = {0};
        buffer_clear(&json);
        int got = row_reader_next(reader, &json, &fault, &err);
        if (got == 0) {
            row == end ? (void)0 : abort();
            break;
        }
        if (row_reader_place(reader) != row || (got < 0 && err.kind != ERROR_EXHAUSTED) ||
            (got > 0 && !fault &&
             (!jsontext_is_value(json.data, json.size) || *json.data != '{'))) {
            abort();
        }
        sums[row] = digest_crc32c(0, json.data ? json.data : "", json.size);
    }
    buffer_release(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct bytes bytes = {data, size};
    struct parquet_source source = {
        .read = read_bytes, .context = &bytes, .size_bytes = (int64_t)size};
    struct parquet_file file;
    struct error err = {0};
    if (parquet_file_open(&source, &file, &err) < 0) {
        err.text[0] ? (void)0 : abort();
        return 0;
    }
    size_t columns[64], count = 0;
    for (size_t i = 0; i < file.schema.count && count < ARRAY_LEN(columns); i++) {
        if (!file.schema.columns[i].refusal) {
            columns[count++] = i;
        }
    }
    static uint32_t all[ROWS_MAX], some[ROWS_MAX];
    int64_t end = MIN(file.rows, (int64_t)ROWS_MAX), middle = size ? data[0] % (end + 1) : 0;
    struct row_reader *reader = row_reader_new(&file, columns, count);
    read_rows(reader, 0, end, all);
    read_rows(reader, middle, end, some);
    if (memcmp(all + middle, some + middle, (size_t)(end - middle) * sizeof *all) != 0) {
        abort();
    }
    row_reader_free(reader);
    parquet_file_release(&file);
    return 0;
}
