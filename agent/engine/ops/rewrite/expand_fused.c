// SPDX-License-Identifier: Apache-2.0
/* Operators with an activation in them, of com.microsoft, and norms of any power. */
#include "agent/engine/ops/rewrite/expand.h"

#include <math.h>
#include <string.h>

enum { PARAMETERS_MAX = 2 };

/* An activation by its name, with the numbers of the attribute activation_params. */
static const struct activation {
    const char *name;
    enum op_id id;
    const char *parameters[PARAMETERS_MAX]; /* attributes; Clip has inputs instead */
} activations[] = {
    {"Clip", OP_CLIP, {NULL, NULL}},
    {"Elu", OP_ELU, {"alpha", NULL}},
    {"HardSigmoid", OP_HARD_SIGMOID, {"alpha", "beta"}},
    {"HardSwish", OP_HARD_SWISH, {NULL, NULL}},
    {"LeakyRelu", OP_LEAKY_RELU, {"alpha", NULL}},
    {"Relu", OP_RELU, {NULL, NULL}},
    {"Sigmoid", OP_SIGMOID, {NULL, NULL}},
    {"Tanh", OP_TANH, {NULL, NULL}},
};

static float parameter(const struct node *node, const char *list, int index, float fallback) {
    const struct attribute *numbers = node_attribute(node, list);
    if (numbers) {
        return numbers->count > (size_t)index ? numbers->numbers[index] : fallback;
    }
    return fallback;
}

/* FusedGemm has the numbers one by one. */
static float activation_number(const struct node *node, int index, float fallback) {
    const char *single = index ? "activation_beta" : "activation_alpha";
    return node_attribute(node, single) ? node_number(node, single, fallback)
                                        : parameter(node, "activation_params", index, fallback);
}

static int clip(struct expansion *expansion, int x) {
    float low = activation_number(expansion->node, 0, -INFINITY);
    float high = activation_number(expansion->node, 1, INFINITY);
    return expand_value(expansion, OP_CLIP,
                        INPUTS(x, expand_number(expansion, low), expand_number(expansion, high)), 1,
                        NULL);
}

static int activate(struct expansion *expansion, int x, int *ret_y, struct error *err) {
    const char *name = node_text(expansion->node, "activation", "");
    const struct activation *found = NULL;
    for (size_t i = 0; i < ARRAY_LEN(activations); i++) {
        found = strcmp(activations[i].name, name) == 0 ? &activations[i] : found;
    }
    if (!found && *name) {
        return error_set(err, ERROR_UNSUPPORTED, "activation \"%.64s\" is not supported", name);
    }
    if (!found || found->id == OP_CLIP) {
        *ret_y = found ? clip(expansion, x) : x;
        return 0;
    }
    struct attribute attributes[PARAMETERS_MAX + 1] = {{.name = NULL}};
    size_t count = 0;
    for (int i = 0; i < PARAMETERS_MAX && found->parameters[i]; i++) {
        float value = activation_number(expansion->node, i, NAN);
        if (!isnan(value)) {
            attributes[count++] = (struct attribute){
                .name = found->parameters[i], .kind = ATTRIBUTE_NUMBER, .number = value};
        }
    }
    *ret_y = expand_value(expansion, found->id, INPUTS(x), 1, attributes);
    return 0;
}

/* Appends the standard's operator with the node's attributes but those of the activation. */
static int without_activation(struct expansion *expansion, enum op_id id, const int *inputs) {
    enum { ATTRIBUTES_MAX = 12 };
    const struct node *node = expansion->node;
    struct attribute attributes[ATTRIBUTES_MAX + 1] = {{.name = NULL}};
    size_t count = 0;
    for (size_t i = 0; i < node->attribute_count && count < ATTRIBUTES_MAX; i++) {
        if (strncmp(node->attributes[i].name, "activation", strlen("activation")) != 0) {
            attributes[count++] = node->attributes[i];
        }
    }
    return expand_value(expansion, id, inputs, 1, attributes);
}

/* The first three inputs. */
static int without_sum(struct expansion *expansion, enum op_id id) {
    const struct node *node = expansion->node;
    return without_activation(expansion, id,
                              INPUTS(node->inputs[0], node->inputs[1], expand_input(node, 2)));
}

static int give_activated(struct expansion *expansion, int y, bool *ret_done, struct error *err) {
    if (activate(expansion, y, &y, err) < 0) {
        return -1;
    }
    expand_give(expansion, 0, y);
    *ret_done = true;
    return 0;
}

/* activation(Conv(x, w, bias) + z) */
int expand_fused_conv(struct expansion *expansion, const struct node *node, bool *ret_done,
                      struct error *err) {
    int y = without_sum(expansion, OP_CONV), z = expand_input(node, 3);
    y = z < 0 ? y : expand_binary(expansion, OP_ADD, y, z);
    return give_activated(expansion, y, ret_done, err);
}

int expand_fused_gemm(struct expansion *expansion, const struct node *node UNUSED, bool *ret_done,
                      struct error *err) {
    return give_activated(expansion, without_sum(expansion, OP_GEMM), ret_done, err);
}

/* ---- norms ----------------------------------------------------------------------------------- */

/* x / |x| along an axis; 0 where the norm is 0. */
int expand_lp_normalization(struct expansion *expansion, const struct node *node, bool *ret_done,
                            struct error *err UNUSED) {
    int64_t *axes = arena_array(&expansion->builder.graph.arena, 1, sizeof *axes);
    axes[0] = node_integer(node, "axis", -1);
    const struct attribute over[] = {
        {.name = "axes", .kind = ATTRIBUTE_INTEGERS, .count = 1, .integers = axes}, {.name = NULL}};
    int x = node->inputs[0];
    enum op_id id = node_integer(node, "p", 2) == 1 ? OP_REDUCE_L1 : OP_REDUCE_L2;
    int norm = expand_value(expansion, id, INPUTS(x), 1, over);
    enum tensor_type type = expand_type(expansion, x);
    int zero = expand_typed(expansion, 0, type), one = expand_typed(expansion, 1, type);
    int is_zero = expand_binary(expansion, OP_EQUAL, norm, zero);
    int divisor = expand_value(expansion, OP_WHERE, INPUTS(is_zero, one, norm), 1, NULL);
    expand_give(expansion, 0, expand_binary(expansion, OP_DIV, x, divisor));
    *ret_done = true;
    return 0;
}

/* |x| to the power p */
static int to_power(struct expansion *expansion, int x, float p) {
    int size = expand_value(expansion, OP_ABS, INPUTS(x), 1, NULL);
    return p == 1 ? size : expand_binary(expansion, OP_POW, size, expand_number(expansion, p));
}

/* The sum of |x|^p over all pixels, to the power 1/p: the mean times their number. */
int expand_global_lp_pool(struct expansion *expansion, const struct node *node, bool *ret_done,
                          struct error *err) {
    int rank = expand_rank(expansion, node->inputs[0]);
    float p = (float)node_integer(node, "p", 2);
    if (rank < 3) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "the rank of the input is not known, or is less than 3");
    }
    int64_t *axes = arena_array(&expansion->builder.graph.arena, (size_t)rank, sizeof *axes);
    for (int i = 2; i < rank; i++) {
        axes[i - 2] = i;
    }
    int over = builder_integers(&expansion->builder, axes, rank - 2);
    int sum = expand_value(expansion, OP_REDUCE_SUM,
                           INPUTS(to_power(expansion, node->inputs[0], p), over), 1, NULL);
    expand_give(expansion, 0, p == 1 ? sum : to_power(expansion, sum, 1 / p));
    *ret_done = true;
    return 0;
}

/* Windows of sums are means of windows times the number of their pixels, pads included. */
int expand_lp_pool(struct expansion *expansion, const struct node *node, bool *ret_done,
                   struct error *err UNUSED) {
    enum { ATTRIBUTES_MAX = 8 };
    struct attribute attributes[ATTRIBUTES_MAX + 1] = {{.name = NULL}};
    size_t count = 0, dims;
    const int64_t *kernel = node_integers(node, "kernel_shape", &dims);
    float p = (float)node_integer(node, "p", 2), cells = 1;
    for (size_t i = 0; i < dims; i++) {
        cells *= (float)kernel[i];
    }
    for (size_t i = 0; i < node->attribute_count && count + 1 < ATTRIBUTES_MAX; i++) {
        if (strcmp(node->attributes[i].name, "p") != 0) {
            attributes[count++] = node->attributes[i];
        }
    }
    attributes[count] =
        (struct attribute){.name = "count_include_pad", .kind = ATTRIBUTE_INTEGER, .integer = 1};
    const struct builder_new_node pool = {
        .op = op_find("AveragePool", 19),
        .name = node->name,
        .opset = 19,
        .input_count = 1,
        .output_count = 1,
        .inputs = (const int[]){to_power(expansion, node->inputs[0], p)},
        .attribute_count = count + 1,
        .attributes = attributes};
    int mean = builder_node(&expansion->builder, &pool);
    int sum = expand_binary(expansion, OP_MUL, mean, expand_number(expansion, cells));
    expand_give(expansion, 0, p == 1 ? sum : to_power(expansion, sum, 1 / p));
    *ret_done = true;
    return 0;
}
