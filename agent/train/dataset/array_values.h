/* array_values.h: values of .npy files (agent/data/array/npy.h) as those of samples. Pure. */
#pragma once

#include "agent/data/array/npy.h"
#include "agent/engine/tensor.h"

/* uint8 stays, other integers become int64, floats float32. */
enum tensor_type array_value_type(enum npy_type type);
/* Element i of values, as npy_read returns them, of a type of integers. */
int64_t array_value_integer(enum npy_type type, const void *values, int64_t i);
/* Converts `count` values, as npy_read returns them, to `wanted`: array_value_type's, TENSOR_INT64
 * of integers, or TENSOR_FLOAT32 of floats. */
void array_value_convert(enum npy_type type, const void *from, int64_t count,
                         enum tensor_type wanted, void *to);
