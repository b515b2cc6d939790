// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parquet/parquet_values.h"

#include <stdlib.h>
#include <string.h>

enum { SOME = 256 /* values that are decoded at a time */ };

void parquet_dictionary_release(struct parquet_dictionary *dictionary) {
    free(dictionary->values);
    free(dictionary->page);
    *dictionary = (struct parquet_dictionary){0};
}

/* Bytes of a value in the file; 0: it has its own length, or is a bit. */
static size_t stored_size(const struct parquet_leaf *column) {
    switch (column->type) {
    case PARQUET_INT32:
    case PARQUET_FLOAT:
        return 4;
    case PARQUET_INT64:
    case PARQUET_DOUBLE:
        return 8;
    case PARQUET_INT96:
    case PARQUET_FIXED_LEN_BYTE_ARRAY:
        return (size_t)column->width;
    default:
        return 0;
    }
}

size_t parquet_values_size(enum parquet_type type) {
    switch (type) {
    case PARQUET_BOOLEAN:
        return 1;
    case PARQUET_INT32:
    case PARQUET_FLOAT:
        return 4;
    case PARQUET_INT64:
    case PARQUET_DOUBLE:
        return 8;
    default:
        return sizeof(struct parquet_value_bytes);
    }
}

static int refuse_damaged(struct error *err, const char *what) {
    return error_set(err, ERROR_INVALID, "damaged: %s", what);
}

static const char few_values[] = "a page has fewer values than its header declares";

/* ---- PLAIN ---------------------------------------------------------------------------------- */

static bool plain_booleans(struct parquet_values *values, size_t count, uint8_t *out) {
    if (count > (uint64_t)(values->end - values->at) * 8 - values->bit) {
        return false;
    }
    for (size_t i = 0; i < count; i++, values->bit++) {
        out[i] = values->at[values->bit / 8] >> (values->bit % 8) & 1;
    }
    return true;
}

static bool plain_fixed(struct parquet_values *values, size_t count, void *out) {
    size_t size = stored_size(values->column);
    if (count > (size_t)(values->end - values->at) / size) {
        return false;
    }
    if (size <= 8 && size == parquet_values_size(values->column->type)) {
        memcpy(out, values->at, count * size);
    } else {
        struct parquet_value_bytes *bytes = out;
        for (size_t i = 0; i < count; i++) {
            bytes[i] = (struct parquet_value_bytes){values->at + i * size, size};
        }
    }
    values->at += count * size;
    return true;
}

static bool plain_bytes(struct parquet_values *values, size_t count,
                        struct parquet_value_bytes *out) {
    const uint8_t *at = values->at, *end = values->end;
    for (size_t i = 0; i < count; i++) {
        uint32_t size;
        if (end - at < 4) {
            return false;
        }
        memcpy(&size, at, 4);
        at += 4;
        if (size > (size_t)(end - at)) {
            return false;
        }
        out[i] = (struct parquet_value_bytes){at, size};
        at += size;
    }
    values->at = at;
    return true;
}

static bool take_plain(struct parquet_values *values, size_t count, void *out) {
    switch (values->column->type) {
    case PARQUET_BOOLEAN:
        return plain_booleans(values, count, out);
    case PARQUET_BYTE_ARRAY:
        return plain_bytes(values, count, out);
    default:
        return plain_fixed(values, count, out);
    }
}

/* ---- dictionary, RLE ------------------------------------------------------------------------ */

static void gather(const struct parquet_dictionary *dictionary, size_t size,
                   const uint32_t *numbers, size_t count, void *out) {
    if (size == 4) {
        const uint32_t *from = dictionary->values;
        for (size_t i = 0; i < count; i++) {
            ((uint32_t *)out)[i] = from[numbers[i]];
        }
    } else if (size == 8) {
        const uint64_t *from = dictionary->values;
        for (size_t i = 0; i < count; i++) {
            ((uint64_t *)out)[i] = from[numbers[i]];
        }
    } else if (size == sizeof(struct parquet_value_bytes)) {
        const struct parquet_value_bytes *from = dictionary->values;
        for (size_t i = 0; i < count; i++) {
            ((struct parquet_value_bytes *)out)[i] = from[numbers[i]];
        }
    } else {
        const uint8_t *from = dictionary->values;
        for (size_t i = 0; i < count; i++) {
            ((uint8_t *)out)[i] = from[numbers[i]];
        }
    }
}

static int take_indices(struct parquet_values *values, size_t count, void *out, struct error *err) {
    size_t size = parquet_values_size(values->column->type);
    uint8_t *to = out;
    while (count > 0) {
        uint32_t numbers[SOME], most = 0;
        size_t some = MIN(count, (size_t)SOME);
        if (!bit_runs_take(&values->runs, some, numbers)) {
            return refuse_damaged(err, few_values);
        }
        for (size_t i = 0; i < some; i++) {
            most = MAX(most, numbers[i]);
        }
        if (most >= values->dictionary->count) {
            return refuse_damaged(err, "a value that is not in its dictionary");
        }
        gather(values->dictionary, size, numbers, some, to);
        to += some * size;
        count -= some;
    }
    return 0;
}

static bool take_runs(struct parquet_values *values, size_t count, uint8_t *out) {
    while (count > 0) {
        uint32_t numbers[SOME];
        size_t some = MIN(count, (size_t)SOME);
        if (!bit_runs_take(&values->runs, some, numbers)) {
            return false;
        }
        for (size_t i = 0; i < some; i++) {
            *out++ = numbers[i] & 1;
        }
        count -= some;
    }
    return true;
}

/* ---- DELTA ---------------------------------------------------------------------------------- */

static bool take_delta(struct parquet_values *values, size_t count, void *out) {
    if (values->column->type == PARQUET_INT64) {
        return delta_packed_take(&values->delta, count, out);
    }
    int32_t *to = out;
    while (count > 0) {
        int64_t numbers[SOME];
        size_t some = MIN(count, (size_t)SOME);
        if (!delta_packed_take(&values->delta, some, numbers)) {
            return false;
        }
        for (size_t i = 0; i < some; i++) {
            *to++ = (int32_t)(uint32_t)(uint64_t)numbers[i]; /* overflow wraps around */
        }
        count -= some;
    }
    return true;
}

/* The next values of a page of lengths, then bytes. */
static bool take_lengths(struct parquet_values *values, struct delta_packed *delta, size_t count,
                         struct parquet_value_bytes *out) {
    while (count > 0) {
        int64_t sizes[SOME];
        size_t some = MIN(count, (size_t)SOME);
        if (!delta_packed_take(delta, some, sizes)) {
            return false;
        }
        for (size_t i = 0; i < some; i++) {
            if (sizes[i] < 0 || sizes[i] > values->end - values->at) {
                return false;
            }
            *out++ = (struct parquet_value_bytes){values->at, (size_t)sizes[i]};
            values->at += sizes[i];
        }
        count -= some;
    }
    return true;
}

/* One value: this many bytes of the one before, then these. */
static int join_prefix(struct parquet_values *values, int64_t prefix,
                       const struct parquet_value_bytes *suffix, struct buffer *heap,
                       struct error *err) {
    struct buffer *last = values->last;
    struct error full = {0};
    if (prefix < 0 || (uint64_t)prefix > last->size) {
        return refuse_damaged(err, "a prefix that is longer than the value before");
    }
    last->size = (size_t)prefix;
    if (buffer_append(last, suffix->data, suffix->size, &full) < 0 ||
        buffer_append(heap, last->data ? last->data : "", last->size, &full) < 0) {
        return error_set(err, ERROR_INVALID, "texts of a page unpack to more than 256 MiB");
    }
    return 0;
}

static int take_prefixes(struct parquet_values *values, size_t count,
                         struct parquet_value_bytes *out, struct buffer *heap, struct error *err) {
    size_t begin = heap->size, at = begin;
    for (size_t i = 0; i < count; i++) {
        int64_t prefix;
        struct parquet_value_bytes suffix;
        if (!delta_packed_take(&values->delta, 1, &prefix) ||
            !take_lengths(values, &values->suffixes, 1, &suffix)) {
            return refuse_damaged(err, few_values);
        }
        size_t before = heap->size;
        if (join_prefix(values, prefix, &suffix, heap, err) < 0) {
            return -1;
        }
        out[i].size = heap->size - before;
    }
    for (size_t i = 0; i < count; i++) { /* now that the heap does not move */
        out[i].data = (const uint8_t *)heap->data + at;
        at += out[i].size;
    }
    return 0;
}

/* ---- BYTE_STREAM_SPLIT ---------------------------------------------------------------------- */

static int take_split(struct parquet_values *values, size_t count, void *out, struct buffer *heap,
                      struct error *err) {
    size_t size = stored_size(values->column);
    bool is_number = size == parquet_values_size(values->column->type) && size <= 8;
    char *to = out;
    struct error full = {0};
    if (count > values->stride - values->bit) {
        return refuse_damaged(err, few_values);
    }
    if (!is_number && buffer_extend(heap, count * size, &to, &full) < 0) {
        return error_set(err, ERROR_INVALID, "values of a page unpack to more than 256 MiB");
    }
    for (size_t byte = 0; byte < size; byte++) {
        const uint8_t *from = values->at + byte * values->stride + values->bit;
        for (size_t i = 0; i < count; i++) {
            to[i * size + byte] = (char)from[i];
        }
    }
    for (size_t i = 0; i < count && !is_number; i++) {
        ((struct parquet_value_bytes *)out)[i] =
            (struct parquet_value_bytes){(const uint8_t *)to + i * size, size};
    }
    values->bit += count;
    return 0;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static int open_indices(struct parquet_values *values, struct error *err) {
    if (!values->dictionary->values) {
        return refuse_damaged(err, "a page needs a dictionary, and there is none before it");
    }
    if (values->at == values->end) { /* no values: all are null */
        values->runs = bit_runs_over(values->at, 0, 0);
        return 0;
    }
    int width = *values->at++;
    if (width > BIT_RUNS_WIDTH_MAX) {
        return refuse_damaged(err, "a dictionary's indices have more than 32 bits");
    }
    values->runs = bit_runs_over(values->at, (size_t)(values->end - values->at), width);
    return 0;
}

/* Booleans in runs: their size, then they. */
static int open_runs(struct parquet_values *values, struct error *err) {
    uint32_t size = 0;
    size_t left = (size_t)(values->end - values->at);
    if (left >= 4) {
        memcpy(&size, values->at, 4);
    }
    if (left < 4 ? left > 0 : size > left - 4) {
        return refuse_damaged(err, "runs that are longer than their page");
    }
    values->runs = bit_runs_over(values->at + (left >= 4 ? 4 : 0), size, 1);
    return 0;
}

static int open_delta(struct parquet_values *values, struct delta_packed *delta, bool is_before,
                      struct error *err) {
    if (values->at == values->end) { /* no values: all are null */
        *delta = (struct delta_packed){0};
        return 0;
    }
    if (!delta_packed_open(values->at, (size_t)(values->end - values->at), delta)) {
        return refuse_damaged(err, "the header of delta-encoded values");
    }
    const uint8_t *end = is_before ? delta_packed_end(*delta) : values->at;
    if (!end) {
        return refuse_damaged(err, few_values);
    }
    values->at = end;
    return 0;
}

static bool fits(const struct parquet_values *values) {
    enum parquet_type type = values->column->type;
    switch (values->encoding) {
    case PARQUET_PLAIN:
    case PARQUET_PLAIN_DICTIONARY:
    case PARQUET_RLE_DICTIONARY:
        return true;
    case PARQUET_RLE:
        return type == PARQUET_BOOLEAN;
    case PARQUET_DELTA_BINARY_PACKED:
        return type == PARQUET_INT32 || type == PARQUET_INT64;
    case PARQUET_DELTA_LENGTH_BYTE_ARRAY:
        return type == PARQUET_BYTE_ARRAY;
    case PARQUET_DELTA_BYTE_ARRAY:
        return type == PARQUET_BYTE_ARRAY || type == PARQUET_FIXED_LEN_BYTE_ARRAY;
    case PARQUET_BYTE_STREAM_SPLIT:
        return type != PARQUET_BOOLEAN && type != PARQUET_BYTE_ARRAY;
    default:
        return false;
    }
}

int parquet_values_open(const struct parquet_values_options *options, const uint8_t *data,
                        size_t size, struct parquet_values *ret_values, struct error *err) {
    *ret_values = (struct parquet_values){.column = options->column,
                                          .dictionary = options->dictionary,
                                          .encoding = options->encoding,
                                          .last = options->last,
                                          .at = data,
                                          .end = data + size};
    if (!fits(ret_values)) {
        return error_set(err, ERROR_INVALID,
                         "has a page in encoding %d, which is unknown or not for its type",
                         options->encoding);
    }
    switch (options->encoding) {
    case PARQUET_PLAIN_DICTIONARY:
    case PARQUET_RLE_DICTIONARY:
        return open_indices(ret_values, err);
    case PARQUET_RLE:
        return open_runs(ret_values, err);
    case PARQUET_DELTA_BINARY_PACKED:
        return open_delta(ret_values, &ret_values->delta, false, err);
    case PARQUET_DELTA_LENGTH_BYTE_ARRAY:
        return open_delta(ret_values, &ret_values->delta, true, err);
    case PARQUET_DELTA_BYTE_ARRAY:
        buffer_clear(options->last);
        return open_delta(ret_values, &ret_values->delta, true, err) < 0 ||
                       open_delta(ret_values, &ret_values->suffixes, true, err) < 0
                   ? -1
                   : 0;
    case PARQUET_BYTE_STREAM_SPLIT:
        ret_values->stride = size / stored_size(options->column);
        return 0;
    default:
        return 0;
    }
}

static bool fixed_length(const struct parquet_values *values, size_t count,
                         const struct parquet_value_bytes *bytes) {
    bool is_sound = true;
    for (size_t i = 0; i < count && values->column->type == PARQUET_FIXED_LEN_BYTE_ARRAY; i++) {
        is_sound = is_sound && bytes[i].size == (size_t)values->column->width;
    }
    return is_sound;
}

int parquet_values_take(struct parquet_values *values, size_t count, void *out, struct buffer *heap,
                        struct error *err) {
    bool is_sound = true;
    if (count == 0) {
        return 0;
    }
    switch (values->encoding) {
    case PARQUET_PLAIN_DICTIONARY:
    case PARQUET_RLE_DICTIONARY:
        return take_indices(values, count, out, err);
    case PARQUET_DELTA_BYTE_ARRAY:
        if (take_prefixes(values, count, out, heap, err) < 0) {
            return -1;
        }
        return fixed_length(values, count, out) ? 0
                                                : refuse_damaged(err, "a value of another length");
    case PARQUET_BYTE_STREAM_SPLIT:
        return take_split(values, count, out, heap, err);
    case PARQUET_RLE:
        is_sound = take_runs(values, count, out);
        break;
    case PARQUET_DELTA_BINARY_PACKED:
        is_sound = take_delta(values, count, out);
        break;
    case PARQUET_DELTA_LENGTH_BYTE_ARRAY:
        is_sound = take_lengths(values, &values->delta, count, out);
        break;
    default:
        is_sound = take_plain(values, count, out);
    }
    return is_sound ? 0 : refuse_damaged(err, few_values);
}
