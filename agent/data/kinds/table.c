// SPDX-License-Identifier: Apache-2.0
#include "agent/data/kinds/table.h"

#include "agent/data/table/keys.h"
#include "agent/data/table/splitter.h"
#include "agent/data/table/table_rows.h"

#include "lib/text/jsontext.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_BYTES = 1 << 20,     /* if the spec has no size */
    SMALL_BYTES = 64 << 10,    /* if sizes are auto: a lease has many blocks ... */
    TEXTS_BYTES = 16 << 10,    /* ... of texts, which take a network longer than other rows */
    LOOK_BYTES = 64 << 10,     /* read around a target, in formats without quotes */
    JSON_KEPT = 1 << 20,       /* room for a row that the next one finds */
    JSON_BYTES_MAX = 64 << 20, /* maximum of a row as JSON: a program's limit for a whole
                                  mini-batch */
};

/* ---- listing -------------------------------------------------------------------------------- */

struct walk {
    struct source source;
    struct table_format format;
    int64_t block_bytes;
    struct table_columns columns;
    struct table_file file; /* the file that is being cut */
    char *chunk;
    struct split_chunk scanned;
    struct buffer text;
    int64_t lines;
    input_line *line;
    void *context;
};

static int on_block(void *context, int64_t first, int64_t end, struct error *err) {
    struct walk *walk = context;
    struct table_block block = {
        .name = walk->file.name, .token = walk->file.info.token, .first = first, .end = end};
    if (table_file_block_write(&block, &walk->text, err) < 0) {
        return -1;
    }
    walk->lines++;
    return walk->line(walk->context, walk->text.data, walk->text.size, walk->text.data, err);
}

static int read_chunk(struct walk *walk, struct splitter *splitter, int64_t at, struct error *err) {
    int64_t size_bytes = walk->file.info.size_bytes;
    int64_t most = walk->format.split == SPLIT_CSV ? SPLIT_CHUNK_MAX : LOOK_BYTES;
    size_t size = (size_t)MIN(size_bytes - at, most);
    if (table_file_read(walk->source.store, &walk->file, at, walk->chunk, size, err) < 0) {
        return -1;
    }
    split_scan(walk->format.split, walk->chunk, size, at, walk->block_bytes, &walk->scanned);
    return splitter_add(splitter, &walk->scanned, on_block, walk, err);
}

/* ... of a Parquet file, from this row on. */
static int cut_parquet(struct walk *walk, int64_t from, struct error *err) {
    while (from < walk->file.end) {
        struct error cause = {0};
        int64_t end = from;
        if (table_parquet_cut(walk->file.parquet, from, walk->block_bytes, &end, &cause) < 0) {
            *err = cause;
            return cause.kind == ERROR_INVALID /* others begin with the path */
                       ? error_context(err, "%s/%s", store_path(walk->source.store),
                                       walk->file.name)
                       : -1;
        }
        if (on_block(walk, from, end, err) < 0) {
            return -1;
        }
        from = end;
    }
    return 0;
}

/* ---- a row a block -------------------------------------------------------------------------- */

/* Rows of a file are cut where they end; empty lines (not rows) are part of the next
 * block. */
struct row_cut {
    int64_t first, at; /* of the block; everything before `at` was looked at */
    enum split_state state;
    bool has_row; /* since `first` there is more than empty lines */
};

/* As row_parser.h has it: of JSON Lines also spaces. */
static bool is_blank(enum split_format format, const char *data, size_t size) {
    size -= size > 0 && data[size - 1] == '\n';
    size -= size > 0 && data[size - 1] == '\r';
    return format == SPLIT_LINES ? jsontext_space(data, data + size) == data + size : size == 0;
}

/* Adds the rows that end in these bytes, which begin at cut->at. */
static int cut_chunk(struct walk *walk, struct row_cut *cut, const char *data, size_t size,
                     struct error *err) {
    enum split_format format = walk->format.split;
    for (size_t done = 0; done < size;) {
        size_t end = split_row_end(format, &cut->state, data + done, size - done);
        size_t step = end > 0 ? end : size - done;
        cut->has_row = cut->has_row || !is_blank(format, data + done, step);
        done += step;
        if (end == 0 || !cut->has_row) {
            continue;
        }
        int64_t at = cut->at + (int64_t)done;
        if (on_block(walk, cut->first, at, err) < 0) {
            return -1;
        }
        cut->first = at;
        cut->has_row = false;
    }
    cut->at += (int64_t)size;
    return 0;
}

static int cut_rows(struct walk *walk, int64_t from, struct error *err) {
    struct row_cut cut = {.first = from, .at = from, .state = SPLIT_FIELD};
    int64_t size_bytes = walk->file.info.size_bytes;
    while (cut.at < size_bytes) {
        size_t size = (size_t)MIN(size_bytes - cut.at, (int64_t)SPLIT_CHUNK_MAX);
        if (table_file_read(walk->source.store, &walk->file, cut.at, walk->chunk, size, err) < 0 ||
            cut_chunk(walk, &cut, walk->chunk, size, err) < 0) {
            return -1;
        }
    }
    return cut.has_row ? on_block(walk, cut.first, size_bytes, err) : 0;
}

/* Adds the blocks of the open file from this byte on, which is the start of a row. */
static int cut_file(struct walk *walk, int64_t from, struct error *err) {
    if (walk->file.parquet) {
        return cut_parquet(walk, from, err);
    }
    if (walk->block_bytes == 0) {
        return cut_rows(walk, from, err);
    }
    AUTO(text_freep)
    char *path = x_printf("%s/%s", store_path(walk->source.store), walk->file.name);
    struct splitter_options options = {.format = walk->format.split,
                                       .first = from,
                                       .block_bytes = walk->block_bytes,
                                       .row_bytes_max = ROW_BYTES_MAX,
                                       .name = path};
    AUTO(splitter_freep) struct splitter *splitter = splitter_new(&options);
    int64_t size_bytes = walk->file.info.size_bytes;
    for (int64_t at; (at = splitter_next(splitter)) < size_bytes;) {
        if (read_chunk(walk, splitter, at, err) < 0) {
            return -1;
        }
    }
    return splitter_end(splitter, size_bytes, on_block, walk, err);
}

static int on_file(void *context, const char *name, struct error *err) {
    struct walk *walk = context;
    if (table_file_open(walk->source.store, name, walk->format, NULL, &walk->file, err) < 0 ||
        table_file_check_columns(&walk->columns, walk->source.store, &walk->file, err) < 0) {
        return -1;
    }
    return cut_file(walk, walk->file.first, err);
}

/* Continues with the rest of the file of the cursor's block; the file must be unchanged. */
static int go_on(struct walk *walk, const struct table_block *last, struct error *err) {
    if (table_file_open(walk->source.store, last->name, walk->format, last->token, &walk->file,
                        err) < 0 ||
        table_file_check_columns(&walk->columns, walk->source.store, &walk->file, err) < 0) {
        return -1;
    }
    return cut_file(walk, MAX(last->end, walk->file.first), err);
}

static int walk_files(struct walk *walk, const struct input_listing *listing, struct error *err) {
    const char *pattern = tree_text(listing->spec, "input.table.pattern", "");
    const char *after = listing->after;
    AUTO(tree_freep) json_t *cursor = NULL;
    struct table_block last = {0};
    if (after) {
        struct error ignored = {0};
        if (tree_parse(after, strlen(after), INPUT_LINE_MAX, &cursor, &ignored) < 0 ||
            !table_file_block_read(cursor, &last)) {
            return error_set(err, ERROR_INVALID, "\"%s\" is not a position in the input", after);
        }
        if (go_on(walk, &last, err) < 0) {
            return -1;
        }
    }
    if (source_list(&walk->source, pattern, last.name, on_file, walk, err) < 0) {
        return -1;
    }
    if (!walk->lines && !after && listing->query) {
        return error_set(err, ERROR_INVALID, "the query returned no rows");
    }
    return walk->lines || after
               ? 0
               : error_set(err, ERROR_INVALID,
                           "%s: no file in it matches spec.input.table.pattern \"%s\" and has rows",
                           tree_text(listing->spec, "input.table.path", ""), pattern);
}

/* True if the spec has partitionKeys. */
static bool has_keys(const json_t *spec) {
    return json_array_size(tree_get(spec, "input.table.partitionKeys")) > 0;
}

#define QUERY_FIELD "spec.input.table.query"
#define QUERY_FILE "rows.parquet"

/* The rows of a query are an object of the output. */
static int open_query(const struct input_listing *listing, struct source *ret_source,
                      struct error *err) {
    char *name = x_printf("%s" QUERY_FILE, listing->kept_name);
    *ret_source = (struct source){.store = listing->scratch, .file = name}; /* borrowed */
    return listing->query->make(listing->query->context, listing->scratch, name, err);
}

static int open_input(const struct input_listing *listing, struct source *ret_source,
                      struct error *err) {
    return listing->query
               ? open_query(listing, ret_source, err)
               : source_open(tree_text(listing->spec, "input.table.path", ""), ret_source, err);
}

static void close_input(const struct input_listing *listing, struct source *source) {
    source->store = listing->query ? NULL : source->store;
    source_release(source);
}

static int table_list(const struct input_listing *listing, input_line *line, void *context,
                      struct error *err) {
    bool is_auto = strcmp(tree_text(listing->spec, "miniBatchSize", ""), "auto") == 0;
    int64_t small_bytes =
        tree_get(listing->spec, "scorer.onnx.tokenizer") ? TEXTS_BYTES : SMALL_BYTES;
    int64_t block_bytes =
        tree_integer(listing->spec, "miniBatchBytes", is_auto ? small_bytes : BLOCK_BYTES);
    struct walk walk = {
        .format = table_file_format(listing->spec),
        .block_bytes = block_bytes == 0 ? 0 : MAX(block_bytes, (int64_t)SPLIT_BLOCK_MIN),
        .chunk = x_malloc(SPLIT_CHUNK_MAX),
        .line = line,
        .context = context,
    };
    struct error cause = {0};
    int result = -1;
    buffer_init(&walk.text, INPUT_LINE_MAX);
    if (listing->query && listing->checks_only) {
        result = listing->query->make(listing->query->context, NULL, NULL, &cause) < 0
                     ? -1
                     : line(context, "", 0, NULL, &cause);
    } else if (open_input(listing, &walk.source, &cause) == 0) {
        walk.source.leave = listing->left_out ? source_leave_count : NULL;
        walk.source.leave_context = listing->left_out;
        result = has_keys(listing->spec) ? keys_list(listing, &walk.source, line, context, &cause)
                                         : walk_files(&walk, listing, &cause);
    }
    close_input(listing, &walk.source);
    table_file_release(&walk.file);
    buffer_release(&walk.text);
    free(walk.chunk);
    table_file_columns_release(&walk.columns);
    if (result < 0) {
        *err = cause;
        /* A listing that continues behind it would have lines of two contents. */
        err->kind = cause.kind == ERROR_CONFLICT ? ERROR_INVALID : cause.kind;
        error_context(err, listing->query ? QUERY_FIELD : "spec.input.table.path");
    }
    return result;
}

/* ---- reading -------------------------------------------------------------------------------- */

struct input_reader {
    struct source source;
    bool is_query; /* then the source is the output, which has the rows */
    struct table_format format;
    struct table_file file; /* of the last block; stays open for the next one */
    bool has_keys;
    char *output;              /* has the long lists of ranges */
    const json_t *lines;       /* borrowed */
    size_t line;               /* the next one */
    struct keys_ranges ranges; /* of the last line, if there are keys */
    bool is_begun;             /* a block has begun ... */
    struct table_rows rows;    /* ... of which these are the rows */
    struct buffer json;
    char name[STORE_NAME_MAX + 32]; /* of the item */
    struct error fault;             /* of the item */
};

static const char *reader_field(const struct input_reader *reader) {
    return reader->is_query ? QUERY_FIELD : "spec.input.table.path";
}

static enum item_type table_item(const json_t *spec UNUSED) {
    return ITEM_JSON;
}

static void table_reader_free(struct input_reader *reader) {
    if (reader) {
        source_release(&reader->source);
        table_file_release(&reader->file);
        keys_ranges_release(&reader->ranges);
        free(reader->output);
        buffer_release(&reader->json);
        table_rows_release(&reader->rows);
        free(reader);
    }
}

static bool are_blocks(const json_t *lines, bool has_keys) {
    size_t i;
    json_t *line;
    struct table_block block;
    bool is_sound = json_is_array(lines);
    json_array_foreach(lines, i, line) {
        is_sound =
            is_sound && (has_keys ? keys_is_line(line) : table_file_block_read(line, &block));
    }
    return is_sound;
}

static int table_reader_open(const json_t *spec, const json_t *lines, struct input_reader **reader,
                             struct error *err) {
    struct input_reader *it = TAKE(*reader);
    if (!are_blocks(lines, has_keys(spec))) {
        table_reader_free(it);
        return error_set(err, ERROR_INVALID, "the lease does not name blocks of a table");
    }
    if (!it) {
        it = x_calloc(1, sizeof *it);
        it->format = table_file_format(spec);
        it->has_keys = has_keys(spec);
        it->output = x_strdup(tree_text(spec, "output.path", ""));
        buffer_init(&it->json, JSON_BYTES_MAX);
        it->is_query = tree_get(spec, "input.table.query") != NULL;
        if (it->is_query
                ? store_open(it->output, /* writes= */ false, &it->source.store, err) < 0
                : source_open(tree_text(spec, "input.table.path", ""), &it->source, err) < 0) {
            const char *field = reader_field(it);
            table_reader_free(it);
            return error_context(err, "%s", field);
        }
    }
    keys_ranges_release(&it->ranges);
    it->lines = lines;
    it->line = 0;
    it->is_begun = false;
    *reader = it;
    return 0;
}

/* 1; 0: no more; -1. */
static int next_block(struct input_reader *reader, struct table_block *ret_block,
                      struct error *err) {
    while (!keys_ranges_next(&reader->ranges, ret_block)) {
        const json_t *line = json_array_get(reader->lines, reader->line);
        if (!line) {
            return 0;
        }
        reader->line++;
        if (!reader->has_keys) {
            (void)table_file_block_read(line, ret_block); /* checked when the reader was opened */
            return 1;
        }
        keys_ranges_release(&reader->ranges);
        if (keys_ranges_open(line, reader->output, &reader->ranges, err) < 0) {
            return -1;
        }
    }
    return 1;
}

static int begin_block(struct input_reader *reader, const struct table_block *block,
                       struct error *err) {
    struct table_file *file = &reader->file;
    bool is_open = file->name && strcmp(file->name, block->name) == 0 &&
                   strcmp(file->info.token, block->token) == 0;
    if (!is_open && table_file_open(reader->source.store, block->name, reader->format, block->token,
                                    file, err) < 0) {
        return error_context(err, "%s", reader_field(reader));
    }
    table_rows_start(&reader->rows, reader->source.store, file, block->first, block->end);
    reader->is_begun = true;
    return 0;
}

/* fault: NULL, or why the row is invalid. */
static void show(struct input_reader *reader, const char *fault, struct item *item) {
    const char *origin = reader->is_query ? "query" : reader->file.name;
    snprintf(reader->name, sizeof reader->name, "%s:%lld", origin,
             (long long)table_rows_place(&reader->rows));
    *item = (struct item){.type = ITEM_JSON,
                          .name = reader->name,
                          .origin = origin,
                          .row = -1,
                          .text = reader->json.data,
                          .text_size = reader->json.size};
    if (fault) {
        error_clear(&reader->fault);
        error_set(&reader->fault, ERROR_INVALID, "%s: %s", reader->name, fault);
        item->fault = reader->fault.text;
        item->is_final = true;
    }
}

/* With keys a row must be an object; a row of CSV with a header always is. */
static bool is_object(const struct buffer *json) {
    const char *end = json->data + json->size, *at = jsontext_space(json->data, end);
    return at < end && *at == '{';
}

static int table_reader_next(struct input_reader *reader, struct item *item, struct error *err) {
    if (reader->json.capacity > JSON_KEPT) {
        buffer_release(&reader->json);
    }
    for (;;) {
        struct table_block block;
        const char *fault = NULL;
        int more = reader->is_begun ? 1 : next_block(reader, &block, err);
        if (more <= 0) {
            return more;
        }
        if (!reader->is_begun && begin_block(reader, &block, err) < 0) {
            return -1;
        }
        int got = table_rows_next(&reader->rows, &reader->json, &fault, err);
        if (got > 0) {
            if (!fault && reader->has_keys && !is_object(&reader->json)) {
                fault = "is not an object with the members of spec.input.table.partitionKeys";
            }
            show(reader, fault, item);
            return 1;
        }
        reader->is_begun = false;
        if (got < 0) {
            table_file_release(&reader->file);
            return error_context(err, "%s", reader_field(reader));
        }
    }
}

/* A block is known to be one row only if all are; of a small one that does not matter. */
static int64_t table_line_bytes(const json_t *spec, const json_t *line) {
    struct table_block block;
    if (has_keys(spec) || table_file_format(spec).is_parquet ||
        !table_file_block_read(line, &block)) {
        return -1;
    }
    int64_t bytes = block.end - block.first;
    return bytes <= SMALL_BYTES || tree_integer(spec, "miniBatchBytes", -1) == 0
               ? MIN(bytes, (int64_t)JSON_BYTES_MAX)
               : -1;
}

static const struct input_kind table_input = {
    .name = "table",
    .is_batch = true,
    .item = table_item,
    .list = table_list,
    .reader_open = table_reader_open,
    .reader_next = table_reader_next,
    .line_bytes = table_line_bytes,
    .reader_free = table_reader_free,
};

const struct media table_media = {.name = "table", .unit = "rows", .lines = &table_input};
