/* thrift_reader.h: reads Thrift's compact protocol (thrift.h) from memory. The first fault ends the
 * reading: all later calls return 0, and `fault` says what it was; so a caller looks once, at the
 * end. Pure.
 *
 *     for (struct thrift_field field = {0}; thrift_reader_next(&reader, &field);) {
 *         switch (field.id) {
 *         case 1: rows = thrift_reader_whole(&reader, &field); break;
 *         default: thrift_reader_skip(&reader, &field);
 *         }
 *     }
 */
#pragma once

#include "agent/data/parquet/thrift.h"

struct thrift_reader {
    const uint8_t *begin, *at, *end; /* borrowed */
    const char *fault;               /* NULL: none; static */
    int depth;
};

struct thrift_field {
    int id;
    enum thrift_type type;
};

struct thrift_bytes {
    const char *data; /* borrowed */
    size_t size;
};

struct thrift_reader thrift_reader_over(const void *data, size_t size);
/* The next field of a struct, after `field`, which begins as {0}. False: the struct's end, or a
 * fault. Its value must be read or skipped. */
bool thrift_reader_next(struct thrift_reader *reader, struct thrift_field *field);
/* The value of a field of this type; another type is a fault. whole: i8 to i64. */
int64_t thrift_reader_whole(struct thrift_reader *reader, const struct thrift_field *field);
int32_t thrift_reader_i32(struct thrift_reader *reader, const struct thrift_field *field);
/* Reads the field into the number that `numbers` has for its id. False, and nothing is read: none.
 */
bool thrift_reader_numbers(struct thrift_reader *reader, const struct thrift_field *field,
                           int32_t *const *numbers, size_t count);
bool thrift_reader_flag(struct thrift_reader *reader, const struct thrift_field *field);
struct thrift_bytes thrift_reader_bytes(struct thrift_reader *reader,
                                        const struct thrift_field *field);
/* The number of elements of a list, whose type becomes that of *ret_element; they follow. An
 * element has at least a byte, so a count that the bytes cannot hold is a fault. */
size_t thrift_reader_list(struct thrift_reader *reader, const struct thrift_field *field,
                          struct thrift_field *ret_element);
/* A struct is entered: its fields follow. False: another type. */
bool thrift_reader_enter(struct thrift_reader *reader, const struct thrift_field *field);
void thrift_reader_leave(struct thrift_reader *reader);
void thrift_reader_skip(struct thrift_reader *reader, const struct thrift_field *field);
/* Sets the fault, unless there is one. */
void thrift_reader_fail(struct thrift_reader *reader, const char *fault);
