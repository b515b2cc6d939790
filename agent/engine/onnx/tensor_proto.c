// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/onnx/tensor_proto.h"

#include "agent/engine/onnx/put.h"
#include "lib/file.h"

#include <stdlib.h>
#include <string.h>

enum tensor_field {
    FIELD_DIMS = 1,
    FIELD_TYPE = 2,
    FIELD_SEGMENT = 3,
    FIELD_FLOATS = 4,
    FIELD_INT32S = 5,
    FIELD_STRINGS = 6,
    FIELD_INT64S = 7,
    FIELD_NAME = 8,
    FIELD_RAW = 9,
    FIELD_DOUBLES = 10,
    FIELD_UINT64S = 11,
    FIELD_EXTERNAL = 13,
    FIELD_LOCATION = 14,
};

static const char *const onnx_type_names[] = {
    "undefined",      "float",      "uint8",          "int8",       "uint16",   "int16",
    "int32",          "int64",      "string",         "bool",       "float16",  "double",
    "uint32",         "uint64",     "complex64",      "complex128", "bfloat16", "float8e4m3fn",
    "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",      "int4",     "float4e2m1",
    "float8e8m0",     "uint2",      "int2",
};
static const size_t file_bytes_max = (size_t)1 << 31;

int tensor_proto_type(uint64_t onnx_type, enum tensor_type *ret_type, struct error *err) {
    if (onnx_type == 0 || onnx_type >= ARRAY_LEN(onnx_type_names)) {
        return error_set(err, ERROR_INVALID, "the element type %llu is unknown",
                         (unsigned long long)onnx_type);
    }
    return tensor_type_from_onnx((int64_t)onnx_type, ret_type)
               ? 0
               : error_set(err, ERROR_UNSUPPORTED, "the element type %s is not supported",
                           onnx_type_names[onnx_type]);
}

/* The fields of a message. Repeated numbers may be in several pieces (packed or not); `numbers` is
 * the whole message, which is read again for them. */
struct parts {
    struct shape shape;
    uint64_t onnx_type;
    struct protobuf name, raw, message;
    bool has_raw;
    bool is_apart; /* in: elements in another file are allowed */
};

static int add_dim(struct shape *shape, uint64_t value, struct error *err) {
    int64_t size = (int64_t)value;
    if (shape->rank == TENSOR_RANK_MAX) {
        return error_set(err, ERROR_UNSUPPORTED, "a tensor with more than %d dimensions",
                         TENSOR_RANK_MAX);
    }
    if (size < 0) {
        return error_set(err, ERROR_INVALID, "a dimension of %lld", (long long)size);
    }
    shape->dims[shape->rank++] = size;
    return 0;
}

static int add_dims(struct shape *shape, const struct protobuf_field *field, struct error *err) {
    if (field->type == PROTOBUF_VARINT) {
        return add_dim(shape, field->integer, err);
    }
    struct protobuf packed = field->bytes;
    uint64_t value;
    while (packed.at != packed.end) {
        if (protobuf_varint(&packed, &value, err) < 0 || add_dim(shape, value, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int expect_bytes(const struct protobuf_field *field, struct error *err) {
    return field->type == PROTOBUF_BYTES
               ? 0
               : error_set(err, ERROR_INVALID, "field %u of a tensor is not a string",
                           field->number);
}

static int check_location(const struct protobuf_field *field, struct error *err) {
    return field->number == FIELD_LOCATION && field->integer == 0
               ? 0
               : error_set(err, ERROR_UNSUPPORTED,
                           "its data is in another file; only that of initializers may be");
}

static int read_parts(struct protobuf message, struct parts *parts, struct error *err) {
    struct protobuf_field field;
    int more;
    parts->message = message;
    while ((more = protobuf_next(&message, &field, err)) > 0) {
        int result = 0;
        switch (field.number) {
        case FIELD_DIMS:
            result = add_dims(&parts->shape, &field, err);
            break;
        case FIELD_TYPE:
            parts->onnx_type = field.integer;
            break;
        case FIELD_NAME:
            result = expect_bytes(&field, err);
            parts->name = field.bytes;
            break;
        case FIELD_RAW:
            result = expect_bytes(&field, err);
            parts->raw = field.bytes;
            parts->has_raw = true;
            break;
        case FIELD_SEGMENT:
            result = error_set(err, ERROR_UNSUPPORTED, "tensors in segments are not supported");
            break;
        case FIELD_EXTERNAL:
        case FIELD_LOCATION:
            result = parts->is_apart ? 0 : check_location(&field, err);
            break;
        default:
            break;
        }
        if (result < 0) {
            return -1;
        }
    }
    return more;
}

/* The repeated field with elements of this type, and the bytes per element in it (0: varints). */
static uint32_t typed_field(enum tensor_type type, size_t *ret_width) {
    *ret_width = 0;
    switch (type) {
    case TENSOR_FLOAT32:
        *ret_width = 4;
        return FIELD_FLOATS;
    case TENSOR_FLOAT64:
        *ret_width = 8;
        return FIELD_DOUBLES;
    case TENSOR_INT64:
        return FIELD_INT64S;
    case TENSOR_UINT32:
    case TENSOR_UINT64:
        return FIELD_UINT64S;
    default:
        return FIELD_INT32S;
    }
}

static void store(enum tensor_type type, void *data, size_t index, uint64_t bits) {
    switch (tensor_type_size(type)) {
    case 8:
        ((uint64_t *)data)[index] = bits;
        break;
    case 4:
        ((uint32_t *)data)[index] = (uint32_t)bits;
        break;
    case 2:
        ((uint16_t *)data)[index] = (uint16_t)bits;
        break;
    default:
        ((uint8_t *)data)[index] = type == TENSOR_BOOL ? bits != 0 : (uint8_t)bits;
    }
}

/* Reads one field's numbers into data from `used` on; never beyond count. */
static int read_numbers(const struct protobuf_field *field, size_t width, struct tensor *tensor,
                        size_t count, size_t *used, struct error *err) {
    struct protobuf packed = field->bytes;
    bool single = field->type != PROTOBUF_BYTES;
    while (single || packed.at != packed.end) {
        uint64_t bits = field->integer;
        if (*used == count) {
            return error_set(err, ERROR_INVALID, "it has more than the %zu elements of its shape",
                             count);
        }
        if (!single && width > protobuf_size(packed)) {
            return error_set(err, ERROR_INVALID, "its data ends within an element");
        }
        if (!single && width) {
            bits = 0;
            memcpy(&bits, packed.at, width);
            packed.at += width;
        } else if (!single && protobuf_varint(&packed, &bits, err) < 0) {
            return -1;
        }
        store(tensor->type, tensor->data, (*used)++, bits);
        if (single) {
            break;
        }
    }
    return 0;
}

static int read_typed(const struct parts *parts, struct tensor *tensor, size_t count,
                      struct error *err) {
    size_t width, used = 0;
    uint32_t wanted = typed_field(tensor->type, &width);
    struct protobuf message = parts->message;
    struct protobuf_field field;
    int more;
    while ((more = protobuf_next(&message, &field, err)) > 0) {
        if (field.number == wanted && read_numbers(&field, width, tensor, count, &used, err) < 0) {
            return -1;
        }
    }
    if (more == 0 && used != count) {
        return error_set(err, ERROR_INVALID, "it has %zu elements, its shape has %zu", used, count);
    }
    return more;
}

int tensor_proto_read(struct protobuf message, struct arena *arena, struct tensor *ret_tensor,
                      struct protobuf *ret_name, const void **ret_raw, struct error *err) {
    struct parts parts = {0};
    struct tensor tensor = {0};
    if (read_parts(message, &parts, err) < 0 ||
        tensor_proto_type(parts.onnx_type, &tensor.type, err) < 0) {
        return -1;
    }
    int64_t count = shape_count(&parts.shape);
    size_t width = tensor_type_size(tensor.type);
    /* Every element takes at least one byte of the file, so the file's size bounds the
     * allocation. */
    if (count < 0 || (size_t)count > protobuf_size(message)) {
        char text[128];
        shape_format(&parts.shape, text);
        return error_set(err, ERROR_INVALID, "its shape %s is larger than its data", text);
    }
    tensor.shape = parts.shape;
    size_t size = (size_t)count * width;
    if (parts.has_raw && protobuf_size(parts.raw) != size) {
        return error_set(err, ERROR_INVALID, "it has %zu bytes of data, its shape needs %zu",
                         protobuf_size(parts.raw), size);
    }
    if (parts.has_raw && (uintptr_t)parts.raw.at % width == 0 && tensor.type != TENSOR_BOOL) {
        tensor.data = (void *)(uintptr_t)parts.raw.at; /* never written to */
    } else {
        tensor.data = arena_alloc(arena, size);
        if (!parts.has_raw && read_typed(&parts, &tensor, (size_t)count, err) < 0) {
            return -1;
        }
        if (parts.has_raw && size) {
            memcpy(tensor.data, parts.raw.at, size);
        }
        for (size_t i = 0; tensor.type == TENSOR_BOOL && i < size; i++) {
            ((uint8_t *)tensor.data)[i] = ((uint8_t *)tensor.data)[i] != 0;
        }
    }
    *ret_tensor = tensor;
    *ret_name = parts.name;
    if (ret_raw) {
        *ret_raw = parts.has_raw && tensor.type != TENSOR_BOOL ? parts.raw.at : NULL;
    }
    return 0;
}

int tensor_proto_head(struct protobuf message, struct tensor *ret_tensor, struct protobuf *ret_name,
                      struct error *err) {
    struct parts parts = {.is_apart = true};
    struct tensor tensor = {0};
    if (read_parts(message, &parts, err) < 0 ||
        tensor_proto_type(parts.onnx_type, &tensor.type, err) < 0) {
        return -1;
    }
    tensor.shape = parts.shape;
    *ret_tensor = tensor;
    *ret_name = parts.name;
    return 0;
}

int tensor_proto_load(const char *path, struct tensor *ret_tensor, struct error *err) {
    AUTO(text_freep) char *data = NULL;
    size_t size;
    if (file_read(path, file_bytes_max, &data, &size, err) < 0) {
        return -1;
    }
    struct arena arena = {0};
    struct tensor borrowed, tensor;
    struct protobuf name, bytes = {(const uint8_t *)data, (const uint8_t *)data + size};
    int result = tensor_proto_read(bytes, &arena, &borrowed, &name, NULL, err);
    if (result == 0) {
        result = tensor_init(&tensor, borrowed.type, &borrowed.shape, err);
    }
    if (result == 0) {
        memcpy(tensor.data, borrowed.data,
               (size_t)shape_count(&tensor.shape) * tensor_type_size(tensor.type));
        *ret_tensor = tensor;
    }
    arena_release(&arena);
    return result < 0 ? error_context(err, "%s", path) : 0;
}

int tensor_proto_put(struct buffer *buffer, const char *name, const struct tensor *tensor,
                     struct error *err) {
    int result = 0;
    for (int i = 0; result == 0 && i < tensor->shape.rank; i++) {
        result = put_integer(buffer, FIELD_DIMS, tensor->shape.dims[i], err);
    }
    return result < 0 || put_integer(buffer, FIELD_TYPE, tensor_type_onnx(tensor->type), err) < 0 ||
                   put_text(buffer, FIELD_NAME, name, err) < 0 ||
                   put_bytes(buffer, FIELD_RAW, tensor->data,
                             (size_t)shape_count(&tensor->shape) * tensor_type_size(tensor->type),
                             err) < 0
               ? -1
               : 0;
}

int tensor_proto_save(const char *path, const char *name, const struct tensor *tensor,
                      struct error *err) {
    AUTO(buffer_release) struct buffer buffer;
    buffer_init(&buffer, file_bytes_max);
    if (tensor_proto_put(&buffer, name, tensor, err) < 0) {
        return error_context(err, "%s", path);
    }
    return file_write(path, buffer.data, buffer.size, err);
}
