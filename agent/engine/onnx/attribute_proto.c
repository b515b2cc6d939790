// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/onnx/attribute_proto.h"

#include "agent/engine/onnx/tensor_proto.h"

#include <string.h>

enum attribute_field {
    FIELD_NAME = 1,
    FIELD_NUMBER = 2,
    FIELD_INTEGER = 3,
    FIELD_TEXT = 4,
    FIELD_TENSOR = 5,
    FIELD_GRAPH = 6,
    FIELD_NUMBERS = 7,
    FIELD_INTEGERS = 8,
    FIELD_STRINGS = 9,
    FIELD_TYPE_PROTO = 14,
    FIELD_TYPE = 20,
};

/* The field (and ONNX's type number) of each supported kind. */
static const struct {
    uint32_t field;
    uint64_t onnx_type;
    enum attribute_kind kind;
} kinds[] = {
    {FIELD_NUMBER, 1, ATTRIBUTE_NUMBER},        {FIELD_INTEGER, 2, ATTRIBUTE_INTEGER},
    {FIELD_TEXT, 3, ATTRIBUTE_STRING},          {FIELD_TENSOR, 4, ATTRIBUTE_TENSOR},
    {FIELD_NUMBERS, 6, ATTRIBUTE_NUMBERS},      {FIELD_INTEGERS, 7, ATTRIBUTE_INTEGERS},
    {FIELD_STRINGS, 8, ATTRIBUTE_STRINGS},      {FIELD_GRAPH, 5, ATTRIBUTE_GRAPH},
    {FIELD_TYPE_PROTO, 13, ATTRIBUTE_OPTIONAL},
};

static float float_of_bits(uint64_t bits) {
    uint32_t low = (uint32_t)bits;
    float number;
    memcpy(&number, &low, sizeof number);
    return number;
}

/* The maximum number of elements of a repeated field in `field`. */
static size_t repeated_room(const struct protobuf_field *field) {
    return field->type == PROTOBUF_BYTES ? protobuf_size(field->bytes) : 1;
}

static int read_repeated(const struct protobuf_field *field, struct attribute *attribute,
                         int64_t *integers, float *numbers, struct error *err) {
    struct protobuf packed = field->bytes;
    bool is_single = field->type != PROTOBUF_BYTES;
    while (is_single || packed.at != packed.end) {
        uint64_t bits = field->integer;
        if (!is_single && numbers) {
            if (protobuf_size(packed) < 4) {
                return error_set(err, ERROR_INVALID, "packed numbers are truncated");
            }
            bits = 0;
            memcpy(&bits, packed.at, 4);
            packed.at += 4;
        } else if (!is_single && protobuf_varint(&packed, &bits, err) < 0) {
            return -1;
        }
        if (numbers) {
            numbers[attribute->count++] = float_of_bits(bits);
        } else {
            integers[attribute->count++] = (int64_t)bits;
        }
        if (is_single) {
            break;
        }
    }
    return 0;
}

/* The second pass, for lists: the first has summed up their size. */
static int read_list(struct protobuf message, size_t room, uint32_t number, struct arena *arena,
                     struct attribute *attribute, struct error *err) {
    int64_t *integers = NULL;
    float *numbers = NULL;
    if (number == FIELD_INTEGERS) {
        attribute->integers = integers = arena_array(arena, room, sizeof *integers);
    } else {
        attribute->numbers = numbers = arena_array(arena, room, sizeof *numbers);
    }
    struct protobuf_field field;
    int more;
    while ((more = protobuf_next(&message, &field, err)) > 0) {
        if (field.number == number &&
            read_repeated(&field, attribute, integers, numbers, err) < 0) {
            return -1;
        }
    }
    return more;
}

static int expect_bytes(const struct protobuf_field *field, struct error *err) {
    return field->type == PROTOBUF_BYTES
               ? 0
               : error_set(err, ERROR_INVALID, "field %u of an attribute is not a string",
                           field->number);
}

/* Reads a list of strings, which are not copied. */
static int read_strings(struct protobuf message, size_t room, struct arena *arena,
                        struct attribute *attribute, struct error *err) {
    struct attribute_string *strings = arena_array(arena, room, sizeof *strings);
    struct protobuf_field field;
    int more;
    while ((more = protobuf_next(&message, &field, err)) > 0) {
        if (field.number == FIELD_STRINGS) {
            strings[attribute->count++] =
                (struct attribute_string){(const char *)field.bytes.at, protobuf_size(field.bytes)};
        }
    }
    attribute->strings = strings;
    return more;
}

struct scan {
    uint64_t onnx_type; /* 0: not in the file, which is of an old version */
    uint32_t seen;      /* the last field with a value */
    size_t room, string_room;
    struct protobuf tensor, graph;
};

static int scan_field(const struct protobuf_field *field, struct arena *arena,
                      struct attribute *attribute, struct scan *scan, struct error *err) {
    switch (field->number) {
    case FIELD_NAME:
    case FIELD_TEXT: {
        if (expect_bytes(field, err) < 0) {
            return -1;
        }
        const char *text =
            arena_text(arena, (const char *)field->bytes.at, protobuf_size(field->bytes));
        *(field->number == FIELD_NAME ? &attribute->name : &attribute->text) = text;
        break;
    }
    case FIELD_NUMBER:
        attribute->number = float_of_bits(field->integer);
        break;
    case FIELD_INTEGER:
        attribute->integer = (int64_t)field->integer;
        break;
    case FIELD_TENSOR:
        if (expect_bytes(field, err) < 0) {
            return -1;
        }
        scan->tensor = field->bytes;
        break;
    case FIELD_GRAPH:
        if (expect_bytes(field, err) < 0) {
            return -1;
        }
        scan->graph = field->bytes;
        break;
    case FIELD_INTEGERS:
    case FIELD_NUMBERS:
        scan->room += repeated_room(field);
        break;
    case FIELD_STRINGS:
        if (expect_bytes(field, err) < 0) {
            return -1;
        }
        scan->string_room++;
        break;
    case FIELD_TYPE:
        scan->onnx_type = field->integer;
        break;
    default:
        break;
    }
    if (field->number != FIELD_NAME && field->number < FIELD_TYPE) {
        scan->seen = field->number;
    }
    return 0;
}

int attribute_proto_read(struct protobuf message, struct arena *arena,
                         struct attribute *ret_attribute, struct protobuf *ret_graph,
                         struct error *err) {
    struct attribute attribute = {.name = "", .text = ""};
    struct scan scan = {0};
    struct protobuf rest = message, name;
    struct protobuf_field field;
    int more;
    while ((more = protobuf_next(&rest, &field, err)) > 0) {
        if (scan_field(&field, arena, &attribute, &scan, err) < 0) {
            return error_context(err, "attribute \"%.64s\"", attribute.name);
        }
    }
    if (more < 0) {
        return -1;
    }
    size_t i = 0;
    while (i < ARRAY_LEN(kinds) &&
           (scan.onnx_type ? kinds[i].onnx_type != scan.onnx_type : kinds[i].field != scan.seen)) {
        i++;
    }
    if (i == ARRAY_LEN(kinds)) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "attribute \"%.64s\" is of a kind (ONNX type %llu) that is not supported",
                         attribute.name, (unsigned long long)scan.onnx_type);
    }
    attribute.kind = kinds[i].kind;
    int result = 0;
    if (attribute.kind == ATTRIBUTE_TENSOR) {
        result = tensor_proto_read(scan.tensor, arena, &attribute.tensor, &name, NULL, err);
    } else if (attribute.kind == ATTRIBUTE_INTEGERS || attribute.kind == ATTRIBUTE_NUMBERS) {
        result = read_list(message, scan.room, kinds[i].field, arena, &attribute, err);
    } else if (attribute.kind == ATTRIBUTE_STRINGS) {
        result = read_strings(message, scan.string_room, arena, &attribute, err);
    }
    if (result < 0) {
        return error_context(err, "attribute \"%.64s\"", attribute.name);
    }
    *ret_attribute = attribute;
    *ret_graph = scan.graph;
    return 0;
}
