/* tensor.h: typed arrays with a shape, in row-major (C) order. Used by every layer of the engine;
 * implemented in graph/. */
#pragma once

#include "lib/error.h"

enum { TENSOR_RANK_MAX = 8 }; /* more dimensions are not supported */

struct shape {
    int rank;                      /* number of dimensions; 0: a scalar */
    int64_t dims[TENSOR_RANK_MAX]; /* each >= 0; -1: unknown */
};

/* The number of elements; -1: a dimension is unknown, or there are more than 2^40. */
int64_t shape_count(const struct shape *shape);
bool shape_equal(const struct shape *a, const struct shape *b);
/* The product of all dimensions behind the first two: the pixels of a channel of [n, c, ...]. */
int64_t shape_pixels(const struct shape *shape);
/* Formats for messages: "1x3x224x224", "scalar", "?x3" (? is unknown). */
void shape_format(const struct shape *shape, char text[static 128]);

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
    void *data; /* shape_count() elements; 64-byte aligned if allocated by tensor_init */
    bool owned; /* tensor_release frees data; false: data is borrowed */
};

size_t tensor_type_size(enum tensor_type type);      /* bytes per element */
const char *tensor_type_name(enum tensor_type type); /* "float32" */
bool tensor_type_is_real(enum tensor_type type);     /* floating point */
int tensor_type_onnx(enum tensor_type type);         /* ONNX's TensorProto.DataType */
/* False: an invalid number, or a type that the engine does not have (strings, complex numbers). */
bool tensor_type_from_onnx(int64_t onnx_type, enum tensor_type *ret_type);

/* Element `index` of any type, converted to double: rounded if it is an integer beyond 2^53
 * (tensor_compare is exact). Slower than a loop per type. */
double tensor_number(const struct tensor *tensor, int64_t index);
/* Stores a double, converted to the tensor's type: floats are rounded to nearest even; integers are
 * rounded towards zero and then truncated to their low bits, NaN becomes 0; bool: true if not 0. */
void tensor_put_number(struct tensor *tensor, int64_t index, double value);
/* The same for integers and bool, exactly: the element sign-extended or zero-extended to 64 bits;
 * tensor_put_whole stores the low bits. */
uint64_t tensor_whole(const struct tensor *tensor, int64_t index);
void tensor_put_whole(struct tensor *tensor, int64_t index, uint64_t value);
/* Compares elements a and b: -1 less, 0 equal, 1 greater; 2 if one of them is NaN. */
int tensor_compare(const struct tensor *tensor, int64_t a, int64_t b);

/* Allocates a tensor of zeros, which the caller releases. ERROR_INVALID: a dimension is unknown or
 * the tensor is too large; ERROR_EXHAUSTED: out of memory. */
NODISCARD int tensor_init(struct tensor *tensor, enum tensor_type type, const struct shape *shape,
                          struct error *err);
/* Frees owned data; the tensor is all zeros afterwards. */
void tensor_release(struct tensor *tensor);

/* How pixels, uint8 [n, height, width, 3], are converted to channels of a network, float32 [n, 3,
 * height, width]: channel k = byte k * scale[k] + shift[k]. In the other direction: byte k =
 * channel k * scale[k] + shift[k], truncated to an integer in 0..255. */
struct pixel_conversion {
    float scale[3], shift[3]; /* per channel */
    bool is_bgr;              /* channel k belongs to byte 2 - k, because the network uses BGR */
};
