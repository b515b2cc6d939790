/* operators.h: one node a row, with operands of any type: what every device must do alike. The
 * rows stand in operator_rows.inc; those of float32 alone, by many shapes, in test_device.c. */
#pragma once

#include "tests/conformance/attributes.h"

/* FED: an input of the network, drawn anew for every run. KNOWN: a constant, where shapes follow
 * from it. LEFT_OUT: an optional input that is absent. */
enum operand_kind { NO_MORE, FED, KNOWN, LEFT_OUT };

struct operand {
    enum operand_kind kind;
    enum tensor_type type;
    struct shape shape;
    double low, high;      /* what is drawn from; of integers, high is left out */
    bool is_odd;           /* NaN and infinities are among the numbers */
    const int64_t *values; /* KNOWN */
};

enum { OPERANDS_MAX = 8, OPERATOR_ATTRIBUTES_MAX = 6 };

struct operator_row {
    const char *op;
    int opset, outputs;
    struct operand operands[OPERANDS_MAX];
    struct attribute attributes[OPERATOR_ATTRIBUTES_MAX];
};

#define SIZES(...)                                                                                 \
    {                                                                                              \
        sizeof LIST(__VA_ARGS__) / sizeof(int64_t), {                                              \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define DRAWN(type_of, from, to, ...)                                                              \
    { .kind = FED, .type = type_of, .shape = SIZES(__VA_ARGS__), .low = from, .high = to }
#define FLOATS(...) DRAWN(TENSOR_FLOAT32, -1, 1, __VA_ARGS__)
#define BETWEEN(from, to, ...) DRAWN(TENSOR_FLOAT32, from, to, __VA_ARGS__)
#define BOOLS(...) DRAWN(TENSOR_BOOL, 0, 2, __VA_ARGS__)
#define WHOLE(from, to, ...) DRAWN(TENSOR_INT64, from, to, __VA_ARGS__)
#define ODD(...)                                                                                   \
    { .kind = FED, .shape = SIZES(__VA_ARGS__), .low = -1, .high = 1, .is_odd = true }
#define CONSTANT(...)                                                                              \
    {                                                                                              \
        .kind = KNOWN, .type = TENSOR_INT64, .values = LIST(__VA_ARGS__), .shape = {               \
            1,                                                                                     \
            {sizeof LIST(__VA_ARGS__) / sizeof(int64_t)}                                           \
        }                                                                                          \
    }
#define NOTHING                                                                                    \
    { .kind = LEFT_OUT }
