// SPDX-License-Identifier: Apache-2.0
#include "agent/data/rows/row_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIGITS_MAX = 19, /* a uint64 holds as many */
    POWER_MAX = 22,  /* of ten that a double holds exactly */
    FLOAT_DIGITS = 9,
    TEXT_MAX = 400, /* of a number that is read without allocating */
};
#define EXACT_MAX ((uint64_t)1 << 53) /* integers that a double holds */

static const double powers[POWER_MAX + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                             1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                             1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* A number as it is spelled: mantissa * 10^exponent. */
struct spelled {
    bool is_negative, is_integer, is_long; /* is_long: more digits than the mantissa holds */
    uint64_t mantissa;
    int digits, exponent;
};

static const char *read_digits(const char *at, const char *end, struct spelled *spelled,
                               int scale) {
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        if (spelled->digits == 0 && *at == '0') { /* leading zeros */
            spelled->exponent -= scale;
            continue;
        }
        if (spelled->digits == DIGITS_MAX) {
            spelled->is_long = true;
            continue;
        }
        spelled->mantissa = spelled->mantissa * 10 + (uint64_t)(*at - '0');
        spelled->digits++;
        spelled->exponent -= scale;
    }
    return at;
}

static const char *read_exponent(const char *at, const char *end, struct spelled *spelled) {
    bool is_negative = *at == '-';
    int exponent = 0;
    at += *at == '-' || *at == '+';
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        exponent = MIN(exponent * 10 + (*at - '0'), 100000);
    }
    spelled->exponent += is_negative ? -exponent : exponent;
    return at;
}

static const char *read_spelled(const char *at, const char *end, struct spelled *spelled) {
    *spelled = (struct spelled){.is_negative = *at == '-', .is_integer = true};
    at = read_digits(at + spelled->is_negative, end, spelled, 0);
    if (at < end && *at == '.') {
        spelled->is_integer = false;
        at = read_digits(at + 1, end, spelled, 1);
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        spelled->is_integer = false;
        at = read_exponent(at + 1, end, spelled);
    }
    return at;
}

static double read_slowly(const char *at, size_t size) {
    char text[TEXT_MAX + 1];
    if (size <= TEXT_MAX) {
        memcpy(text, at, size);
        text[size] = 0;
        return strtod(text, NULL);
    }
    char *copy = x_strndup(at, size);
    double value = strtod(copy, NULL);
    free(copy);
    return value;
}

/* Exact products and quotients of doubles are rounded once: W. D. Clinger, "How to read floating
 * point numbers accurately", 1990. */
static bool read_quickly(const struct spelled *spelled, double *ret_value) {
    if (spelled->is_long || spelled->mantissa > EXACT_MAX || abs(spelled->exponent) > POWER_MAX) {
        return false;
    }
    double value = (double)spelled->mantissa;
    value = spelled->exponent < 0 ? value / powers[-spelled->exponent]
                                  : value * powers[spelled->exponent];
    *ret_value = spelled->is_negative ? -value : value;
    return true;
}

static double power_of_ten(int exponent) {
    return exponent <= POWER_MAX ? powers[exponent] : pow(10, exponent);
}

/* How far the spelled digits, filled up to `digits` (at most nine), are from those of the float, in
 * units of the last one; huge: there are more. */
static double gap_of(const struct spelled *spelled, float rounded, int digits) {
    uint64_t mantissa = spelled->mantissa;
    if (spelled->is_long || spelled->digits > digits || spelled->digits == 0) {
        return HUGE_VAL;
    }
    for (int i = spelled->digits; i < digits; i++) {
        mantissa *= 10;
    }
    int exponent = spelled->exponent - (digits - spelled->digits);
    double size = fabs((double)rounded);
    /* Powers beyond 22 are not exact, and neither is this: nine of sixteen digits are wanted. */
    double scaled = exponent < 0 ? size * power_of_ten(-exponent) : size / power_of_ten(exponent);
    return fabs(scaled - (double)mantissa);
}

/* "%.9g" and shorter forms are at most half a unit off. */
static bool has_digits_of(const struct spelled *spelled, float rounded, int digits) {
    return gap_of(spelled, rounded, digits) < 0.5 + 1e-5;
}

const char *row_number_read(const char *at, const char *end, struct row_number *ret_number) {
    struct spelled spelled;
    const char *behind = read_spelled(at, end, &spelled);
    struct row_number number = {0};
    if (!read_quickly(&spelled, &number.value)) {
        number.value = read_slowly(at, (size_t)(behind - at));
    }
    bool is_zero = spelled.mantissa == 0;
    bool fits = !spelled.is_long && spelled.mantissa <= (uint64_t)INT64_MAX;
    number.is_integer = spelled.is_integer && fits && !(is_zero && spelled.is_negative);
    if (number.is_integer) {
        number.integer =
            spelled.is_negative ? -(int64_t)spelled.mantissa : (int64_t)spelled.mantissa;
    }
    bool is_exact = !spelled.is_long && spelled.mantissa <= EXACT_MAX;
    number.is_double = isfinite(number.value) && (!spelled.is_integer || is_exact);
    float rounded = (float)number.value;
    number.is_float = number.is_double && isfinite(rounded) &&
                      ((double)rounded == number.value ||
                       (!spelled.is_integer && has_digits_of(&spelled, rounded, FLOAT_DIGITS)));
    number.is_short_float =
        number.is_float ||
        (number.is_double && isfinite(rounded) && !spelled.is_integer &&
         spelled.digits <= FLOAT_DIGITS && has_digits_of(&spelled, rounded, spelled.digits));
    *ret_number = number;
    return behind;
}
