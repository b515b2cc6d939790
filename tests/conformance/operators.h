/* operators.h: one node per row, with operands of any type; all devices must agree on them. The
 * rows are in operator_rows.inc; rows of float32 alone, with many shapes, are in test_device.c. */
#pragma once

#include "tests/conformance/attributes.h"
#include "tests/conformance/network.h"

/* FED: an input of the network, drawn anew for every run. KNOWN: a constant, where shapes depend on
 * it. LEFT_OUT: an optional input that is absent. */
enum operand_kind { NO_MORE, FED, KNOWN, LEFT_OUT };

struct operand {
    enum operand_kind kind;
    enum tensor_type type;
    struct shape shape;
    double low, high;      /* the range of the numbers; for integers, high is excluded */
    bool is_odd;           /* NaN and infinities are among the numbers */
    const int64_t *values; /* KNOWN */
};

enum { OPERANDS_MAX = 9, OPERATOR_ATTRIBUTES_MAX = 16 };

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

static inline int network_operand(struct network *network, const struct operand *operand,
                                  enum tensor_type real) {
    if (operand->kind == LEFT_OUT) {
        return -1;
    }
    bool is_float = operand->type == TENSOR_FLOAT32;
    struct tensor tensor = {.type = operand->type, .shape = operand->shape};
    if (operand->kind == KNOWN) {
        tensor.data = (void *)(uintptr_t)operand->values; /* only read */
        return network_keep(network, "known", tensor);
    }
    int value = network_input(network, operand->shape);
    network->values[value].type = is_float ? real : operand->type;
    network->values[value].has_shape = true;
    network->ranges[value] = (struct network_range){
        .low = operand->low, .high = operand->high, .is_odd = operand->is_odd};
    return value;
}

/* A network of the one node, with one output; `real` stands in for float32. */
static inline void network_of_operator(struct network *network, const struct operator_row *row,
                                       int output, enum tensor_type real) {
    int inputs[OPERANDS_MAX + 1], count = 0;
    network_init(network, row->opset);
    while (count < OPERANDS_MAX && row->operands[count].kind != NO_MORE) {
        inputs[count] = network_operand(network, &row->operands[count], real);
        count++;
    }
    inputs[count] = -2;
    int first = network_node_many(network, row->op, inputs, row->attributes, row->outputs);
    network_output(network, first + output);
}
