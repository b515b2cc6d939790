// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parquet/thrift_reader.h"

#include <string.h>

struct thrift_reader thrift_reader_over(const void *data, size_t size) {
    const uint8_t *bytes = data;
    return (struct thrift_reader){.begin = bytes, .at = bytes, .end = bytes + size};
}

void thrift_reader_fail(struct thrift_reader *reader, const char *fault) {
    reader->fault = reader->fault ? reader->fault : fault;
    reader->at = reader->end;
}

static uint8_t take_byte(struct thrift_reader *reader) {
    if (reader->at == reader->end) {
        thrift_reader_fail(reader, "unexpected end");
        return 0;
    }
    return *reader->at++;
}

static uint64_t take_varint(struct thrift_reader *reader) {
    uint64_t number = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        uint8_t byte = take_byte(reader);
        if (shift == 63 && byte > 1) {
            break;
        }
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            return number;
        }
    }
    thrift_reader_fail(reader, "a number of more than 64 bits");
    return 0;
}

static int64_t take_zigzag(struct thrift_reader *reader) {
    uint64_t number = take_varint(reader);
    return (int64_t)(number >> 1 ^ (~(number & 1) + 1));
}

bool thrift_reader_next(struct thrift_reader *reader, struct thrift_field *field) {
    uint8_t head = reader->fault ? 0 : take_byte(reader);
    int type = head & 15;
    if (type == THRIFT_STOP) {
        return false;
    }
    int64_t id = head >> 4 ? field->id + (head >> 4) : take_zigzag(reader);
    if (type > THRIFT_STRUCT || id < 0 || id > INT16_MAX) {
        thrift_reader_fail(reader, "an unknown kind of field");
        return false;
    }
    *field = (struct thrift_field){.id = (int)id, .type = (enum thrift_type)type};
    return !reader->fault;
}

int64_t thrift_reader_whole(struct thrift_reader *reader, const struct thrift_field *field) {
    switch (field->type) {
    case THRIFT_I8:
        return (int8_t)take_byte(reader);
    case THRIFT_I16:
    case THRIFT_I32:
    case THRIFT_I64:
        return take_zigzag(reader);
    default:
        thrift_reader_fail(reader, "a whole number is expected");
        return 0;
    }
}

int32_t thrift_reader_i32(struct thrift_reader *reader, const struct thrift_field *field) {
    int64_t whole = thrift_reader_whole(reader, field);
    if (whole < INT32_MIN || whole > INT32_MAX) {
        thrift_reader_fail(reader, "a number of more than 32 bits");
        return 0;
    }
    return (int32_t)whole;
}

bool thrift_reader_numbers(struct thrift_reader *reader, const struct thrift_field *field,
                           int32_t *const *numbers, size_t count) {
    if ((size_t)field->id >= count || !numbers[field->id]) {
        return false;
    }
    *numbers[field->id] = thrift_reader_i32(reader, field);
    return true;
}

bool thrift_reader_flag(struct thrift_reader *reader, const struct thrift_field *field) {
    if (field->type != THRIFT_TRUE && field->type != THRIFT_FALSE) {
        thrift_reader_fail(reader, "true or false is expected");
    }
    return field->type == THRIFT_TRUE;
}

struct thrift_bytes thrift_reader_bytes(struct thrift_reader *reader,
                                        const struct thrift_field *field) {
    if (field->type != THRIFT_BINARY) {
        thrift_reader_fail(reader, "a string is expected");
        return (struct thrift_bytes){.data = ""};
    }
    uint64_t size = take_varint(reader);
    if (size > (uint64_t)(reader->end - reader->at)) {
        thrift_reader_fail(reader, "unexpected end of a string");
        return (struct thrift_bytes){.data = ""};
    }
    const char *data = (const char *)reader->at;
    reader->at += size;
    return (struct thrift_bytes){data, (size_t)size};
}

size_t thrift_reader_list(struct thrift_reader *reader, const struct thrift_field *field,
                          struct thrift_field *ret_element) {
    *ret_element = (struct thrift_field){0};
    if (field->type != THRIFT_LIST && field->type != THRIFT_SET) {
        thrift_reader_fail(reader, "a list is expected");
        return 0;
    }
    uint8_t head = take_byte(reader);
    uint64_t count = head >> 4 == 15 ? take_varint(reader) : head >> 4;
    int type = head & 15;
    if (type == THRIFT_STOP || type > THRIFT_STRUCT ||
        count > (uint64_t)(reader->end - reader->at)) {
        thrift_reader_fail(reader, "a list that is longer than its file");
        return 0;
    }
    ret_element->type = (enum thrift_type)type;
    return (size_t)count;
}

bool thrift_reader_enter(struct thrift_reader *reader, const struct thrift_field *field) {
    if (field->type != THRIFT_STRUCT || reader->depth >= THRIFT_DEPTH_MAX) {
        thrift_reader_fail(reader, field->type == THRIFT_STRUCT ? "structs are nested too deeply"
                                                                : "a struct is expected");
        return false;
    }
    reader->depth++;
    return true;
}

void thrift_reader_leave(struct thrift_reader *reader) {
    reader->depth--;
}

/* ---- skipping ------------------------------------------------------------------------------- */

static void skip_value(struct thrift_reader *reader, const struct thrift_field *field,
                       bool is_element);

static void skip_list(struct thrift_reader *reader, const struct thrift_field *field) {
    struct thrift_field element;
    size_t count = thrift_reader_list(reader, field, &element);
    if (reader->depth >= THRIFT_DEPTH_MAX) {
        thrift_reader_fail(reader, "lists are nested too deeply");
        return;
    }
    reader->depth++;
    for (size_t i = 0; i < count && !reader->fault; i++) {
        skip_value(reader, &element, true);
    }
    reader->depth--;
}

static void skip_map(struct thrift_reader *reader) {
    uint64_t count = take_varint(reader);
    uint8_t types = count ? take_byte(reader) : 0;
    const struct thrift_field key = {.type = types >> 4}, value = {.type = types & 15};
    if (reader->depth >= THRIFT_DEPTH_MAX || count > (uint64_t)(reader->end - reader->at)) {
        thrift_reader_fail(reader, "a map that is longer than its file, or too deep");
        return;
    }
    reader->depth++;
    for (uint64_t i = 0; i < count && !reader->fault; i++) {
        skip_value(reader, &key, true);
        skip_value(reader, &value, true);
    }
    reader->depth--;
}

static void skip_struct(struct thrift_reader *reader, const struct thrift_field *field) {
    if (thrift_reader_enter(reader, field)) {
        for (struct thrift_field inner = {0}; thrift_reader_next(reader, &inner);) {
            skip_value(reader, &inner, false);
        }
        thrift_reader_leave(reader);
    }
}

static void skip_value(struct thrift_reader *reader, const struct thrift_field *field,
                       bool is_element) {
    switch (field->type) {
    case THRIFT_TRUE:
    case THRIFT_FALSE: /* a field's head has its value; an element has a byte */
        if (is_element) {
            (void)take_byte(reader);
        }
        break;
    case THRIFT_I8:
    case THRIFT_I16:
    case THRIFT_I32:
    case THRIFT_I64:
        (void)thrift_reader_whole(reader, field);
        break;
    case THRIFT_DOUBLE:
        for (int i = 0; i < 8; i++) {
            (void)take_byte(reader);
        }
        break;
    case THRIFT_BINARY:
        (void)thrift_reader_bytes(reader, field);
        break;
    case THRIFT_LIST:
    case THRIFT_SET:
        skip_list(reader, field);
        break;
    case THRIFT_MAP:
        skip_map(reader);
        break;
    case THRIFT_STRUCT:
        skip_struct(reader, field);
        break;
    default:
        thrift_reader_fail(reader, "an unknown type of value");
    }
}

void thrift_reader_skip(struct thrift_reader *reader, const struct thrift_field *field) {
    skip_value(reader, field, false);
}
