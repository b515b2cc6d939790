/* kernels.h: the C interface of our CUDA kernels, declared in kernels_*.h, one header per source.
 * Each function launches kernels on `stream` (a cudaStream_t), returns at once, and returns a
 * cudaError_t as int. All pointers except `stream` and the parameter struct are to device memory.
 * The sources (*.cu) are also compiled for the CPU, against tests/cuda/emulated.
 *
 * Values have one of two layouts.
 *   plain           row-major, in the tensor's own type
 *   channels last   [n, pixels, pitch] in bfloat16 or float16; pitch is the number of channels
 *                   rounded up to KERNELS_LANES, so that a thread moves that many channels in one
 *                   access; elements between channels and pitch are 0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { KERNELS_RANK = 8 /* maximum */, KERNELS_LANES = 8 };

enum kernels_float { KERNELS_FLOAT32, KERNELS_BFLOAT16, KERNELS_FLOAT16 };
/* Element types of plain values, in the order of enum tensor_type. */
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
