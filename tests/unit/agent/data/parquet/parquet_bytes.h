/* parquet_bytes.h: a Parquet file in memory, and the files of tests/fuzz/corpus/parquet, which
 * three writers made of one table (tests/data/parquet/make.mjs). */
#pragma once

#include "agent/data/parquet/row_reader.h"
#include "lib/file.h"
#include "tests/test.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define PARQUET_FILES "tests/fuzz/corpus/parquet"
#define PARQUET_ROWS "tests/data/parquet/rows.jsonl"

struct parquet_bytes {
    char *data;
    size_t size;
};

static inline int parquet_bytes_read(void *context, int64_t offset, void *data, size_t size,
                                     struct error *err) {
    const struct parquet_bytes *bytes = context;
    if (offset < 0 || (size_t)offset > bytes->size || size > bytes->size - (size_t)offset) {
        return error_set(err, ERROR_BUG, "bytes outside the file");
    }
    memcpy(data, bytes->data + offset, size);
    return 0;
}

static inline struct parquet_source parquet_bytes_source(struct parquet_bytes *bytes) {
    return (struct parquet_source){parquet_bytes_read, bytes, (int64_t)bytes->size};
}

/* Calls `each` for every file; their number. */
static inline int parquet_bytes_each(void (*each)(const char *name, struct parquet_bytes *bytes)) {
    struct dirent **names = NULL;
    int count = scandir(PARQUET_FILES, &names, NULL, alphasort), files = 0;
    for (int i = 0; i < count; i++) {
        if (names[i]->d_name[0] != '.') {
            struct parquet_bytes bytes = {0};
            struct error err = {0};
            char *path = x_printf(PARQUET_FILES "/%s", names[i]->d_name);
            CHECK_OK(file_read(path, 1 << 20, &bytes.data, &bytes.size, &err), &err);
            each(names[i]->d_name, &bytes);
            files++;
            free(bytes.data);
            free(path);
        }
        free(names[i]);
    }
    free(names);
    return files;
}
