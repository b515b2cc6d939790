// SPDX-License-Identifier: Apache-2.0
#include "lib/number/decimal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MIN = 7, DIGITS_MAX = 9, POWER_MAX = 22 };

/* Exact as doubles. */
static const double powers[POWER_MAX + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                             1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                             1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Between these values the factors below are exact, and the text needs no exponent. */
#define PLAIN_MIN 1e-5
#define PLAIN_MAX 1e7

/* As %g prints it, with the fewest of `digits` to `most` digits that read back as the value; with
 * `most` if none do. Ends with a NUL; the length. */
static size_t print_general(double value, int digits, int most, bool is_float,
                            char ret_text[static DECIMAL_BYTES]) {
    for (;; digits++) {
        int size = snprintf(ret_text, DECIMAL_BYTES, "%.*g", digits, value);
        double back = is_float ? (double)strtof(ret_text, NULL) : strtod(ret_text, NULL);
        if (back == value || digits == most) {
            return (size_t)size;
        }
    }
}

static size_t print_any(float value, int digits_min, char *ret_text) {
    char text[DECIMAL_BYTES];
    size_t size = print_general((double)value, digits_min, DIGITS_MAX, true, text);
    if (!strpbrk(text, ".e")) {
        memcpy(text + size, ".0", 2);
        size += 2;
    }
    memcpy(ret_text, text, size);
    return size;
}

/* The number of digits before the point, below 1 the negative number of zeros behind it. */
static int find_point(double value) {
    int point = 0;
    while (value >= powers[point]) {
        point++;
    }
    if (point == 0) {
        while (value * powers[1 - point] < 1) {
            point--;
        }
    }
    return point;
}

/* value is about whole / 10^shift, with few digits. */
static uint32_t find_whole(float value, int point, int digits_min, int *ret_shift) {
    uint32_t whole = 0;
    for (int digits = digits_min; digits <= DIGITS_MAX; digits++) {
        *ret_shift = digits - point; /* 0 to 13 */
        whole = (uint32_t)((double)value * powers[*ret_shift] + 0.5);
        if ((float)((double)whole / powers[*ret_shift]) == value) {
            break;
        }
    }
    if (*ret_shift == 0) {
        *ret_shift = 1;
        return whole * 10;
    }
    for (; *ret_shift > 1 && whole % 10 == 0; whole /= 10) {
        --*ret_shift;
    }
    return whole;
}

/* whole / 10^shift */
static size_t put_digits(bool is_negative, uint64_t whole, int shift, char *ret_text) {
    char digits[DECIMAL_BYTES], *at = ret_text;
    int count = 0;
    for (; count <= shift || whole > 0; whole /= 10) { /* the last digit first */
        digits[count++] = (char)('0' + whole % 10);
    }
    if (is_negative) {
        *at++ = '-';
    }
    while (count > 0) {
        if (count == shift) {
            *at++ = '.';
        }
        *at++ = digits[--count];
    }
    return (size_t)(at - ret_text);
}

static size_t print(float value, int digits_min, char *ret_text) {
    float size = fabsf(value);
    int shift = 0;
    if (size == 0) {
        memcpy(ret_text, "-0.0" + !signbit(value), (size_t)(3 + !!signbit(value)));
        return (size_t)(3 + !!signbit(value));
    }
    if (!((double)size >= PLAIN_MIN && (double)size < PLAIN_MAX)) {
        return print_any(value, digits_min, ret_text);
    }
    uint32_t whole = find_whole(size, find_point((double)size), digits_min, &shift);
    return put_digits(value < 0, whole, shift, ret_text);
}

size_t decimal_from_float(float value, char *ret_text) {
    return print(value, DIGITS_MIN, ret_text);
}

size_t decimal_nine_from_float(float value, char *ret_text) {
    return print(value, DIGITS_MAX, ret_text);
}

size_t decimal_from_double(double value, char *ret_text) {
    int size = snprintf(ret_text, DECIMAL_BYTES, "%.17g", value);
    if (strcspn(ret_text, ".e") == (size_t)size) {
        size += snprintf(ret_text + size, 3, ".0");
    }
    return (size_t)size;
}

/* ---- as printf writes them ------------------------------------------------------------------- */

/* Between these values %g has no exponent, and the factors below are exact. */
#define SHORTEST_MIN 1e-4
#define SHORTEST_FLOAT_MAX 1e6
#define SHORTEST_MAX 1e15

enum { SHORTEST_FLOAT = 6, SHORTEST = 15, DIGITS_ENOUGH = 17 };

/* `digits` decimal digits that read back as this size; *ret_whole / 10^*ret_shift. The division of
 * two exact doubles is rounded as strtod rounds the text. */
static bool find_digits(double size, int digits, bool is_float, uint64_t *ret_whole,
                        int *ret_shift) {
    enum { BELOW_FLOAT = (1 << 29) - 1, BETWEEN_FLOATS = 1 << 28 };
    int shift = digits - find_point(size);
    double whole = rint(size * powers[shift]), back = whole / powers[shift];
    uint64_t bits;
    memcpy(&bits, &back, sizeof bits);
    /* A double that is between two floats may be on either side of the text's number. */
    bool is_clear = !is_float || (bits & BELOW_FLOAT) != BETWEEN_FLOATS;
    *ret_whole = (uint64_t)whole;
    for (*ret_shift = shift; *ret_shift > 0 && *ret_whole % 10 == 0; *ret_whole /= 10) {
        --*ret_shift;
    }
    return is_clear && (is_float ? (double)(float)back : back) == size;
}

static size_t end_text(size_t size, char *text) {
    text[size] = 0;
    return size;
}

size_t decimal_shortest(double value, char ret_text[static DECIMAL_BYTES]) {
    double size = fabs(value);
    bool is_plain = size >= SHORTEST_MIN && size < SHORTEST_MAX;
    uint64_t whole = 0;
    int shift = 0;
    if (size == 0 || (is_plain && find_digits(size, SHORTEST, false, &whole, &shift))) {
        return end_text(put_digits(signbit(value), whole, shift, ret_text), ret_text);
    }
    return print_general(value, SHORTEST + is_plain, DIGITS_ENOUGH, false, ret_text);
}

size_t decimal_shortest_float(float value, char ret_text[static DECIMAL_BYTES]) {
    double size = fabs((double)value);
    bool is_plain = size >= SHORTEST_MIN && size < SHORTEST_FLOAT_MAX, is_zero = size == 0;
    uint64_t whole = 0;
    int shift = 0;
    for (int digits = SHORTEST_FLOAT; digits <= DIGITS_MAX && (is_zero || is_plain); digits++) {
        if (is_zero || find_digits(size, digits, true, &whole, &shift)) {
            return end_text(put_digits(signbit(value), whole, shift, ret_text), ret_text);
        }
    }
    return print_general((double)value, SHORTEST_FLOAT, DIGITS_MAX, true, ret_text);
}

/* ---- reading --------------------------------------------------------------------------------- */

enum { WHOLE_DIGITS = 18, SCAN_BYTES = 60, EXPONENT_DIGITS = 4 };
#define EXACT_MAX ((uint64_t)1 << 53)

/* What is read of a number: whole * 10^power, if it has at most WHOLE_DIGITS digits. */
struct scan {
    uint64_t whole;
    int digits, power;
};

/* Adds the digits at `at`; what is behind them. */
static const char *scan_digits(const char *at, const char *end, struct scan *scan) {
    for (; at < end && *at >= '0' && *at <= '9' && scan->digits <= SCAN_BYTES; at++) {
        scan->whole = scan->whole * 10 + (uint64_t)(*at - '0');
        scan->digits++;
    }
    return at;
}

/* NULL: there is an e, and no number behind it. */
static const char *scan_exponent(const char *at, const char *end, struct scan *scan) {
    struct scan exponent = {0};
    if (at == end || (*at != 'e' && *at != 'E')) {
        return at;
    }
    at++;
    bool is_negative = at < end && *at == '-';
    at += at < end && (*at == '-' || *at == '+');
    at = scan_digits(at, end, &exponent);
    if (exponent.digits == 0 || exponent.digits > EXPONENT_DIGITS) {
        return NULL;
    }
    int power = (int)exponent.whole;
    scan->power += is_negative ? -power : power;
    return at;
}

/* By strtod, of a copy that ends. */
static bool read_copy(const char *text, size_t size, double *ret_value) {
    char copy[SCAN_BYTES + 1];
    memcpy(copy, text, size);
    copy[size] = 0;
    *ret_value = strtod(copy, NULL);
    return isfinite(*ret_value);
}

const char *decimal_scan(const char *at, const char *end, double *ret_value, bool *ret_is_integer) {
    const char *begin = at;
    struct scan scan = {0};
    bool is_negative = at < end && *at == '-';
    const char *first = at += is_negative;
    at = scan_digits(at, end, &scan);
    const char *behind = at;
    if (scan.digits == 0 || (scan.digits > 1 && *first == '0')) {
        return NULL;
    }
    if (at < end && *at == '.') {
        at = scan_digits(at + 1, end, &scan);
        scan.power = (int)(behind + 1 - at);
        if (scan.power == 0) {
            return NULL;
        }
    }
    at = scan_exponent(at, end, &scan);
    *ret_is_integer = at == behind;
    if (!at || at - begin > SCAN_BYTES || (*ret_is_integer && scan.digits > WHOLE_DIGITS)) {
        return NULL;
    }
    bool is_short = scan.digits <= WHOLE_DIGITS;
    bool is_exact = is_short && scan.whole <= EXACT_MAX && abs(scan.power) <= POWER_MAX;
    if (!is_exact && !*ret_is_integer) {
        return read_copy(begin, (size_t)(at - begin), ret_value) ? at : NULL;
    }
    double whole = (double)scan.whole;
    double size = scan.power < 0 ? whole / powers[-scan.power] : whole * powers[scan.power];
    *ret_value = is_negative ? -size : size;
    return at;
}
