// SPDX-License-Identifier: Apache-2.0
#include "agent/score/feed/texts.h"

#include "agent/score/feed/row_value.h"
#include "agent/store/local_file.h"
#include "lib/digest.h"

#include <stdlib.h>

#define FIELD "spec.scorer.onnx.tokenizer"

struct texts {
    struct tokenizer *tokenizer;
    struct tokenizer_memory *memory;
    const char *columns[2]; /* borrowed from the spec; NULL: none */
    size_t column_count;    /* 0: the item is a file */
    size_t length_max;      /* tokens */
    char *file;             /* the last one's text */
    char digest[65];
};

static void texts_freep(struct texts **texts) {
    texts_free(*texts);
}

static int read_columns(const json_t *spec, struct texts *texts, struct error *err) {
    const json_t *columns = tree_get(spec, "scorer.onnx.tokenizer.columns");
    bool has_rows = tree_get(spec, "input.table");
    texts->column_count = MIN(json_array_size(columns), ARRAY_LEN(texts->columns));
    for (size_t i = 0; i < texts->column_count; i++) {
        texts->columns[i] = json_string_value(json_array_get(columns, i));
    }
    if (has_rows != (texts->column_count > 0)) {
        return error_set(err, ERROR_INVALID, FIELD ".columns: %s",
                         has_rows ? "name the column of the texts, or two for pairs of texts"
                                  : "names columns of a table; take it out");
    }
    return 0;
}

/* The file is read once, so that the digest is that of what is used. */
static int read_tokenizer(const json_t *spec, struct texts *texts, struct error *err) {
    AUTO(local_file_release) struct local_file file = {0};
    AUTO(text_freep) char *json = NULL;
    const char *path = tree_text(spec, "scorer.onnx.tokenizer.path", "");
    size_t size = 0;
    if (local_file_open(path, &file, err) < 0 ||
        local_file_read(&file, TOKENIZER_FILE_MAX, &json, &size, NULL, err) < 0) {
        return error_context(err, FIELD ".path");
    }
    digest_sha256(json, size, texts->digest);
    if (tokenizer_parse(json, size, &texts->tokenizer, err) < 0) {
        (void)!error_context(err, "%.200s", path);
        return error_context(err, FIELD ".path");
    }
    return 0;
}

static int find_length(const json_t *spec, int64_t length, struct texts *texts, struct error *err) {
    int64_t given = tree_integer(spec, "scorer.onnx.tokenizer.maxLength", 0);
    int64_t of_file = (int64_t)tokenizer_length_max(texts->tokenizer);
    if (length > 0 && given > length) {
        return error_set(err, ERROR_INVALID,
                         FIELD ".maxLength: is %lld, but the network takes %lld tokens",
                         (long long)given, (long long)length);
    }
    int64_t most = given > 0     ? given
                   : of_file > 0 ? (length > 0 ? MIN(of_file, length) : of_file)
                   : length > 0  ? length
                                 : TEXTS_LENGTH;
    texts->length_max = (size_t)most;
    return 0;
}

int texts_open(const json_t *spec, int64_t length, struct texts **ret_texts, struct error *err) {
    AUTO(texts_freep) struct texts *texts = x_calloc(1, sizeof *texts);
    if (read_columns(spec, texts, err) < 0 || read_tokenizer(spec, texts, err) < 0 ||
        find_length(spec, length, texts, err) < 0) {
        return -1;
    }
    texts->memory = tokenizer_memory_new();
    *ret_texts = TAKE(texts);
    return 0;
}

void texts_free(struct texts *texts) {
    if (texts) {
        tokenizer_freep(&texts->tokenizer);
        tokenizer_memory_freep(&texts->memory);
        free(texts->file);
        free(texts);
    }
}

void texts_add_digest(const struct texts *texts, json_t *files) {
    json_object_set_new(files, "scorer.onnx.tokenizer.path", json_string(texts->digest));
}

void texts_add_columns(const struct texts *texts, json_t *names) {
    for (size_t i = 0; i < texts->column_count; i++) {
        row_value_add_name(names, texts->columns[i]);
    }
}

struct tokenizer_padding texts_padding(const struct texts *texts) {
    return tokenizer_read_padding(texts->tokenizer);
}

/* ---- a text --------------------------------------------------------------------------------- */

static int read_column(const struct texts *texts, const json_t *row, size_t at,
                       const char **ret_text, size_t *ret_size, struct error *err) {
    const char *name = texts->columns[at];
    const json_t *value = row_value(row, name);
    if (!row) {
        return error_set(err, ERROR_INVALID, "not an object, so its columns have no names");
    }
    if (!value) {
        return error_set(err, ERROR_INVALID, "it has no column \"%.64s\"", name);
    }
    if (!json_is_string(value)) {
        return error_set(err, ERROR_INVALID, "column \"%.64s\": a string is expected", name);
    }
    if (json_string_length(value) > TEXTS_BYTES_MAX) {
        return error_set(err, ERROR_INVALID,
                         "column \"%.64s\": the text has %zu bytes, at most %d are read", name,
                         json_string_length(value), TEXTS_BYTES_MAX);
    }
    *ret_text = json_string_value(value);
    *ret_size = json_string_length(value);
    return 0;
}

static int read_file(struct texts *texts, const struct local_file *file,
                     struct tokenizer_input *input, struct error *err) {
    free(TAKE(texts->file));
    if (local_file_read(file, TEXTS_BYTES_MAX, &texts->file, &input->size, NULL, err) < 0) {
        return -1;
    }
    input->text = texts->file;
    return 0;
}

int texts_take(struct texts *texts, const struct feed_item *item,
               struct tokenizer_tokens *ret_tokens, struct error *err) {
    struct tokenizer_input input = {.length_max = texts->length_max};
    size_t count = texts->column_count;
    if (count == 0 && read_file(texts, &item->item->file, &input, err) < 0) {
        return -1;
    }
    if ((count > 0 && read_column(texts, item->row, 0, &input.text, &input.size, err) < 0) ||
        (count > 1 &&
         read_column(texts, item->row, 1, &input.second, &input.second_size, err) < 0)) {
        return -1;
    }
    int result = tokenizer_encode(texts->tokenizer, texts->memory, &input, ret_tokens, err);
    if (result == 0 && ret_tokens->count == 0) {
        result = error_set(err, ERROR_INVALID, "the text has no tokens");
    }
    if (result < 0) {
        err->kind = ERROR_INVALID; /* of the text, whatever it is */
        return count == 0   ? -1
               : count == 1 ? error_context(err, "column \"%.64s\"", texts->columns[0])
                            : error_context(err, "columns \"%.64s\", \"%.64s\"", texts->columns[0],
                                            texts->columns[1]);
    }
    return 0;
}
