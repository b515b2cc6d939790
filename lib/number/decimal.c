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

static size_t print_any(float value, int digits_min, char *ret_text) {
    char text[DECIMAL_BYTES];
    int size = 0;
    for (int digits = digits_min; digits <= DIGITS_MAX; digits++) {
        size = snprintf(text, sizeof text, "%.*g", digits, (double)value);
        float back = 0;
        if (sscanf(text, "%f", &back) == 1 && back == value) {
            break;
        }
    }
    if (!strpbrk(text, ".e")) {
        memcpy(text + size, ".0", 2);
        size += 2;
    }
    memcpy(ret_text, text, (size_t)size);
    return (size_t)size;
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

static size_t print(float value, int digits_min, char *ret_text) {
    float size = fabsf(value);
    int shift = 0;
    char digits[DECIMAL_BYTES], *at = ret_text;
    int count = 0;
    if (size == 0) {
        memcpy(ret_text, "-0.0" + !signbit(value), (size_t)(3 + !!signbit(value)));
        return (size_t)(3 + !!signbit(value));
    }
    if (!((double)size >= PLAIN_MIN && (double)size < PLAIN_MAX)) {
        return print_any(value, digits_min, ret_text);
    }
    uint32_t whole = find_whole(size, find_point((double)size), digits_min, &shift);
    for (; count <= shift || whole > 0; whole /= 10) { /* the last digit first */
        digits[count++] = (char)('0' + whole % 10);
    }
    if (value < 0) {
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

void decimal_shortest(double value, char ret_text[static DECIMAL_BYTES]) {
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(ret_text, DECIMAL_BYTES, "%.*g", digits, value);
        if (strtod(ret_text, NULL) == value) {
            return;
        }
    }
}
