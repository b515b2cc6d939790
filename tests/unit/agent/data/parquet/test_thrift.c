// SPDX-License-Identifier: Apache-2.0
/* What thrift_writer writes, thrift_reader reads; cut or overlong bytes are a fault. */
#include "agent/data/parquet/thrift_reader.h"
#include "agent/data/parquet/thrift_writer.h"
#include "tests/test.h"

#include <string.h>

static void write_all(struct buffer *bytes) {
    struct thrift_writer writer = {.buffer = bytes};
    thrift_writer_flag(&writer, 1, true);
    thrift_writer_i8(&writer, 2, -5);
    thrift_writer_i16(&writer, 3, -300);
    thrift_writer_i32(&writer, 4, INT32_MIN);
    thrift_writer_i64(&writer, 40, INT64_MAX);
    thrift_writer_text(&writer, 41, "abc", 3);
    thrift_writer_list(&writer, 42, THRIFT_STRUCT, 20);
    for (int i = 0; i < 20; i++) {
        thrift_writer_begin(&writer, 0);
        thrift_writer_i64(&writer, 1, i - 10);
        thrift_writer_end(&writer);
    }
    thrift_writer_list(&writer, 43, THRIFT_TRUE, 2);
    thrift_writer_flag(&writer, 0, true);
    thrift_writer_flag(&writer, 0, false);
    thrift_writer_begin(&writer, 44);
    thrift_writer_flag(&writer, 3, false);
    thrift_writer_end(&writer);
    thrift_writer_stop(&writer);
    CHECK(writer.err.kind == ERROR_NONE);
}

struct seen {
    bool flag, inner;
    int64_t wholes[5];
    char text[8];
    int64_t sum;
    size_t elements;
};

static void read_elements(struct thrift_reader *reader, const struct thrift_field *field,
                          struct seen *seen) {
    struct thrift_field element;
    size_t count = thrift_reader_list(reader, field, &element);
    for (size_t i = 0; i < count && thrift_reader_enter(reader, &element); i++) {
        for (struct thrift_field inner = {0}; thrift_reader_next(reader, &inner);) {
            seen->sum += thrift_reader_whole(reader, &inner);
            seen->elements++;
        }
        thrift_reader_leave(reader);
    }
}

static const char *read_all(const void *data, size_t size, struct seen *seen) {
    struct thrift_reader reader = thrift_reader_over(data, size);
    for (struct thrift_field field = {0}; thrift_reader_next(&reader, &field);) {
        struct thrift_bytes text;
        switch (field.id) {
        case 1:
            seen->flag = thrift_reader_flag(&reader, &field);
            break;
        case 2:
        case 3:
        case 4:
            seen->wholes[field.id] = thrift_reader_i32(&reader, &field);
            break;
        case 40:
            seen->wholes[0] = thrift_reader_whole(&reader, &field);
            break;
        case 41:
            text = thrift_reader_bytes(&reader, &field);
            memcpy(seen->text, text.data, MIN(text.size, sizeof seen->text - 1));
            break;
        case 42:
            read_elements(&reader, &field, seen);
            break;
        default:
            thrift_reader_skip(&reader, &field);
        }
    }
    return reader.fault;
}

static void test_both(void) {
    AUTO(buffer_release) struct buffer bytes;
    struct seen seen = {0};
    buffer_init(&bytes, 4096);
    write_all(&bytes);
    CHECK(read_all(bytes.data, bytes.size, &seen) == NULL);
    CHECK(seen.flag && seen.wholes[2] == -5 && seen.wholes[3] == -300);
    CHECK(seen.wholes[4] == INT32_MIN && seen.wholes[0] == INT64_MAX);
    CHECK_STR(seen.text, "abc");
    CHECK(seen.elements == 20 && seen.sum == -10);
    for (size_t size = 0; size < bytes.size; size++) {
        CHECK(read_all(bytes.data, size, &seen) != NULL);
    }
}

static void test_faults(void) {
    static const char *const bad[] = {
        "\x16\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", /* more than 64 bits */
        "\x18\xff\xff\xff\x7f",                         /* a text beyond the end */
        "\x19\xfc\xff\xff\xff\x7f",                     /* a list beyond the end */
        "\x1d\x01",                                     /* no such type */
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct seen seen = {0};
        CHECK(read_all(bad[i], strlen(bad[i]) + 1, &seen) != NULL);
    }
    char deep[1000];
    struct seen seen = {0};
    memset(deep, '\x1c', sizeof deep);
    CHECK(read_all(deep, sizeof deep, &seen) != NULL);
    memset(deep, '\x19', sizeof deep);
    CHECK(read_all(deep, sizeof deep, &seen) != NULL);
}

int main(void) {
    TEST(test_both);
    TEST(test_faults);
    return TEST_END();
}
