// SPDX-License-Identifier: Apache-2.0
#include "agent/data/table/keys.h"

#include "agent/data/source/sorter.h"
#include "agent/data/table/row_key.h"
#include "agent/data/table/table_rows.h"
#include "lib/digest.h"
#include "lib/text/jsontext.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A sort key: the row's key, then its file's number, first byte and end, big-endian. */
enum {
    PLACE_BYTES = 4 + 8 + 8,
    ROW_JSON_MAX = 64 << 20,
};
static_assert(KEYS_KEY_MAX + PLACE_BYTES <= SORTER_KEY_MAX, "a key and its place fit");

struct file {
    char *name, *token;
};

struct pass {
    const struct input_listing *listing;
    const struct source *source;
    struct table_format format;
    struct row_key_columns columns;
    struct table_columns seen;
    struct sorter *sorter;
    struct file *files;
    size_t file_count, room;
    /* the file that is being read */
    struct table_file file;
    struct table_rows rows;
    struct buffer json, key, last; /* json, key: of the row; last: of the range that is not added
                                      yet */
    int64_t first, place;          /* start of that range; its last row */
    /* the lines */
    struct buffer at, text;
    size_t at_file; /* the file that `at` is in; SIZE_MAX: none */
    int64_t lines;
    input_line *line;
    void *context;
};

/* ---- ranges --------------------------------------------------------------------------------- */

static void put_number(char *bytes, int count, int64_t number) {
    for (int i = 0; i < count; i++) {
        bytes[i] = (char)((uint64_t)number >> (8 * (count - 1 - i)));
    }
}

static int64_t take_number(const char *bytes, int count) {
    uint64_t number = 0;
    for (int i = 0; i < count; i++) {
        number = number << 8 | (unsigned char)bytes[i];
    }
    return (int64_t)number;
}

/* Adds the range that ends here, if there is one. */
static int add_range(struct pass *pass, int64_t end, struct error *err) {
    char place[PLACE_BYTES];
    if (pass->last.size == 0) {
        return 0;
    }
    put_number(place, 4, (int64_t)pass->file_count - 1);
    put_number(place + 4, 8, pass->first);
    put_number(place + 12, 8, end);
    int result = buffer_append(&pass->last, place, sizeof place, err) < 0 ||
                         sorter_add(pass->sorter, pass->last.data, pass->last.size, err) < 0
                     ? -1
                     : 0;
    buffer_clear(&pass->last);
    return result;
}

static int too_long(const struct pass *pass, const char *what, struct error *err) {
    error_clear(err);
    return error_set(err, ERROR_INVALID, "%s/%s: the row %s %lld %s",
                     store_path(pass->source->store), pass->file.name,
                     pass->file.parquet ? "of number" : "at byte", (long long)pass->place, what);
}

/* A row begins at this byte, or the file ends: ends the row before. */
static int end_row(struct pass *pass, int64_t end, struct error *err) {
    return !pass->file.parquet && pass->format.split == SPLIT_CSV && pass->last.size > 0 &&
                   end - pass->place > ROW_BYTES_MAX
               ? too_long(pass, "is longer than 64 MiB; is a quote not closed?", err)
               : 0;
}

static int add_row(struct pass *pass, bool is_fault, struct error *err) {
    int64_t place = table_rows_place(&pass->rows);
    struct error full = {0};
    if (end_row(pass, place, err) < 0) {
        return -1;
    }
    pass->place = place;
    if (row_key_make(&pass->columns, is_fault ? NULL : pass->json.data, pass->json.size, &pass->key,
                     &full) < 0) {
        return too_long(pass, "has a key (spec.input.table.partitionKeys) of more than 8 KiB", err);
    }
    if (pass->last.size == pass->key.size &&
        memcmp(pass->last.data, pass->key.data, pass->key.size) == 0) {
        return 0;
    }
    if (add_range(pass, place, err) < 0) {
        return -1;
    }
    pass->first = place;
    return buffer_append(&pass->last, pass->key.data, pass->key.size, err);
}

static int read_rows(struct pass *pass, struct error *err) {
    int64_t end = pass->file.end;
    table_rows_start(&pass->rows, pass->source->store, &pass->file, pass->file.first, end);
    for (;;) {
        const char *fault = NULL;
        int got = table_rows_next(&pass->rows, &pass->json, &fault, err);
        if (got < 0 || (got > 0 && add_row(pass, fault != NULL, err) < 0)) {
            return -1;
        }
        if (got == 0) {
            return end_row(pass, end, err) < 0 ? -1 : add_range(pass, end, err);
        }
    }
}

static int check_columns(struct pass *pass, struct error *err) {
    if (table_file_check_columns(&pass->seen, pass->source->store, &pass->file, err) < 0) {
        return -1;
    }
    if (pass->file.parquet) { /* which has been opened with these columns */
        return 0;
    }
    const char *columns = row_parser_columns(pass->file.rows);
    AUTO(tree_freep) json_t *names = json_loads(columns, JSON_ALLOW_NUL, NULL);
    for (size_t i = 0; names && i < pass->columns.count; i++) {
        bool is_there = false;
        size_t k;
        json_t *name;
        AUTO(tree_freep)
        json_t *wanted = json_loads(pass->columns.names[i], JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        json_array_foreach(names, k, name) {
            is_there = is_there || json_equal(name, wanted);
        }
        if (!is_there) {
            return error_set(err, ERROR_INVALID,
                             "%s/%s: has no column %s (spec.input.table.partitionKeys), but %.200s",
                             store_path(pass->source->store), pass->file.name,
                             pass->columns.names[i], columns);
        }
    }
    return 0;
}

static int on_file(void *context, const char *name, struct error *err) {
    struct pass *pass = context;
    if (pass->file_count == KEYS_FILES_MAX) {
        return error_set(err, ERROR_INVALID,
                         "%s: with spec.input.table.partitionKeys at most %d files are read",
                         store_path(pass->source->store), KEYS_FILES_MAX);
    }
    if (table_file_open(pass->source->store, name, pass->format, NULL, &pass->file, err) < 0 ||
        check_columns(pass, err) < 0) {
        return -1;
    }
    if (pass->file_count == pass->room) {
        pass->room = MAX(2 * pass->room, 64);
        pass->files = x_realloc_array(pass->files, pass->room, sizeof *pass->files);
    }
    pass->files[pass->file_count++] =
        (struct file){x_strdup(name), x_strdup(pass->file.info.token)};
    return read_rows(pass, err);
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* Stores the ranges as an object: every coordinator writes the same bytes. */
static int store_ranges(struct pass *pass, struct error *err) {
    AUTO(text_freep)
    char *name = x_printf("%s%08lld", pass->listing->kept_name, (long long)pass->lines);
    struct store *store = pass->listing->scratch; /* the output */
    struct error cause = {0};
    if (store_put(store, name, pass->at.data, pass->at.size, STORE_CREATE, &cause) < 0) {
        AUTO(buffer_release) struct buffer known;
        buffer_init(&known, KEYS_AT_MAX + 1);
        if (cause.kind != ERROR_CONFLICT || store_get(store, name, &known, NULL, err) < 0) {
            *err = cause.kind == ERROR_CONFLICT ? *err : cause;
            return -1;
        }
        if (known.size != pass->at.size || memcmp(known.data, pass->at.data, known.size) != 0) {
            return error_set(err, ERROR_INVALID,
                             "%s: has changed since this run began to list it: choose another "
                             "output or, if none of its pods runs, delete %s/.windlass (windlass "
                             "run --restart does)",
                             tree_text(pass->listing->spec, "input.table.path", ""),
                             store_path(store));
        }
    }
    return buffer_printf(&pass->text, err, ",\"list\":\"%s\",\"crc\":\"%08x\"}", name,
                         digest_crc32c(0, pass->at.data, pass->at.size));
}

static int too_many(struct error *err) {
    return error_set(err, ERROR_INVALID,
                     "spec.input.table.partitionKeys: a key has ranges of more than %d MiB: sort "
                     "the table by these columns",
                     KEYS_AT_MAX >> 20);
}

/* Adds the line of the key in pass->last, whose ranges are complete. */
static int add_line(struct pass *pass, struct error *err) {
    if (pass->last.size == 0) {
        return 0;
    }
    struct error full = {0};
    if (buffer_append(&pass->at, "]]", 2, &full) < 0) {
        return too_many(err);
    }
    buffer_clear(&pass->text);
    if (buffer_printf(&pass->text, err, "{\"key\":") < 0 ||
        row_key_write(&pass->text, pass->last.data, pass->last.size, err) < 0) {
        return -1;
    }
    bool is_short = pass->text.size + pass->at.size + sizeof ",\"at\":}" <= INPUT_LINE_MAX;
    int result = is_short ? buffer_printf(&pass->text, err, ",\"at\":%s}", pass->at.data)
                          : store_ranges(pass, err);
    pass->lines++;
    buffer_clear(&pass->last);
    buffer_clear(&pass->at);
    pass->at_file = SIZE_MAX;
    return result < 0 ? -1 : pass->line(pass->context, pass->text.data, pass->text.size, NULL, err);
}

static int on_sorted(void *context, const char *sorted, size_t size, struct error *err) {
    struct pass *pass = context;
    size_t key_size = size - PLACE_BYTES;
    const char *place = sorted + key_size;
    size_t file = (size_t)take_number(place, 4);
    bool is_same = pass->last.size == key_size && memcmp(pass->last.data, sorted, key_size) == 0;
    if (!is_same &&
        (add_line(pass, err) < 0 || buffer_append(&pass->last, sorted, key_size, err) < 0)) {
        return -1;
    }
    struct error full = {0};
    const struct file *of = &pass->files[file];
    int result = 0;
    if (pass->at_file != file) {
        result = buffer_printf(&pass->at, &full, "%s\"", pass->at.size ? "],[" : "[[") < 0 ||
                         jsontext_escape(&pass->at, of->name, strlen(of->name), &full) < 0 ||
                         buffer_printf(&pass->at, &full, "\",\"%s\"", of->token) < 0
                     ? -1
                     : 0;
        pass->at_file = file;
    }
    if (result == 0) {
        result = buffer_printf(&pass->at, &full, ",%lld,%lld", (long long)take_number(place + 4, 8),
                               (long long)take_number(place + 12, 8));
    }
    return result < 0 ? too_many(err) : 0;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int read_columns(struct pass *pass, struct error *err) {
    const json_t *names = tree_get(pass->listing->spec, "input.table.partitionKeys");
    size_t i;
    json_t *name;
    json_array_foreach(names, i, name) {
        const char *column = json_string_value(name);
        struct error cause = {0};
        if (!column || row_key_column(&pass->columns, column, &cause) < 0) {
            return error_set(err, ERROR_INVALID, "spec.input.table.partitionKeys: %s",
                             column ? cause.text : "names are expected");
        }
    }
    return 0;
}

static int run_pass(struct pass *pass, struct error *err) {
    const char *pattern = tree_text(pass->listing->spec, "input.table.pattern", "");
    if (read_columns(pass, err) < 0 ||
        source_list(pass->source, pattern, NULL, on_file, pass, err) < 0 ||
        sorter_run(pass->sorter, on_sorted, pass, err) < 0 || add_line(pass, err) < 0) {
        return -1;
    }
    return pass->lines ? 0 : error_set(err, ERROR_INVALID, "there are no rows");
}

int keys_list(const struct input_listing *listing, const struct source *source, input_line *line,
              void *context, struct error *err) {
    struct pass pass = {
        .listing = listing,
        .source = source,
        .format = table_file_format(listing->spec),
        .sorter = sorter_new(listing->scratch, listing->scratch_name, /* run_bytes= */ 0),
        .at_file = SIZE_MAX,
        .line = line,
        .context = context,
    };
    pass.format.columns = tree_get(listing->spec, "input.table.partitionKeys");
    buffer_init(&pass.json, ROW_JSON_MAX);
    buffer_init(&pass.key, KEYS_KEY_MAX);
    buffer_init(&pass.last, SORTER_KEY_MAX);
    buffer_init(&pass.at, KEYS_AT_MAX);
    buffer_init(&pass.text, INPUT_LINE_MAX);
    int result = run_pass(&pass, err);
    sorter_free(pass.sorter);
    for (size_t i = 0; i < pass.file_count; i++) {
        free(pass.files[i].name);
        free(pass.files[i].token);
    }
    row_key_columns_release(&pass.columns);
    free(pass.files);
    table_rows_release(&pass.rows);
    table_file_release(&pass.file);
    table_file_columns_release(&pass.seen);
    buffer_release(&pass.json);
    buffer_release(&pass.key);
    buffer_release(&pass.last);
    buffer_release(&pass.at);
    buffer_release(&pass.text);
    return result;
}
