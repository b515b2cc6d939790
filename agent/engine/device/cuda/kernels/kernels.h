/* kernels.h: the kernels of our own, as C sees them: each call starts work on the stream and
 * returns a cudaError_t as int: kernels_*.h, one for each source. All pointers but `stream` are to
 * device memory. The sources (*.cu) are also compiled for the processor, against
 * tests/cuda/emulated.
 *
 * Values lie in one of two ways. Plain: row-major, of the tensor's own type. Last: channels last,
 * [n, pixels, pitch], in bfloat16 or float16, where pitch is the channels rounded up to eight, so
 * that a thread moves eight channels at once; what lies between channels and pitch is 0. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { KERNELS_RANK = 8, KERNELS_LANES = 8 };

enum kernels_float { KERNELS_FLOAT32, KERNELS_BFLOAT16, KERNELS_FLOAT16 };
/* Numbers of plain values, in the order of enum tensor_type. */
enum kernels_number {
    KERNELS_F32,
    KERNELS_I64,
    KERNELS_I32,
    KERNELS_U8,
    KERNELS_I8,
    KERNELS_BOOL,
    KERNELS_F64,
    KERNELS_F16,
    KERNELS_BF16,
    KERNELS_I16,
    KERNELS_U16,
    KERNELS_U32,
    KERNELS_U64,
    KERNELS_NUMBERS
};
