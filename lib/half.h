/* half.h: floats of 16 bits: IEEE 754's binary16, and bfloat16, which is the upper half of a
 * float32. To wider ones exact; from them rounded to nearest, and to even in the middle, once:
 * a double is not rounded to a float first. */
#pragma once

#include "lib/base.h"

#include <stdint.h>

float half_to_float(uint16_t half);
uint16_t half_from_double(double value); /* from 65520 on infinity */

float bfloat_to_float(uint16_t bfloat);
uint16_t bfloat_from_double(double value);
