// SPDX-License-Identifier: Apache-2.0
/* parquet_scan FILE COLUMN...: decodes all values of these columns, adds them up (of texts their
 * lengths), and prints the sums; packed pages as workers do, in a process of their own. For
 * parquet.sh. */
#include "agent/data/decoder/decoder.h"
#include "agent/data/decoder/decoder_child.h"
#include "agent/data/parquet/column_reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_bytes(void *context, int64_t offset, void *data, size_t size, struct error *err) {
    const int *file = context;
    return pread(*file, data, size, offset) == (ssize_t)size
               ? 0
               : error_set(err, ERROR_UNAVAILABLE, "a short read");
}

static double add_up(const struct parquet_leaf *leaf, const struct column_window *window) {
    const struct parquet_value_bytes *bytes = window->values;
    double sum = 0;
    for (size_t i = 0; i < window->present; i++) {
        sum += leaf->type == PARQUET_DOUBLE  ? ((const double *)window->values)[i]
               : leaf->type == PARQUET_FLOAT ? (double)((const float *)window->values)[i]
               : leaf->type == PARQUET_INT64 ? (double)((const int64_t *)window->values)[i]
               : leaf->type == PARQUET_INT32 ? (double)((const int32_t *)window->values)[i]
                                             : (double)bytes[i].size;
    }
    return sum;
}

static int scan(const struct parquet_file *file, const char *name, struct error *err) {
    size_t place = parquet_file_find(file, name);
    if (place == SIZE_MAX) {
        return error_set(err, ERROR_INVALID, "no column %s", name);
    }
    const struct parquet_leaf *leaf = &file->schema.columns[place];
    struct column_memory memory = {0};
    struct column_reader *reader =
        column_reader_new(&file->source, leaf, PARQUET_PAGES_READ, &memory);
    double sum = 0;
    int result = 0;
    for (size_t i = 0; i < file->group_count && result == 0; i++) {
        const struct column_window *window;
        int64_t left = file->groups[i].rows;
        column_reader_start(reader, &file->groups[i].chunks[leaf->leaf], left);
        while (left > 0 && (result = column_reader_next(reader, &window, err)) == 0) {
            sum += add_up(leaf, window);
            left -= (int64_t)window->rows;
        }
    }
    column_reader_free(reader);
    printf("%s %.6g\n", name, sum);
    return result;
}

int main(int count, char **arguments) {
    struct stat status;
    struct error err = {0};
    struct parquet_file parquet = {0};
    if (count == 2 && strcmp(arguments[1], "decoder") == 0) {
        return decoder_child_pictures(count, arguments);
    }
    int file = count > 1 ? open(arguments[1], O_RDONLY | O_CLOEXEC) : -1;
    int result = file < 0 || fstat(file, &status) < 0 ? -1 : decoder_choose("/proc/self/exe", &err);
    if (result == 0) {
        const struct parquet_source source = {read_bytes, &file, status.st_size};
        result = parquet_file_open(&source, &parquet, &err);
    }
    for (int i = 2; i < count && result == 0; i++) {
        result = scan(&parquet, arguments[i], &err);
    }
    if (result < 0) {
        fprintf(stderr, "parquet_scan: %s\n", err.text);
    }
    parquet_file_release(&parquet);
    return result < 0 ? 3 : 0;
}
