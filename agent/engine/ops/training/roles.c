// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/training/roles.h"

#include "agent/engine/ops/training/exporter_constant.h"
#include "agent/engine/ops/training/gradient.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

static const float mask_from = 1e38f; /* exporters write -inf or -3.4e38 into masks */

/* By value of the network. */
struct search {
    const struct graph *network;
    const struct role_options *options;
    const int *makers;
    bool *used;      /* an output depends on it */
    bool *matters;   /* and not only on its shape, or as a setting */
    bool *reached;   /* by a gradient */
    bool *statistic; /* of a batch normalization */
    bool *weight;    /* an operator reads it as its weight */
    bool *formula;   /* ones or zeros of a norm without scale and shift */
    bool *rooted;    /* a Sqrt or Reciprocal reads it */
    bool *number;    /* an exponent, or the epsilon under a root: simplifiers make initializers of
                        these, which keep names like that of a folded parameter */
    bool has_initializers;
};

/* ---- operators ---- */

static bool is_statistic_port(const struct node *node, int input) {
    return node->op->id == OP_BATCH_NORMALIZATION && (input == 3 || input == 4);
}

static bool is_product(const struct node *node) {
    return node && (node->op->id == OP_MATMUL || node->op->id == OP_CONV ||
                    node->op->id == OP_CONV_TRANSPOSE || node->op->id == OP_GEMM);
}

static const struct node *maker_of(const struct graph *network, const int *makers, int value) {
    return value < 0 || makers[value] < 0 ? NULL : &network->nodes[makers[value]];
}

int roles_constant_of(const struct graph *network, const int *makers, int value) {
    for (const struct node *maker = maker_of(network, makers, value); maker;
         maker = maker_of(network, makers, value)) {
        int id = maker->op->id;
        if (id != OP_TRANSPOSE && id != OP_RESHAPE && id != OP_IDENTITY && id != OP_SQUEEZE &&
            id != OP_UNSQUEEZE && id != OP_FLATTEN && id != OP_ROUND_BFLOAT) {
            return -1;
        }
        value = maker->inputs[0];
    }
    return value >= 0 && network->values[value].is_constant ? value : -1;
}

/* The maker, under bfloat.h's mark. */
static const struct node *real_maker(const struct search *search, int value) {
    const struct node *maker = maker_of(search->network, search->makers, value);
    return maker && maker->op->id == OP_ROUND_BFLOAT
               ? maker_of(search->network, search->makers, maker->inputs[0])
               : maker;
}

/* Inputs that are weights, whatever they are called. */
static bool is_weight_port(const struct search *search, const struct node *node, int input) {
    switch (node->op->id) {
    case OP_MATMUL:
    case OP_GEMM:
        return true;
    case OP_BATCH_NORMALIZATION:
    case OP_CONV:
    case OP_CONV_TRANSPOSE:
    case OP_GROUP_NORMALIZATION:
    case OP_INSTANCE_NORMALIZATION:
    case OP_LAYER_NORMALIZATION:
    case OP_GRU:
    case OP_LSTM:
    case OP_RNN:
    case OP_PRELU:
        return input > 0;
    case OP_GATHER:
        return input == 0;
    case OP_ADD:
        return is_product(real_maker(search, node->inputs[1 - input]));
    default:
        return false;
    }
}

/* Nodes are visited from the last to the first: readers come before what they read. */
static bool is_number_port(const struct search *search, const struct node *node, int input) {
    return (node->op->id == OP_POW && input == 1) ||
           (node->op->id == OP_ADD && search->rooted[node->outputs[0]]);
}

/* ---- the walk from the outputs to the constants ---- */

static void visit_input(struct search *search, const struct node *node, int input, bool matters,
                        bool is_reached) {
    int value = node->inputs[input];
    if (value < 0) {
        return;
    }
    search->used[value] = true;
    search->matters[value] |= matters && !gradient_is_setting(node, input);
    search->reached[value] |= is_reached && gradient_carries(node, input);
    search->rooted[value] |= node->op->id == OP_SQRT || node->op->id == OP_RECIPROCAL;
    int constant = roles_constant_of(search->network, search->makers, value);
    if (constant >= 0) {
        search->statistic[constant] |= is_statistic_port(node, input);
        search->weight[constant] |= is_weight_port(search, node, input);
        search->formula[constant] |= exporter_constant_fills_norm(search->network, node, input);
        search->number[constant] |= is_number_port(search, node, input);
    }
}

static void walk(struct search *search) {
    const struct graph *network = search->network;
    for (size_t i = 0; i < network->output_count; i++) {
        int y = network->outputs[i];
        search->used[y] = search->matters[y] = search->reached[y] = true;
    }
    for (size_t n = network->node_count; n-- > 0;) {
        const struct node *node = &network->nodes[n];
        bool used = false, matters = false, is_reached = false;
        for (int i = 0; i < node->output_count; i++) {
            int value = node->outputs[i];
            used |= value >= 0 && search->used[value];
            matters |= value >= 0 && search->matters[value];
            is_reached |= value >= 0 && search->reached[value];
        }
        for (int i = 0; used && i < node->input_count; i++) {
            visit_input(search, node, i, matters, is_reached);
        }
    }
}

/* ---- what a constant is ---- */

static bool is_floating(const struct value *value) {
    return value->is_constant && !value->is_string &&
           (value->type == TENSOR_FLOAT32 || value->type == TENSOR_FLOAT16 ||
            value->type == TENSOR_BFLOAT16 || value->type == TENSOR_FLOAT64);
}

/* By its name a parameter, or computed from one: log_scale.exp(), p[0]. */
static bool is_parameter(const struct search *search, int index) {
    const char *name = search->network->values[index].name;
    if (exporter_constant_is_folded(name)) {
        return !search->number[index];
    }
    return !exporter_constant_has_name(name) && strspn(name, "0123456789") < strlen(name);
}

static bool is_mask(const struct value *value) {
    const float *numbers = value->constant.data;
    int64_t count = value->type == TENSOR_FLOAT32 ? shape_count(&value->shape) : 0;
    for (int64_t i = 0; i < count; i++) {
        if (!(fabsf(numbers[i]) < mask_from)) {
            return true;
        }
    }
    return false;
}

static bool is_frozen(const struct role_options *options, const char *name) {
    for (size_t i = 0; i < options->freeze_count; i++) {
        if (fnmatch(options->freeze[i], name, 0) == 0) {
            return true;
        }
    }
    return false;
}

static enum role role_of(const struct search *search, int index) {
    const struct value *value = &search->network->values[index];
    bool is_one = shape_count(&value->shape) == 1;
    bool is_weight = search->weight[index] && value->shape.rank > 0;
    bool is_literal = value->is_literal && search->has_initializers;
    if (search->statistic[index]) {
        return is_literal || is_frozen(search->options, value->name) ? ROLE_LITERAL
                                                                     : ROLE_STATISTIC;
    }
    if (is_literal || (search->formula[index] && search->has_initializers)) {
        return ROLE_LITERAL;
    }
    if (is_one && !is_weight && (value->is_literal || !is_parameter(search, index))) {
        return ROLE_NUMBER;
    }
    if (is_frozen(search->options, value->name)) {
        return ROLE_FROZEN;
    }
    return !search->matters[index] ? ROLE_SETTING : is_mask(value) ? ROLE_MASK : ROLE_VARIABLE;
}

/* ---- refusals ---- */

/* The node beyond which no gradient comes back to the constant. */
static const struct node *find_stop(const struct search *search, int constant,
                                    struct arena *scratch) {
    const struct graph *network = search->network;
    bool *depends = arena_array(scratch, network->value_count, sizeof *depends);
    depends[constant] = true;
    for (size_t n = 0; n < network->node_count; n++) {
        const struct node *node = &network->nodes[n];
        bool flows = false;
        for (int i = 0; i < node->input_count; i++) {
            bool reads = node->inputs[i] >= 0 && depends[node->inputs[i]];
            bool matters =
                node->output_count && node->outputs[0] >= 0 && search->matters[node->outputs[0]];
            if (reads && matters && !gradient_is_setting(node, i) && !gradient_carries(node, i)) {
                return node;
            }
            flows |= reads;
        }
        for (int i = 0; flows && i < node->output_count; i++) {
            if (node->outputs[i] >= 0) {
                depends[node->outputs[i]] = true;
            }
        }
    }
    return NULL;
}

static int check_variable(const struct search *search, int index, struct error *err) {
    const struct value *value = &search->network->values[index];
    char shape[128];
    shape_format(&value->shape, shape);
    if (value->type != TENSOR_FLOAT32) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "weight \"%.64s\" (%s) is %s, and only float32 is trained: export the "
                         "network in float32, or write spec.trainer.model.freeze: [\"%.64s\"]",
                         value->name, shape, tensor_type_name(value->type), value->name);
    }
    if (search->reached[index]) {
        return 0;
    }
    struct arena scratch = {0};
    const struct node *node = find_stop(search, index, &scratch);
    int result = error_set(err, ERROR_UNSUPPORTED,
                           "weight \"%.64s\" (%s) cannot be trained: no gradient comes back "
                           "through %s node \"%.64s\"; if it shall stay as it is, write "
                           "spec.trainer.model.freeze: [\"%.64s\"]",
                           value->name, shape, node ? node->op->name : "a", node ? node->name : "",
                           value->name);
    arena_release(&scratch);
    return result;
}

/* A pattern with a mistake would train what shall stay. */
static int check_patterns(const struct role_options *options, struct error *err) {
    const struct graph *network = options->network;
    for (size_t i = 0; i < options->freeze_count; i++) {
        bool found = false;
        for (size_t v = 0; !found && v < network->value_count; v++) {
            const struct value *value = &network->values[v];
            found = is_floating(value) && fnmatch(options->freeze[i], value->name, 0) == 0;
        }
        if (!found) {
            return error_set(err, ERROR_INVALID,
                             "model.freeze: no weight of the network is named as \"%.100s\"; "
                             "windlass-agent model gradients lists the names",
                             options->freeze[i]);
        }
    }
    return 0;
}

/* ---- the whole ---- */

static int collect(struct search *search, struct roles *roles, struct error *err) {
    const struct graph *network = search->network;
    for (size_t i = 0; i < network->value_count; i++) {
        const struct value *value = &network->values[i];
        search->has_initializers |= search->used[i] && is_floating(value) && !value->is_literal &&
                                    shape_count(&value->shape) > 1;
    }
    for (size_t i = 0; i < network->value_count; i++) {
        const struct value *value = &network->values[i];
        if (!search->used[i] || !is_floating(value) || shape_count(&value->shape) < 1) {
            continue;
        }
        struct role_of_constant constant = {(int)i, role_of(search, (int)i)};
        if (constant.role == ROLE_VARIABLE && check_variable(search, (int)i, err) < 0) {
            return -1;
        }
        roles->constants[roles->count++] = constant;
    }
    return 0;
}

int roles_find(const struct role_options *options, struct arena *arena, struct roles *ret_roles,
               struct error *err) {
    struct search search = {
        .network = options->network, .options = options, .makers = options->makers};
    struct roles roles = {0};
    struct arena scratch = {0};
    size_t values = options->network->value_count;
    bool **const lists[] = {&search.used,   &search.matters, &search.reached, &search.statistic,
                            &search.weight, &search.formula, &search.rooted,  &search.number};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        *lists[i] = arena_array(&scratch, values, sizeof **lists[i]);
    }
    roles.constants = arena_array(arena, values, sizeof *roles.constants);
    walk(&search);
    int result = check_patterns(options, err) < 0 ? -1 : collect(&search, &roles, err);
    arena_release(&scratch);
    *ret_roles = roles;
    return result;
}

struct role_amount roles_amount(const struct roles *roles, const struct graph *network,
                                enum role role) {
    struct role_amount amount = {0};
    for (size_t i = 0; i < roles->count; i++) {
        if (roles->constants[i].role == role) {
            amount.tensors++;
            amount.elements += shape_count(&network->values[roles->constants[i].value].shape);
        }
    }
    return amount;
}
