// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parquet/value_json.h"

#include "agent/data/parquet/parquet_values.h"
#include "lib/number/decimal.h"
#include "lib/number/half.h"
#include "lib/text/base64.h"
#include "lib/text/jsontext.h"
#include "lib/text/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIGITS_MAX = 96,
    JULIAN_1970 = 2440588, /* the Julian day of 1970-01-01 */
};
#define DAY_NS ((int64_t)86400 * 1000000000)

/* ---- numbers -------------------------------------------------------------------------------- */

/* Decimal digits, at least `least`; the text's size. */
static size_t write_digits(uint64_t number, size_t least, char *text) {
    char reverse[32];
    size_t size = 0;
    for (; number > 0 || size < least; number /= 10) {
        reverse[size++] = (char)('0' + number % 10);
    }
    for (size_t i = 0; i < size; i++) {
        text[i] = reverse[size - 1 - i];
    }
    return size;
}

static int append_whole(struct buffer *json, int64_t number, bool is_signed, struct error *err) {
    char text[32] = "-";
    size_t sign = is_signed && number < 0;
    uint64_t size = sign ? 0 - (uint64_t)number : (uint64_t)number;
    return buffer_append(json, text, sign + write_digits(size, 1, text + sign), err);
}

/* The shortest text that is read as this number. */
static int append_real(struct buffer *json, double number, bool is_float, struct error *err) {
    char text[DECIMAL_BYTES];
    if (!isfinite(number)) {
        const char *word = isnan(number) ? "\"NaN\""
                           : number > 0  ? "\"Infinity\""
                                         : "\"-Infinity\"";
        return buffer_append(json, word, strlen(word), err);
    }
    size_t size =
        is_float ? decimal_shortest_float((float)number, text) : decimal_shortest(number, text);
    return buffer_append(json, text, size, err);
}

/* digits with `scale` of them behind a point */
static int append_scaled(struct buffer *json, bool is_negative, const char *digits, size_t size,
                         int scale, struct error *err) {
    char padded[2 * DIGITS_MAX], text[2 * DIGITS_MAX];
    size_t behind = (size_t)scale, zeros = size > behind ? 0 : behind + 1 - size;
    memset(padded, '0', zeros); /* in front: 0.05 */
    memcpy(padded + zeros, digits, size);
    int before = (int)(zeros + size - behind);
    int length = snprintf(text, sizeof text, "%s%.*s%s%.*s", is_negative ? "-" : "", before, padded,
                          behind ? "." : "", scale, padded + before);
    return buffer_append(json, text, (size_t)length, err);
}

/* A big-endian number in two's complement, of at most 32 bytes, as decimal digits. */
static size_t big_digits(const uint8_t *data, size_t size, bool *ret_is_negative, char *digits) {
    uint8_t number[32];
    char reverse[DIGITS_MAX];
    size_t count = 0;
    bool is_negative = size > 0 && data[0] & 0x80, is_zero = false;
    unsigned carry = is_negative;
    for (size_t i = size; i-- > 0;) { /* the amount */
        unsigned byte = (is_negative ? (uint8_t)~data[i] : data[i]) + carry;
        number[i] = (uint8_t)byte;
        carry = is_negative ? byte >> 8 : 0;
    }
    while (!is_zero) {
        unsigned rest = 0;
        is_zero = true;
        for (size_t i = 0; i < size; i++) {
            unsigned value = rest << 8 | number[i];
            number[i] = (uint8_t)(value / 10);
            rest = value % 10;
            is_zero = is_zero && number[i] == 0;
        }
        reverse[count++] = (char)('0' + rest);
    }
    for (size_t i = 0; i < count; i++) {
        digits[i] = reverse[count - 1 - i];
    }
    *ret_is_negative = is_negative;
    return count;
}

static int append_decimal(struct buffer *json, const struct parquet_leaf *column,
                          const void *values, size_t index, struct error *err) {
    char digits[DIGITS_MAX];
    if (column->type == PARQUET_INT32 || column->type == PARQUET_INT64) {
        int64_t number = column->type == PARQUET_INT32 ? ((const int32_t *)values)[index]
                                                       : ((const int64_t *)values)[index];
        uint64_t amount = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
        size_t size = write_digits(amount, 1, digits);
        return append_scaled(json, number < 0, digits, size, column->scale, err);
    }
    const struct parquet_value_bytes *bytes = &((const struct parquet_value_bytes *)values)[index];
    bool is_negative;
    if (bytes->size > 32) {
        return error_set(err, ERROR_INVALID, "a decimal of %zu bytes, at most 32 are read",
                         bytes->size);
    }
    size_t size = big_digits(bytes->data, bytes->size, &is_negative, digits);
    return append_scaled(json, is_negative, digits, size, column->scale, err);
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Proleptic Gregorian calendar, of days since 1970 (Howard Hinnant, chrono-Compatible Low-Level
 * Date Algorithms: civil_from_days). */
static int append_date(struct buffer *json, int64_t days, struct error *err) {
    int64_t shifted = days + 719468;
    int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    int64_t of_era = shifted - era * 146097;
    int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * of_year + 2) / 153;
    int64_t day = of_year - (153 * month + 2) / 5 + 1;
    month += month < 10 ? 3 : -9;
    int64_t year = year_of_era + era * 400 + (month <= 2);
    return buffer_printf(json, err, "%s%04lld-%02d-%02d", year < 0 ? "-" : "",
                         (long long)(year < 0 ? -year : year), (int)month, (int)day);
}

/* ns of a day, without zeros at the end of its fraction */
static int append_clock(struct buffer *json, int64_t ns, struct error *err) {
    char fraction[16] = ".";
    int64_t seconds = ns / 1000000000;
    size_t size = 1 + write_digits((uint64_t)(ns % 1000000000), 9, fraction + 1);
    while (size > 0 && (fraction[size - 1] == '0' || fraction[size - 1] == '.')) {
        size -= 1;
    }
    fraction[size] = 0;
    return buffer_printf(json, err, "%02d:%02d:%02d%s", (int)(seconds / 3600),
                         (int)(seconds / 60 % 60), (int)(seconds % 60), fraction);
}

static int append_moment(struct buffer *json, int64_t days, int64_t ns, bool is_utc,
                         struct error *err) {
    return append_date(json, days, err) < 0 || buffer_append(json, "T", 1, err) < 0 ||
                   append_clock(json, ns, err) < 0 ||
                   (is_utc && buffer_append(json, "Z", 1, err) < 0)
               ? -1
               : 0;
}

static int64_t unit_ns(const struct parquet_leaf *column) {
    return column->unit == PARQUET_MILLIS ? 1000000 : column->unit == PARQUET_MICROS ? 1000 : 1;
}

static int append_timestamp(struct buffer *json, const struct parquet_leaf *column, int64_t number,
                            struct error *err) {
    int64_t per_day = DAY_NS / unit_ns(column), days = number / per_day, rest = number % per_day;
    days -= rest < 0;
    rest += rest < 0 ? per_day : 0;
    return append_moment(json, days, rest * unit_ns(column), column->is_utc, err);
}

static int append_time(struct buffer *json, const struct parquet_leaf *column, int64_t number,
                       struct error *err) {
    int64_t per_day = DAY_NS / unit_ns(column);
    if (number < 0 || number >= per_day) {
        return error_set(err, ERROR_INVALID, "the time is %lld, expected 0 to %lld, within a day",
                         (long long)number, (long long)per_day - 1);
    }
    return append_clock(json, number * unit_ns(column), err);
}

static int append_int96(struct buffer *json, const struct parquet_value_bytes *bytes,
                        struct error *err) {
    int64_t ns;
    int32_t day;
    memcpy(&ns, bytes->data, 8);
    memcpy(&day, bytes->data + 8, 4);
    if (ns < 0 || ns >= DAY_NS) {
        return error_set(err, ERROR_INVALID,
                         "the time is %lld ns, expected 0 to %lld, within a day", (long long)ns,
                         (long long)DAY_NS - 1);
    }
    return append_moment(json, (int64_t)day - JULIAN_1970, ns, false, err);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static int append_text(struct buffer *json, const struct parquet_value_bytes *bytes,
                       struct error *err) {
    const char *data = (const char *)bytes->data;
    return utf8_valid_size(data, bytes->size) == bytes->size
               ? jsontext_escape(json, data, bytes->size, err)
               : error_set(err, ERROR_INVALID, "the text is not UTF-8");
}

static int append_base64(struct buffer *json, const struct parquet_value_bytes *bytes,
                         struct error *err) {
    AUTO(text_freep) char *text = base64_encode(bytes->data, bytes->size);
    return buffer_append(json, text, strlen(text), err);
}

static int append_uuid(struct buffer *json, const uint8_t *data, struct error *err) {
    char text[40];
    size_t at = 0;
    for (size_t i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            text[at++] = '-';
        }
        text[at++] = "0123456789abcdef"[data[i] >> 4];
        text[at++] = "0123456789abcdef"[data[i] & 15];
    }
    return buffer_append(json, text, at, err);
}

static int append_interval(struct buffer *json, const uint8_t *data, struct error *err) {
    uint32_t parts[3];
    memcpy(parts, data, sizeof parts);
    return buffer_printf(json, err, "[%u,%u,%u]", parts[0], parts[1], parts[2]);
}

/* What is between quotes. */
static int append_quoted(struct buffer *json, const struct parquet_leaf *column, const void *values,
                         size_t index, struct error *err) {
    const struct parquet_value_bytes *bytes = values;
    switch (column->kind) {
    case PARQUET_MEANS_TEXT:
        return append_text(json, &bytes[index], err);
    case PARQUET_MEANS_UUID:
        return append_uuid(json, bytes[index].data, err);
    case PARQUET_MEANS_INT96:
        return append_int96(json, &bytes[index], err);
    case PARQUET_MEANS_DATE:
        return append_date(json, ((const int32_t *)values)[index], err);
    case PARQUET_MEANS_TIME:
        return append_time(json, column,
                           column->type == PARQUET_INT32 ? ((const int32_t *)values)[index]
                                                         : ((const int64_t *)values)[index],
                           err);
    case PARQUET_MEANS_TIMESTAMP:
        return append_timestamp(json, column, ((const int64_t *)values)[index], err);
    default:
        return append_base64(json, &bytes[index], err);
    }
}

static int append_number(struct buffer *json, const struct parquet_leaf *column, const void *values,
                         size_t index, struct error *err) {
    bool is_signed = column->kind == PARQUET_MEANS_INT;
    if (column->type == PARQUET_INT32) {
        return append_whole(json,
                            is_signed ? ((const int32_t *)values)[index]
                                      : (int64_t)((const uint32_t *)values)[index],
                            is_signed, err);
    }
    return append_whole(json, ((const int64_t *)values)[index], is_signed, err);
}

int value_json_append(struct buffer *json, const struct parquet_leaf *column, const void *values,
                      size_t index, struct error *err) {
    uint16_t half;
    const struct parquet_value_bytes *bytes = values;
    switch (column->kind) {
    case PARQUET_MEANS_NULL:
        return buffer_append(json, "null", 4, err);
    case PARQUET_MEANS_BOOLEAN:
        return ((const uint8_t *)values)[index] ? buffer_append(json, "true", 4, err)
                                                : buffer_append(json, "false", 5, err);
    case PARQUET_MEANS_INT:
    case PARQUET_MEANS_UINT:
        return append_number(json, column, values, index, err);
    case PARQUET_MEANS_FLOAT:
        return append_real(json, (double)((const float *)values)[index], true, err);
    case PARQUET_MEANS_DOUBLE:
        return append_real(json, ((const double *)values)[index], false, err);
    case PARQUET_MEANS_HALF:
        memcpy(&half, bytes[index].data, sizeof half);
        return append_real(json, (double)half_to_float(half), true, err);
    case PARQUET_MEANS_DECIMAL:
        return append_decimal(json, column, values, index, err);
    case PARQUET_MEANS_INTERVAL:
        return append_interval(json, bytes[index].data, err);
    default:
        return buffer_append(json, "\"", 1, err) < 0 ||
                       append_quoted(json, column, values, index, err) < 0 ||
                       buffer_append(json, "\"", 1, err) < 0
                   ? -1
                   : 0;
    }
}
