// SPDX-License-Identifier: Apache-2.0
/* Values as JSON: limits of every type, and what has no JSON. */
#include "agent/data/parquet/parquet_values.h"
#include "agent/data/parquet/value_json.h"
#include "tests/test.h"

#include <math.h>
#include <string.h>

/* The value's JSON, or the error's text; in a static buffer. */
static const char *json_of(struct parquet_leaf column, const void *value) {
    static char text[600];
    struct error err = {0};
    struct buffer json;
    buffer_init(&json, sizeof text - 1);
    int result = value_json_append(&json, &column, value, 0, &err);
    snprintf(text, sizeof text, "%s", result < 0 ? err.text : json.data);
    buffer_release(&json);
    return text;
}

#define COLUMN(t, k, ...)                                                                          \
    (struct parquet_leaf) {                                                                        \
        .type = PARQUET_##t, .kind = PARQUET_MEANS_##k, ##__VA_ARGS__                              \
    }

static const char *whole(struct parquet_leaf column, int64_t number) {
    int32_t narrow = (int32_t)number;
    return json_of(column, column.type == PARQUET_INT32 ? (void *)&narrow : (void *)&number);
}

static const char *bytes_of(struct parquet_leaf column, const char *data, size_t size) {
    struct parquet_value_bytes bytes = {(const uint8_t *)data, size};
    return json_of(column, &bytes);
}

static void test_whole_numbers(void) {
    CHECK_STR(whole(COLUMN(INT32, INT), INT32_MIN), "-2147483648");
    CHECK_STR(whole(COLUMN(INT32, UINT), -1), "4294967295");
    CHECK_STR(whole(COLUMN(INT64, INT), INT64_MIN), "-9223372036854775808");
    CHECK_STR(whole(COLUMN(INT64, UINT), -1), "18446744073709551615");
    CHECK_STR(whole(COLUMN(INT64, INT), 0), "0");
}

static void test_decimals(void) {
    CHECK_STR(whole(COLUMN(INT32, DECIMAL, .scale = 2), -5), "-0.05");
    CHECK_STR(whole(COLUMN(INT32, DECIMAL, .scale = 0), 17), "17");
    CHECK_STR(whole(COLUMN(INT64, DECIMAL, .scale = 18), INT64_MIN), "-9.223372036854775808");
    CHECK_STR(whole(COLUMN(INT32, DECIMAL, .scale = 3), 1000), "1.000");
    struct parquet_leaf large = COLUMN(FIXED_LEN_BYTE_ARRAY, DECIMAL, .width = 16, .scale = 38);
    CHECK_STR(bytes_of(large, "\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16),
              "-1.70141183460469231731687303715884105728");
    large.scale = 0;
    CHECK_STR(
        bytes_of(large, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16),
        "-1");
    CHECK_STR(bytes_of(COLUMN(BYTE_ARRAY, DECIMAL, .scale = 1), "", 0), "0.0");
    CHECK_STR(bytes_of(COLUMN(BYTE_ARRAY, DECIMAL), "123456789012345678901234567890123", 33),
              "a decimal of 33 bytes, at most 32 are read");
}

static void test_real_numbers(void) {
    static const struct {
        double number;
        const char *text;
    } rows[] = {{0.1, "0.1"},
                {1e300, "1e+300"},
                {-0.0, "-0"},
                {NAN, "\"NaN\""},
                {INFINITY, "\"Infinity\""},
                {-INFINITY, "\"-Infinity\""},
                {1.0 / 3, "0.3333333333333333"},
                {5e-324, "4.94065645841247e-324"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_STR(json_of(COLUMN(DOUBLE, DOUBLE), &rows[i].number), rows[i].text);
    }
    float real = 16777217.0f;
    CHECK_STR(json_of(COLUMN(FLOAT, FLOAT), &real), "16777216");
    real = 0.1f;
    CHECK_STR(json_of(COLUMN(FLOAT, FLOAT), &real), "0.1");
    struct parquet_leaf half = COLUMN(FIXED_LEN_BYTE_ARRAY, HALF, .width = 2);
    CHECK_STR(bytes_of(half, "\x00\x3c", 2), "1");
    CHECK_STR(bytes_of(half, "\x00\x7c", 2), "\"Infinity\"");
}

static void test_times(void) {
    CHECK_STR(whole(COLUMN(INT32, DATE), 0), "\"1970-01-01\"");
    CHECK_STR(whole(COLUMN(INT32, DATE), -719162), "\"0001-01-01\"");
    CHECK_STR(whole(COLUMN(INT32, DATE), 11016), "\"2000-02-29\"");
    CHECK_STR(whole(COLUMN(INT32, DATE), INT32_MAX), "\"5881580-07-11\"");
    CHECK_STR(whole(COLUMN(INT32, DATE), INT32_MIN), "\"-5877641-06-23\"");
    struct parquet_leaf time = COLUMN(INT32, TIME, .unit = PARQUET_MILLIS);
    CHECK_STR(whole(time, 86399999), "\"23:59:59.999\"");
    CHECK_STR(whole(time, 86400000), "the time is 86400000, expected 0 to 86399999, within a day");
    CHECK_STR(whole(time, -1), "the time is -1, expected 0 to 86399999, within a day");
    CHECK_STR(whole(COLUMN(INT64, TIME, .unit = PARQUET_NANOS), 1), "\"00:00:00.000000001\"");
    struct parquet_leaf moment = COLUMN(INT64, TIMESTAMP, .unit = PARQUET_MICROS, .is_utc = true);
    CHECK_STR(whole(moment, -1), "\"1969-12-31T23:59:59.999999Z\"");
    CHECK_STR(whole(moment, INT64_MAX), "\"294247-01-10T04:00:54.775807Z\"");
    moment.unit = PARQUET_NANOS;
    moment.is_utc = false;
    CHECK_STR(whole(moment, INT64_MIN), "\"1677-09-21T00:12:43.145224192\"");
    moment.unit = PARQUET_MILLIS;
    CHECK_STR(whole(moment, 1500), "\"1970-01-01T00:00:01.5\"");
    CHECK_STR(whole(moment, INT64_MIN), "\"-292275055-05-16T16:47:04.192\"");
    CHECK_STR(bytes_of(COLUMN(INT96, INT96), "\x00\xca\x9a\x3b\0\0\0\0\x8c\x3d\x25\x00", 12),
              "\"1970-01-01T00:00:01\"");
}

static void test_bytes(void) {
    CHECK_STR(bytes_of(COLUMN(BYTE_ARRAY, TEXT), "a\"\n\xc3\xa4", 5), "\"a\\\"\\n\xc3\xa4\"");
    CHECK_STR(bytes_of(COLUMN(BYTE_ARRAY, TEXT), "\xff", 1), "the text is not UTF-8");
    CHECK_STR(bytes_of(COLUMN(BYTE_ARRAY, BYTES), "\0\xff", 2), "\"AP8=\"");
    CHECK_STR(bytes_of(COLUMN(FIXED_LEN_BYTE_ARRAY, UUID, .width = 16), "0123456789abcdef", 16),
              "\"30313233-3435-3637-3839-616263646566\"");
    CHECK_STR(bytes_of(COLUMN(FIXED_LEN_BYTE_ARRAY, INTERVAL, .width = 12),
                       "\1\0\0\0\2\0\0\0\xff\xff\xff\xff", 12),
              "[1,2,4294967295]");
    CHECK_STR(bytes_of(COLUMN(BYTE_ARRAY, NULL), "", 0), "null");
    uint8_t flag = 1;
    CHECK_STR(json_of(COLUMN(BOOLEAN, BOOLEAN), &flag), "true");
}

int main(void) {
    TEST(test_whole_numbers);
    TEST(test_decimals);
    TEST(test_real_numbers);
    TEST(test_times);
    TEST(test_bytes);
    return TEST_END();
}
