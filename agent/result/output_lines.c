// SPDX-License-Identifier: Apache-2.0
#include "agent/result/output_lines.h"

#include "lib/digest.h"
#include "lib/text/jsontext.h"
#include "lib/text/utf8.h"
#include "lib/tree.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 1 << 20 };

bool output_line_is_sha256(const char *text) {
    return text && strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

bool output_line_is_name(const char *name) {
    size_t size = strlen(name);
    if (size == 0 || size > STORE_NAME_MAX || utf8_valid_size(name, size) != size) {
        return false;
    }
    for (const char *at = name;; at++) {
        size_t length = strcspn(at, "/");
        if (length == 0 || (length == 1 && at[0] == '.') ||
            (length == 2 && at[0] == '.' && at[1] == '.') || text_starts(at, ".windlass")) {
            return false;
        }
        at += length;
        if (!*at) {
            return true;
        }
    }
}

/* ---- a line --------------------------------------------------------------------------------- */

int output_line_format(const char *name, int64_t size_bytes, const char *sha256,
                       struct buffer *buffer, struct error *err) {
    if (!output_line_is_name(name)) {
        return error_set(err, ERROR_INVALID, "%.200s: not a name for results", name);
    }
    return buffer_append(buffer, "[\"", 2, err) < 0 ||
                   jsontext_escape(buffer, name, strlen(name), err) < 0
               ? -1
               : buffer_printf(buffer, err, "\",%lld,\"%s\"]\n", (long long)size_bytes, sha256);
}

int output_line_parse(const char *text, size_t size, struct output_line *ret_line,
                      struct error *err) {
    AUTO(tree_freep) json_t *tree = NULL;
    if (tree_parse(text, size, OUTPUT_LINE_MAX, &tree, err) < 0) {
        return -1;
    }
    const char *name = json_string_value(json_array_get(tree, 0));
    const json_t *bytes = json_array_get(tree, 1);
    const char *sha256 = json_string_value(json_array_get(tree, 2));
    if (json_array_size(tree) != 3 || !name || !output_line_is_name(name) ||
        !json_is_integer(bytes) || json_integer_value(bytes) < 0 ||
        !output_line_is_sha256(sha256)) {
        return error_set(err, ERROR_INVALID, "not [NAME, SIZE, SHA-256]");
    }
    memcpy(ret_line->name, name, strlen(name) + 1);
    ret_line->size_bytes = json_integer_value(bytes);
    memcpy(ret_line->sha256, sha256, 65);
    return 0;
}

/* ---- reading -------------------------------------------------------------------------------- */

void output_lines_reader_init(struct output_lines_reader *reader, const char *path,
                              output_lines_each *each, void *context) {
    *reader = (struct output_lines_reader){.path = path, .each = each, .context = context};
    buffer_init(&reader->rest, OUTPUT_LINE_MAX);
}

void output_lines_reader_release(struct output_lines_reader *reader) {
    buffer_release(&reader->rest);
}

static int take_line(struct output_lines_reader *reader, const char *text, size_t size,
                     struct error *err) {
    struct output_line line;
    reader->count++;
    if (output_line_parse(text, size, &line, err) < 0) {
        return error_context(err, "%s: line %lld", reader->path, (long long)reader->count);
    }
    reader->files_bytes += line.size_bytes;
    return reader->each ? reader->each(reader->context, &line, err) : 0;
}

int output_lines_reader_take(struct output_lines_reader *reader, const char *piece, size_t size,
                             struct error *err) {
    const char *end = piece + size;
    for (const char *at = piece; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((newline ? newline : end) - at);
        if (reader->rest.size + length >= OUTPUT_LINE_MAX) {
            return error_set(err, ERROR_INVALID, "%s: line %lld has more than %d bytes",
                             reader->path, (long long)reader->count + 1, OUTPUT_LINE_MAX);
        }
        if (!newline || reader->rest.size > 0) {
            if (buffer_append(&reader->rest, at, length, err) < 0) {
                return -1;
            }
        }
        if (newline) {
            bool is_split = reader->rest.size > 0;
            if (take_line(reader, is_split ? reader->rest.data : at,
                          is_split ? reader->rest.size : length, err) < 0) {
                return -1;
            }
            buffer_clear(&reader->rest);
        }
        at += length + (newline ? 1 : 0);
    }
    return 0;
}

int output_lines_reader_end(const struct output_lines_reader *reader, struct error *err) {
    return reader->rest.size == 0
               ? 0
               : error_set(err, ERROR_INVALID, "%s: its last line has no end", reader->path);
}

static int on_piece(void *context, const char *data, size_t size, struct error *err) {
    return output_lines_reader_take(context, data, size, err);
}

int output_lines_read(struct store *store, const char *name, output_lines_each *each, void *context,
                      struct output_lines_sum *ret_sum, struct error *err) {
    AUTO(text_freep) char *path = x_printf("%s/%s", store_path(store), name);
    AUTO(output_lines_reader_release) struct output_lines_reader reader;
    struct store_digest hash;
    output_lines_reader_init(&reader, path, each, context);
    if (store_hash(store, name, on_piece, &reader, &hash, err) < 0 ||
        output_lines_reader_end(&reader, err) < 0) {
        return -1;
    }
    *ret_sum = (struct output_lines_sum){
        .hash = hash, .count = reader.count, .files_bytes = reader.files_bytes};
    return 0;
}

/* ---- writing -------------------------------------------------------------------------------- */

struct output_lines_writer {
    struct store_upload *upload;
    struct buffer text;
    struct digest *digest;
    struct output_lines_sum sum;
};

int output_lines_begin(struct store *store, const char *name,
                       struct output_lines_writer **ret_writer, struct error *err) {
    struct store_upload *upload = NULL;
    if (store_upload_open(store, name, &upload, err) < 0) {
        return -1;
    }
    struct output_lines_writer *writer = x_calloc(1, sizeof *writer);
    writer->upload = upload;
    writer->digest = digest_new();
    buffer_init(&writer->text, PIECE_BYTES + OUTPUT_LINE_MAX);
    *ret_writer = writer;
    return 0;
}

void output_lines_free(struct output_lines_writer *writer) {
    if (writer) {
        store_upload_free(writer->upload);
        buffer_release(&writer->text);
        digest_freep(&writer->digest);
        free(writer);
    }
}

void output_lines_freep(struct output_lines_writer **writer) {
    output_lines_free(TAKE(*writer));
}

static int flush(struct output_lines_writer *writer, struct error *err) {
    const char *text = writer->text.data ? writer->text.data : "";
    if (store_upload_add(writer->upload, text, writer->text.size, err) < 0) {
        return -1;
    }
    digest_add(writer->digest, text, writer->text.size);
    writer->sum.hash.size_bytes += (int64_t)writer->text.size;
    buffer_clear(&writer->text);
    return 0;
}

int output_lines_add(struct output_lines_writer *writer, const char *name, int64_t size_bytes,
                     const char *sha256, struct error *err) {
    if (output_line_format(name, size_bytes, sha256, &writer->text, err) < 0) {
        return -1;
    }
    writer->sum.count++;
    writer->sum.files_bytes += size_bytes;
    return writer->text.size >= PIECE_BYTES ? flush(writer, err) : 0;
}

int output_lines_end(struct output_lines_writer *writer, struct output_lines_sum *ret_sum,
                     struct error *err) {
    int result = flush(writer, err);
    if (result == 0) {
        result = store_upload_commit(writer->upload, STORE_REPLACE, err);
    }
    if (result == 0) {
        digest_end(TAKE(writer->digest), writer->sum.hash.sha256);
        *ret_sum = writer->sum;
    }
    output_lines_free(writer);
    return result;
}
