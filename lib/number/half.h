/* half.h: conversion of 16-bit floats: IEEE 754 binary16, and bfloat16 (the upper half of a
 * float32). Widening is exact. Narrowing rounds to nearest, ties to even, once: a double is not
 * rounded to a float first. Pure. */
#pragma once

#include "lib/base.h"

#include <stdint.h>

float half_to_float(uint16_t half);
uint16_t half_from_double(double value); /* infinity from 65520 on */

float bfloat_to_float(uint16_t bfloat);
uint16_t bfloat_from_double(double value);
