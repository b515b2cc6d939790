/* thrift_writer.h: writes Thrift's compact protocol (thrift.h) into a buffer. The first failure of
 * the buffer is kept in `err`, and all later calls do nothing; so a caller looks once, at the end.
 *
 *     struct thrift_writer writer = {.buffer = &bytes};
 *     thrift_writer_i64(&writer, 3, rows);
 *     thrift_writer_list(&writer, 4, THRIFT_STRUCT, 2);
 *     for (...) {
 *         thrift_writer_begin(&writer, 0);      // an element
 *         thrift_writer_text(&writer, 1, "id", 2);
 *         thrift_writer_end(&writer);
 *     }
 *     thrift_writer_stop(&writer);              // the outermost struct
 */
#pragma once

#include "agent/data/parquet/thrift.h"
#include "lib/buffer.h"

struct thrift_writer {
    struct buffer *buffer;      /* borrowed */
    int last[THRIFT_DEPTH_MAX]; /* id of the last field, of each struct that is open */
    int depth;                  /* of open structs; 0: the outermost */
    struct error err;           /* kind ERROR_NONE: all is well */
};

/* Fields of the open struct, in rising order of their ids; id 0: an element of a list. */
void thrift_writer_flag(struct thrift_writer *writer, int id, bool flag);
void thrift_writer_i8(struct thrift_writer *writer, int id, int8_t number);
void thrift_writer_i16(struct thrift_writer *writer, int id, int16_t number);
void thrift_writer_i32(struct thrift_writer *writer, int id, int32_t number);
void thrift_writer_i64(struct thrift_writer *writer, int id, int64_t number);
void thrift_writer_text(struct thrift_writer *writer, int id, const char *text, size_t size);
/* Exactly `count` elements must follow. */
void thrift_writer_list(struct thrift_writer *writer, int id, enum thrift_type type, size_t count);
void thrift_writer_begin(struct thrift_writer *writer, int id); /* opens a struct */
void thrift_writer_end(struct thrift_writer *writer);
void thrift_writer_stop(struct thrift_writer *writer);
