/* row_number.h: reads the numbers of JSON text, and finds out which types hold one without loss.
 * Pure. */
#pragma once

#include "lib/base.h"

#include <stdint.h>

struct row_number {
    double value; /* the nearest double */
    int64_t integer;
    bool is_integer; /* spelled as one, and an int64 holds it: `integer` */
    /* A float holds it: it is one exactly, or spelled with nine digits that are those of one
     * ("%.9g" spells every float so that it can be read back). */
    bool is_float;
    /* Or spelled with fewer digits that are those of one: 0.1. For numbers of networks, which are
     * spelled as short as can be read back (lib/number/decimal.h). */
    bool is_short_float;
    bool is_double; /* it has a fraction, or a double holds it exactly; and it is finite */
};

/* Reads the number at `at` of valid JSON text that ends at `end`, with a byte behind it that is
 * none of a number. Returns the first byte behind it. */
const char *row_number_read(const char *at, const char *end, struct row_number *ret_number);
