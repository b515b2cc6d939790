// SPDX-License-Identifier: Apache-2.0
/* The head is the text of a Python dictionary with three keys:
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (1000, 3, 224, 224), }
 * The parser reads only what numpy writes: no expressions, no escapes in strings. */
#include "agent/data/array/npy.h"

#include "lib/number/half.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MAGIC_BYTES = 6, TEXT_MAX = 16 /* maximum of a known type */ };
enum { GAP_BYTES = 64 << 10, WINDOW_BYTES = 4 << 20 }; /* of arrays in Fortran order */

static const struct {
    const char *name;
    size_t bytes, value_bytes;
} types[] = {
    [NPY_FLOAT16] = {"f2", 2, 4}, [NPY_FLOAT32] = {"f4", 4, 4}, [NPY_FLOAT64] = {"f8", 8, 8},
    [NPY_INT8] = {"i1", 1, 1},    [NPY_UINT8] = {"u1", 1, 1},   [NPY_INT16] = {"i2", 2, 4},
    [NPY_UINT16] = {"u2", 2, 4},  [NPY_INT32] = {"i4", 4, 4},   [NPY_UINT32] = {"u4", 4, 8},
    [NPY_INT64] = {"i8", 8, 8},   [NPY_BOOL] = {"b1", 1, 1},
};
static_assert(ARRAY_LEN(types) == NPY_TYPE_COUNT, "one row per type");

const char *npy_type_name(enum npy_type type) {
    return types[type].name;
}

size_t npy_value_bytes(enum npy_type type) {
    return types[type].value_bytes;
}

int64_t npy_slice_values(const struct npy *npy) {
    return npy->slice_bytes / (int64_t)types[npy->type].bytes;
}

/* ---- the head ------------------------------------------------------------------------------- */

struct head {
    const char *at, *end;
    bool has_type, has_order, has_shape;
    struct npy npy;
};

static int refuse_header(struct error *err) {
    return error_set(err, ERROR_INVALID,
                     "invalid header: expected a dictionary of descr, "
                     "fortran_order and shape, as numpy.save writes it");
}

static void skip_space(struct head *head) {
    while (head->at < head->end && (*head->at == ' ' || *head->at == '\n' || *head->at == '\t')) {
        head->at++;
    }
}

static bool skip(struct head *head, char wanted) {
    skip_space(head);
    bool is_there = head->at < head->end && *head->at == wanted;
    head->at += is_there;
    return is_there;
}

static bool skip_word(struct head *head, const char *word) {
    size_t size = strlen(word);
    skip_space(head);
    bool is_there = (size_t)(head->end - head->at) >= size && memcmp(head->at, word, size) == 0;
    head->at += is_there ? size : 0;
    return is_there;
}

/* Reads 'text' or "text"; borrowed. */
static bool read_string(struct head *head, const char **ret_text, size_t *ret_size) {
    skip_space(head);
    if (head->at == head->end || (*head->at != '\'' && *head->at != '"')) {
        return false;
    }
    const char *text = head->at + 1;
    const char *quote = memchr(text, *head->at, (size_t)(head->end - text));
    if (!quote || memchr(text, '\\', (size_t)(quote - text))) {
        return false;
    }
    *ret_text = text;
    *ret_size = (size_t)(quote - text);
    head->at = quote + 1;
    return true;
}

static int unknown_type(const char *text, size_t size, struct error *err) {
    char shown[TEXT_MAX + 1];
    size_t kept = MIN(size, (size_t)TEXT_MAX);
    for (size_t i = 0; i < kept; i++) {
        shown[i] = (char)(text[i] > ' ' && text[i] < 0x7f ? text[i] : '?');
    }
    shown[kept] = 0;
    return error_set(err, ERROR_UNSUPPORTED,
                     "its elements are \"%s\", expected one of <f2 <f4 <f8 |i1 |u1 <i2 <u2 <i4 <u4 "
                     "<i8 |b1: save them as one of these (array.astype)",
                     shown);
}

static int read_type(struct head *head, struct error *err) {
    const char *text = NULL;
    size_t size = 0;
    skip_space(head);
    if (head->at < head->end && *head->at == '[') {
        return error_set(err, ERROR_UNSUPPORTED,
                         "its elements are structures, expected numbers or "
                         "booleans; save each field as an array of its own");
    }
    if (!read_string(head, &text, &size)) {
        return refuse_header(err);
    }
    for (int type = 0; type < NPY_TYPE_COUNT; type++) {
        bool is_ours = size == 3 && memcmp(text + 1, types[type].name, 2) == 0;
        bool is_one = types[type].bytes == 1;
        if (is_ours && (text[0] == '<' || text[0] == '>' || (text[0] == '|' && is_one))) {
            head->npy.type = (enum npy_type)type;
            head->npy.is_big_endian = text[0] == '>' && !is_one;
            head->has_type = true;
            return 0;
        }
    }
    return unknown_type(text, size, err);
}

static int read_order(struct head *head, struct error *err) {
    head->has_order = true;
    head->npy.is_fortran = skip_word(head, "True");
    return head->npy.is_fortran || skip_word(head, "False") ? 0 : refuse_header(err);
}

/* Reads digits; Python 2 wrote an L after large numbers. */
static bool read_size(struct head *head, int64_t *ret_size) {
    int64_t size = 0;
    skip_space(head);
    const char *start = head->at;
    for (; head->at < head->end && *head->at >= '0' && *head->at <= '9'; head->at++) {
        if (size > (INT64_MAX - 9) / 10) {
            return false;
        }
        size = 10 * size + (*head->at - '0');
    }
    bool is_there = head->at > start;
    head->at += is_there && head->at < head->end && *head->at == 'L';
    *ret_size = size;
    return is_there;
}

static int read_shape(struct head *head, struct error *err) {
    struct npy *npy = &head->npy;
    int rank = 0;
    if (!skip(head, '(')) {
        return refuse_header(err);
    }
    while (!skip(head, ')')) {
        int64_t size = 0;
        if (!read_size(head, &size)) {
            return refuse_header(err);
        }
        if (rank < NPY_RANK_MAX) {
            npy->dims[rank] = size;
        }
        rank++;
        if (!skip(head, ',') && !(skip_space(head), head->at < head->end && *head->at == ')')) {
            return refuse_header(err);
        }
    }
    if (rank > NPY_RANK_MAX) {
        return error_set(err, ERROR_UNSUPPORTED, "it has %d axes: at most %d are supported", rank,
                         NPY_RANK_MAX);
    }
    npy->rank = rank;
    head->has_shape = true;
    return 0;
}

static int read_entry(struct head *head, struct error *err) {
    const char *key = NULL;
    size_t size = 0;
    if (!read_string(head, &key, &size) || !skip(head, ':')) {
        return refuse_header(err);
    }
    return size == 5 && memcmp(key, "descr", 5) == 0 && !head->has_type ? read_type(head, err)
           : size == 13 && memcmp(key, "fortran_order", 13) == 0 && !head->has_order
               ? read_order(head, err)
           : size == 5 && memcmp(key, "shape", 5) == 0 && !head->has_shape ? read_shape(head, err)
                                                                           : refuse_header(err);
}

static int read_entries(struct head *head, struct error *err) {
    if (!skip(head, '{')) {
        return refuse_header(err);
    }
    while (!skip(head, '}')) {
        if (read_entry(head, err) < 0) {
            return -1;
        }
        if (!skip(head, ',') && !(skip_space(head), head->at < head->end && *head->at == '}')) {
            return refuse_header(err);
        }
    }
    skip_space(head);
    return head->at == head->end && head->has_type && head->has_order && head->has_shape
               ? 0
               : refuse_header(err);
}

static int measure(struct npy *npy, struct error *err) {
    if (npy->rank == 0) {
        return error_set(err, ERROR_INVALID,
                         "its shape is () (a scalar), expected at least one axis");
    }
    npy->slice_bytes = (int64_t)types[npy->type].bytes;
    for (int i = 1; i < npy->rank; i++) {
        if (npy->dims[i] == 0) {
            return error_set(err, ERROR_INVALID,
                             "its slices have no elements: axis %d has length 0", i);
        }
        if (npy->dims[i] > NPY_SLICES_BYTES / npy->slice_bytes) {
            return error_set(err, ERROR_INVALID,
                             "its slices are larger than %d MiB: axis %d has length %lld",
                             NPY_SLICES_BYTES >> 20, i, (long long)npy->dims[i]);
        }
        npy->slice_bytes *= npy->dims[i];
    }
    if (npy->dims[0] > INT64_MAX / 2 / npy->slice_bytes) {
        return error_set(err, ERROR_INVALID,
                         "its shape is too large: it has %lld slices of %lld bytes",
                         (long long)npy->dims[0], (long long)npy->slice_bytes);
    }
    return 0;
}

int npy_parse(const char *data, size_t size, struct npy *ret_npy, struct error *err) {
    const unsigned char *bytes = (const unsigned char *)data;
    if (size >= 4 && memcmp(data, "PK\x03\x04", 4) == 0) {
        return error_set(err, ERROR_INVALID,
                         "is a zip archive (.npz), and not a .npy file: save each of its arrays by "
                         "numpy.save");
    }
    if (size < MAGIC_BYTES || memcmp(data, "\x93NUMPY", MAGIC_BYTES) != 0) {
        return error_set(err, ERROR_INVALID, "not a .npy file");
    }
    size_t before = size > MAGIC_BYTES && bytes[6] == 1 ? 10 : 12;
    if (size < before) {
        return error_set(err, ERROR_INVALID, "is truncated within its header");
    }
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0) {
        return error_set(err, ERROR_UNSUPPORTED, "has version %d.%d, expected 1.0 to 3.0", bytes[6],
                         bytes[7]);
    }
    size_t text_size = bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] > 1) {
        text_size |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    }
    if (text_size > NPY_HEAD_MAX - before) {
        return error_set(err, ERROR_INVALID, "has a header of more than %d bytes", NPY_HEAD_MAX);
    }
    if (size - before < text_size) {
        return error_set(err, ERROR_INVALID, "is truncated within its header");
    }
    struct head head = {.at = data + before, .end = data + before + text_size};
    if (read_entries(&head, err) < 0 || measure(&head.npy, err) < 0) {
        return -1;
    }
    head.npy.head_bytes = (int64_t)(before + text_size);
    *ret_npy = head.npy;
    return 0;
}

static int check_size(const struct npy *npy, int64_t size, struct error *err) {
    int64_t wanted = npy->head_bytes + npy->dims[0] * npy->slice_bytes;
    return size == wanted
               ? 0
               : error_set(err, ERROR_INVALID, "has %lld bytes, expected %lld: %s", (long long)size,
                           (long long)wanted,
                           size < wanted ? "it is truncated" : "there is more after its array");
}

/* ---- objects -------------------------------------------------------------------------------- */

int npy_open(struct store *store, const char *name, struct npy *ret_npy,
             struct store_info *ret_info, struct error *err) {
    struct store_info info;
    struct error cause = {0};
    size_t size = 0;
    AUTO(text_freep) char *data = x_malloc(NPY_HEAD_MAX);
    if (store_stat(store, name, &info, err) < 0 ||
        store_read(store, name, &(struct store_piece){0, data, NPY_HEAD_MAX, info.token}, &size,
                   err) < 0) {
        return -1;
    }
    if (npy_parse(data, size, ret_npy, &cause) < 0) {
        *err = cause;
        return error_context(err, "%s/%s", store_path(store), name);
    }
    if (check_size(ret_npy, info.size_bytes, &cause) < 0) {
        *err = cause;
        return error_context(err, "%s/%s", store_path(store), name);
    }
    *ret_info = info;
    return 0;
}

static void swap_bytes(char *data, size_t width, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        char *element = data + (size_t)i * width;
        for (size_t k = 0; k < width / 2; k++) {
            char other = element[k];
            element[k] = element[width - 1 - k];
            element[width - 1 - k] = other;
        }
    }
}

/* Goes backwards if elements grow: the bytes that were read are at the front of the values'
 * memory. */
void npy_convert(const struct npy *npy, void *data, int64_t count) {
    enum npy_type type = npy->type;
    if (npy->is_big_endian) {
        swap_bytes(data, types[type].bytes, count);
    }
    if (type == NPY_FLOAT16) {
        for (int64_t i = count; i-- > 0;) {
            uint16_t half;
            memcpy(&half, (char *)data + 2 * i, sizeof half);
            float value = half_to_float(half);
            memcpy((char *)data + 4 * i, &value, sizeof value);
        }
    } else if (type == NPY_INT16 || type == NPY_UINT16) {
        for (int64_t i = count; i-- > 0;) {
            int16_t small;
            memcpy(&small, (char *)data + 2 * i, sizeof small);
            int32_t value = type == NPY_INT16 ? small : (uint16_t)small;
            memcpy((char *)data + 4 * i, &value, sizeof value);
        }
    } else if (type == NPY_UINT32) {
        for (int64_t i = count; i-- > 0;) {
            uint32_t small;
            memcpy(&small, (char *)data + 4 * i, sizeof small);
            int64_t value = small;
            memcpy((char *)data + 8 * i, &value, sizeof value);
        }
    } else if (type == NPY_BOOL) {
        for (uint8_t *at = data, *end = at + count; at < end; at++) {
            *at = *at != 0;
        }
    }
}

static int read_exactly(const struct npy_object *object, int64_t offset, void *data, size_t wanted,
                        struct error *err) {
    const struct store_piece piece = {object->npy->head_bytes + offset, data, wanted,
                                      object->token};
    size_t size = 0;
    if (store_read(object->store, object->name, &piece, &size, err) < 0) {
        return -1;
    }
    return size == wanted
               ? 0
               : error_set(err, ERROR_CONFLICT, "%s/%s: the file is shorter than its array",
                           store_path(object->store), object->name);
}

/* Where a column of the file belongs within a slice in C order. A column has an element of each
 * slice; the first axis of a slice changes fastest from column to column. */
static int64_t place_of(const struct npy *npy, int64_t column) {
    int64_t place = 0;
    int64_t step = npy_slice_values(npy);
    for (int i = 1; i < npy->rank; i++) {
        step /= npy->dims[i];
        place += column % npy->dims[i] * step;
        column /= npy->dims[i];
    }
    return place;
}

static void scatter(char *to, const char *from, size_t width, int64_t count, int64_t step) {
    for (int64_t i = 0; i < count; i++) {
        memcpy(to + (size_t)(i * step) * width, from + (size_t)i * width, width);
    }
}

int npy_decode(const char *data, size_t size, struct npy *ret_npy, void **ret_values,
               struct error *err) {
    struct npy npy;
    if (npy_parse(data, size, &npy, err) < 0 || check_size(&npy, (int64_t)size, err) < 0) {
        return -1;
    }
    int64_t columns = npy_slice_values(&npy), count = npy.dims[0] * columns;
    if (count > NPY_SLICES_BYTES / (int64_t)types[npy.type].value_bytes) {
        return error_set(err, ERROR_INVALID, "is larger than %d MiB", NPY_SLICES_BYTES >> 20);
    }
    size_t width = types[npy.type].bytes;
    const char *elements = data + npy.head_bytes;
    AUTO(text_freep) char *values = x_malloc((size_t)count * types[npy.type].value_bytes + 1);
    if (npy.is_fortran && npy.dims[0] > 0) {
        for (int64_t i = 0; i < columns; i++) {
            scatter(values + (size_t)place_of(&npy, i) * width,
                    elements + (size_t)(i * npy.dims[0]) * width, width, npy.dims[0], columns);
        }
    } else {
        memcpy(values, elements, (size_t)count * width);
    }
    npy_convert(&npy, values, count);
    *ret_npy = npy;
    *ret_values = TAKE(values);
    return 0;
}

/* In Fortran order: column by column, with what is between the columns' parts where that is less
 * than another read costs. */
static int read_columns(const struct npy_object *object, struct npy_range range, char *values,
                        struct error *err) {
    const struct npy *npy = object->npy;
    int64_t columns = npy_slice_values(npy), width = (int64_t)types[npy->type].bytes;
    int64_t column_bytes = npy->dims[0] * width, part = range.count * width;
    bool is_dense = column_bytes - part <= GAP_BYTES && column_bytes <= WINDOW_BYTES;
    int64_t at_once = is_dense ? MAX(WINDOW_BYTES / column_bytes, 1) : 1;
    at_once = MIN(at_once, columns);
    AUTO(text_freep) char *read = x_malloc((size_t)((at_once - 1) * column_bytes + part));
    for (int64_t first = 0; first < columns; first += at_once) {
        int64_t count = MIN(at_once, columns - first);
        if (read_exactly(object, first * column_bytes + range.first * width, read,
                         (size_t)((count - 1) * column_bytes + part), err) < 0) {
            return -1;
        }
        for (int64_t i = 0; i < count; i++) {
            scatter(values + place_of(npy, first + i) * width, read + i * column_bytes,
                    (size_t)width, range.count, columns);
        }
    }
    return 0;
}

int npy_read(const struct npy_object *object, struct npy_range range, void **ret_values,
             struct error *err) {
    const struct npy *npy = object->npy;
    assert(range.first >= 0 && range.count >= 0 && range.first <= npy->dims[0] - range.count);
    int64_t slice_values = npy_slice_values(npy);
    int64_t value_bytes = slice_values * (int64_t)types[npy->type].value_bytes;
    const char *folder = store_path(object->store);
    if (range.count > NPY_SLICES_BYTES / value_bytes) {
        return error_set(err, ERROR_INVALID,
                         "%s/%s: %lld slices are more than %d MiB; a smaller spec.miniBatchSize "
                         "reads fewer at a time",
                         folder, object->name, (long long)range.count, NPY_SLICES_BYTES >> 20);
    }
    size_t wanted = (size_t)(range.count * npy->slice_bytes);
    AUTO(text_freep) char *values = x_malloc((size_t)(range.count * value_bytes) + 1);
    bool is_column_major = npy->is_fortran && slice_values > 1 && range.count > 0;
    if (is_column_major
            ? read_columns(object, range, values, err) < 0
            : read_exactly(object, range.first * npy->slice_bytes, values, wanted, err) < 0) {
        return -1;
    }
    npy_convert(npy, values, range.count * slice_values);
    *ret_values = TAKE(values);
    return 0;
}
