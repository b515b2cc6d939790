/* tensor.h: typed arrays with a shape. Plain data; `owned` says whether the tensor frees it. Used
 * by every layer of the engine. Row-major (C order), as in ONNX. */
#pragma once

#include "agent/engine/graph/shape.h"
#include "lib/error.h"

enum tensor_type {
    TENSOR_FLOAT32,
    TENSOR_INT64,
    TENSOR_INT32,
    TENSOR_UINT8,
    TENSOR_INT8,
    TENSOR_BOOL,
    TENSOR_FLOAT64,
    TENSOR_FLOAT16,  /* IEEE 754 binary16 */
    TENSOR_BFLOAT16, /* the upper half of a float32 */
    TENSOR_INT16,
    TENSOR_UINT16,
    TENSOR_UINT32,
    TENSOR_UINT64,
    TENSOR_TYPE_COUNT
};

struct tensor {
    enum tensor_type type;
    struct shape shape;
    void *data; /* shape_count() elements, 64-byte aligned when made by tensor_init */
    bool owned; /* tensor_release frees data */
};

size_t tensor_type_size(enum tensor_type type);      /* bytes per element */
const char *tensor_type_name(enum tensor_type type); /* "float32" */
bool tensor_type_is_real(enum tensor_type type);     /* floats of any size */
int tensor_type_onnx(enum tensor_type type);         /* ONNX's TensorProto.DataType */
/* False: unknown, or a type that the engine does not have (strings, complex numbers). */
bool tensor_type_from_onnx(int64_t onnx_type, enum tensor_type *ret_type);

/* One element as the nearest double, which is not exact for int64 and uint64 beyond 2^53
 * (tensor_compare is exact). For kernels that are not worth one loop per type. */
double tensor_number(const struct tensor *tensor, int64_t index);
/* Stores a double: floats are rounded to nearest even; for integers the value is rounded towards
 * zero and the low bits are kept, NaN becomes 0; for bool every value but 0 is true. */
void tensor_put_number(struct tensor *tensor, int64_t index, double value);
/* For integers and bool: the element widened to 64 bits as C does it, and back to the low bits. */
uint64_t tensor_whole(const struct tensor *tensor, int64_t index);
void tensor_put_whole(struct tensor *tensor, int64_t index, uint64_t value);
/* -1, 0, 1 as element a is less than, equal to, greater than b; 2 if one of them is NaN. */
int tensor_compare(const struct tensor *tensor, int64_t a, int64_t b);

/* Zeroed, owned memory for the shape. Fails when a dimension is unknown or the size is too big. */
NODISCARD int tensor_init(struct tensor *tensor, enum tensor_type type, const struct shape *shape,
                          struct error *err);
void tensor_release(struct tensor *tensor);

/* How the bytes of a picture, uint8 [n, h, w, 3], become planes of numbers, float32 [n, 3, h, w],
 * and back (ops/bytes.h): plane k is byte k * scale[k] + shift[k]. */
struct bytes {
    float scale[3], shift[3]; /* by plane */
    bool is_turned;           /* plane k is of byte 2 - k: BGR */
};
