/* decimal.h: floats as short decimal numbers, in JSON's spelling, that read back as the same float,
 * and back: seven digits where they are enough, else eight or nine (nine always are: David
 * Goldberg, "What Every Computer Scientist Should Know About Floating-Point Arithmetic", 1991,
 * theorem 15). Many times as fast as printf. Pure. */
#pragma once

#include "lib/base.h"

enum { DECIMAL_BYTES = 32 };

/* Writes the digits of a finite value, not NUL-terminated, and returns their number, at most
 * DECIMAL_BYTES. The text is always one of a real number: "1.0", not "1". */
size_t decimal_from_float(float value, char *ret_text);
/* The same with nine digits, less trailing zeros: "0.100000001" shows that the value was a
 * float32. */
size_t decimal_nine_from_float(float value, char *ret_text);
/* A finite double with 17 digits, which are always enough; the text is one of a real number. */
size_t decimal_from_double(double value, char *ret_text);
/* The fewest digits, 15 to 17, of a float 6 to 9, that read back as this finite number: what printf
 * writes for %.15g and the following, "0.1", "1", "1e-07". NUL-terminated; the text's size. */
size_t decimal_shortest(double value, char ret_text[static DECIMAL_BYTES]);
size_t decimal_shortest_float(float value, char ret_text[static DECIMAL_BYTES]);

/* Reads the JSON number that begins at `at`, as strtod does; *ret_is_integer: it has neither a
 * point nor an exponent. Returns what is behind it; NULL: there is not a number, or one that no
 * finite double holds, an integer of over 18 digits, or one of over 60 bytes. */
const char *decimal_scan(const char *at, const char *end, double *ret_value, bool *ret_is_integer);
