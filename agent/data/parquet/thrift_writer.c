// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parquet/thrift_writer.h"

#include <assert.h>

static void put(struct thrift_writer *writer, const void *data, size_t size) {
    if (writer->err.kind == ERROR_NONE) {
        (void)!buffer_append(writer->buffer, data, size, &writer->err);
    }
}

static void put_byte(struct thrift_writer *writer, unsigned byte) {
    uint8_t one = (uint8_t)byte;
    put(writer, &one, 1);
}

static void put_varint(struct thrift_writer *writer, uint64_t number) {
    for (; number > 0x7f; number >>= 7) {
        put_byte(writer, 0x80 | (number & 0x7f));
    }
    put_byte(writer, (unsigned)number);
}

static void put_zigzag(struct thrift_writer *writer, int64_t number) {
    put_varint(writer, (uint64_t)number << 1 ^ (uint64_t)(number >> 63));
}

/* An element of a list has no head: the list says the type. */
static void put_head(struct thrift_writer *writer, int id, enum thrift_type type) {
    int *last = &writer->last[writer->depth];
    if (id == 0) {
        return;
    }
    assert(id > *last);
    if (id - *last <= 15) {
        put_byte(writer, (unsigned)(id - *last) << 4 | type);
    } else {
        put_byte(writer, type);
        put_zigzag(writer, id);
    }
    *last = id;
}

void thrift_writer_flag(struct thrift_writer *writer, int id, bool flag) {
    if (id == 0) {
        put_byte(writer, flag ? THRIFT_TRUE : THRIFT_FALSE);
    }
    put_head(writer, id, flag ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_writer_i8(struct thrift_writer *writer, int id, int8_t number) {
    put_head(writer, id, THRIFT_I8);
    put_byte(writer, (uint8_t)number);
}

void thrift_writer_i16(struct thrift_writer *writer, int id, int16_t number) {
    put_head(writer, id, THRIFT_I16);
    put_zigzag(writer, number);
}

void thrift_writer_i32(struct thrift_writer *writer, int id, int32_t number) {
    put_head(writer, id, THRIFT_I32);
    put_zigzag(writer, number);
}

void thrift_writer_i64(struct thrift_writer *writer, int id, int64_t number) {
    put_head(writer, id, THRIFT_I64);
    put_zigzag(writer, number);
}

void thrift_writer_text(struct thrift_writer *writer, int id, const char *text, size_t size) {
    put_head(writer, id, THRIFT_BINARY);
    put_varint(writer, size);
    put(writer, text, size);
}

void thrift_writer_list(struct thrift_writer *writer, int id, enum thrift_type type, size_t count) {
    put_head(writer, id, THRIFT_LIST);
    put_byte(writer, (unsigned)MIN(count, (size_t)15) << 4 | type);
    if (count >= 15) {
        put_varint(writer, count);
    }
}

void thrift_writer_begin(struct thrift_writer *writer, int id) {
    put_head(writer, id, THRIFT_STRUCT);
    assert(writer->depth + 1 < THRIFT_DEPTH_MAX);
    writer->last[++writer->depth] = 0;
}

void thrift_writer_end(struct thrift_writer *writer) {
    assert(writer->depth > 0);
    put_byte(writer, THRIFT_STOP);
    writer->depth--;
}

void thrift_writer_stop(struct thrift_writer *writer) {
    assert(writer->depth == 0);
    put_byte(writer, THRIFT_STOP);
}
