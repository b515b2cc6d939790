// SPDX-License-Identifier: Apache-2.0
#include "agent/score/worker/command_body.h"

#include "lib/number/decimal.h"
#include "lib/text/jsontext.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 40, PIECE_BYTES = 8192 };

/* ---- what follows --------------------------------------------------------------------------- */

static int add_array(struct command_arrays *arrays, const struct command_slice *name,
                     const struct command_slice *bytes, struct error *err) {
    int64_t size = command_slice_count(bytes);
    if (size <= 0) {
        return error_set(err, ERROR_INVALID,
                         "npy: \"%.*s\" is not a size, expected how many bytes follow",
                         (int)MIN(bytes->size, (size_t)40), bytes->at);
    }
    if (arrays->count == COMMAND_ARRAYS_MAX || arrays->bytes > INT64_MAX / 2 - size) {
        return error_set(err, ERROR_INVALID, "npy names more than %d arrays, or too many bytes",
                         COMMAND_ARRAYS_MAX);
    }
    arrays->list[arrays->count++] = (struct command_array){.name = *name, .bytes = size};
    arrays->bytes += size;
    return 0;
}

int command_arrays_read(const struct command_slice *npy, struct command_arrays *ret_arrays,
                        struct error *err) {
    const char *at = npy->at, *end = npy->at + npy->size;
    struct jsontext_member member;
    ret_arrays->count = 0;
    ret_arrays->bytes = 0;
    if (*at != '{') {
        return add_array(ret_arrays, &(struct command_slice){0}, npy, err);
    }
    while (jsontext_next_member(&at, end, &member)) {
        const struct command_slice name = {member.name, member.name_size};
        const struct command_slice bytes = {member.value, member.value_size};
        if (add_array(ret_arrays, &name, &bytes, err) < 0) {
            return -1;
        }
    }
    return ret_arrays->count ? 0 : error_set(err, ERROR_INVALID, "npy names no array");
}

/* ---- the arrays ----------------------------------------------------------------------------- */

static int open_array(struct command_array *array, const char *bytes, struct error *err) {
    struct npy *npy = &array->npy;
    size_t head = (size_t)MIN(array->bytes, (int64_t)NPY_HEAD_MAX);
    if (npy_parse(bytes, head, npy, err) < 0) {
        return -1;
    }
    int64_t wanted = npy->head_bytes + npy->dims[0] * npy->slice_bytes;
    if (wanted != array->bytes) {
        return error_set(err, ERROR_INVALID, "has %lld bytes, expected %lld",
                         (long long)array->bytes, (long long)wanted);
    }
    if (npy->is_fortran && npy->rank > 1) {
        return error_set(err, ERROR_INVALID,
                         "is in Fortran order, expected C order (numpy.ascontiguousarray)");
    }
    array->data = bytes + npy->head_bytes;
    return 0;
}

int command_arrays_open(struct command_arrays *arrays, const char *bytes, size_t *ret_rows,
                        struct error *err) {
    for (size_t i = 0; i < arrays->count; i++) {
        struct command_array *array = &arrays->list[i];
        const struct command_slice *name = &array->name;
        if (open_array(array, bytes, err) < 0) {
            err->kind = ERROR_INVALID;
            return error_context(err, "the array%s%.*s", name->at ? " " : "",
                                 (int)MIN(name->size, (size_t)80), name->at ? name->at : "");
        }
        if (array->npy.dims[0] != arrays->list[0].npy.dims[0]) {
            return error_set(err, ERROR_INVALID, "the array %.*s has %lld rows, the first has %lld",
                             (int)MIN(name->size, (size_t)80), name->at,
                             (long long)array->npy.dims[0], (long long)arrays->list[0].npy.dims[0]);
        }
        bytes += array->bytes;
    }
    *ret_rows = (size_t)arrays->list[0].npy.dims[0];
    return 0;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static size_t print_real(double value, bool is_float, char *ret_text) {
    if (!isfinite(value)) {
        memcpy(ret_text, "null", 4);
        return 4;
    }
    return is_float ? decimal_nine_from_float((float)value, ret_text)
                    : decimal_from_double(value, ret_text);
}

static size_t print_whole(int64_t value, char *ret_text) {
    return (size_t)snprintf(ret_text, NUMBER_BYTES, "%lld", (long long)value);
}

/* Of values as npy_convert makes them. */
static size_t print_value(enum npy_type type, const void *values, int64_t index, char *ret_text) {
    switch (type) {
    case NPY_FLOAT16:
    case NPY_FLOAT32:
        return print_real((double)((const float *)values)[index], true, ret_text);
    case NPY_FLOAT64:
        return print_real(((const double *)values)[index], false, ret_text);
    case NPY_INT8:
        return print_whole(((const int8_t *)values)[index], ret_text);
    case NPY_UINT8:
        return print_whole(((const uint8_t *)values)[index], ret_text);
    case NPY_INT16:
    case NPY_UINT16:
    case NPY_INT32:
        return print_whole(((const int32_t *)values)[index], ret_text);
    case NPY_UINT32:
    case NPY_INT64:
        return print_whole(((const int64_t *)values)[index], ret_text);
    case NPY_BOOL:
    case NPY_TYPE_COUNT:
    default:
        return (size_t)snprintf(ret_text, NUMBER_BYTES, "%s",
                                ((const uint8_t *)values)[index] ? "true" : "false");
    }
}

/* The brackets before an element, or behind it: of each axis that begins, or ends, there. */
static int add_brackets(const struct npy *npy, int64_t index, char bracket, struct buffer *text,
                        struct error *err) {
    int64_t step = 1;
    for (int axis = npy->rank - 1; axis > 0; axis--) {
        step *= npy->dims[axis];
        if (index % step == 0 && buffer_append(text, &bracket, 1, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* `count` numbers from `first`, with commas. */
static int add_numbers(enum npy_type type, const void *values, int64_t first, int64_t count,
                       struct buffer *text, struct error *err) {
    char piece[PIECE_BYTES + 2 * NUMBER_BYTES];
    size_t used = 0;
    for (int64_t i = 0; i < count; i++) {
        if (i > 0) {
            piece[used++] = ',';
        }
        used += print_value(type, values, first + i, piece + used);
        if (used <= PIECE_BYTES) {
            continue;
        }
        if (buffer_append(text, piece, used, err) < 0) {
            return -1;
        }
        used = 0;
    }
    return buffer_append(text, piece, used, err);
}

static int add_values(const struct npy *npy, const void *values, struct buffer *text,
                      struct error *err) {
    int64_t count = npy_slice_values(npy), inner = npy->rank > 1 ? npy->dims[npy->rank - 1] : 1;
    for (int64_t i = 0; i < count; i += inner) {
        if ((i > 0 && buffer_append(text, ",", 1, err) < 0) ||
            add_brackets(npy, i, '[', text, err) < 0 ||
            add_numbers(npy->type, values, i, inner, text, err) < 0 ||
            add_brackets(npy, i + inner, ']', text, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int add_slice(const struct command_array *array, size_t row, struct buffer *text,
                     struct error *err) {
    const struct npy *npy = &array->npy;
    size_t bytes = (size_t)npy->slice_bytes;
    int64_t count = npy_slice_values(npy);
    AUTO(text_freep) char *values = x_malloc((size_t)count * npy_value_bytes(npy->type));
    memcpy(values, array->data + row * bytes, bytes);
    npy_convert(npy, values, count);
    return add_values(npy, values, text, err);
}

int command_arrays_row(const struct command_arrays *arrays, size_t row, struct buffer *text,
                       struct error *err) {
    bool is_object = arrays->list[0].name.at != NULL;
    for (size_t i = 0; i < arrays->count; i++) {
        const struct command_array *array = &arrays->list[i];
        if (is_object && (buffer_append(text, i ? "," : "{", 1, err) < 0 ||
                          buffer_append(text, array->name.at, array->name.size, err) < 0 ||
                          buffer_append(text, ":", 1, err) < 0)) {
            return -1;
        }
        if (add_slice(array, row, text, err) < 0) {
            return -1;
        }
    }
    return is_object ? buffer_append(text, "}", 1, err) : 0;
}
