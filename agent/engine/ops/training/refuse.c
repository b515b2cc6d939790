// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/training/refuse.h"

#include "agent/engine/ops/training/gradient.h"

#include <stdio.h>
#include <string.h>

enum { WHY_BYTES = 80, NAMES_BYTES = 150 }; /* so that the message fits an error */

static bool any(const bool *marks, const int *values, int count) {
    for (int i = 0; i < count; i++) {
        if (values[i] >= 0 && marks[values[i]]) {
            return true;
        }
    }
    return false;
}

/* Values that a gradient passes on its way from the outputs, as the rules would carry it. */
static void mark_reached(const struct graph *network, bool *reached) {
    for (size_t i = 0; i < network->output_count; i++) {
        reached[network->outputs[i]] = true;
    }
    for (size_t n = network->node_count; n-- > 0;) {
        const struct node *node = &network->nodes[n];
        if (!any(reached, node->outputs, node->output_count)) {
            continue;
        }
        for (int i = 0; i < node->input_count; i++) {
            if (node->inputs[i] >= 0 && gradient_carries(node, i)) {
                reached[node->inputs[i]] = true;
            }
        }
    }
}

/* Values that depend on a variable. */
static void mark_wanted(const struct refuse_scope *scope, bool *wanted) {
    for (size_t i = 0; i < scope->count; i++) {
        wanted[scope->variables[i]] = true;
    }
    for (size_t n = 0; n < scope->network->node_count; n++) {
        const struct node *node = &scope->network->nodes[n];
        bool depends = false;
        for (int i = 0; i < node->input_count; i++) {
            depends |= node->inputs[i] >= 0 && wanted[node->inputs[i]] && gradient_carries(node, i);
        }
        for (int i = 0; depends && i < node->output_count; i++) {
            if (node->outputs[i] >= 0) {
                wanted[node->outputs[i]] = true;
            }
        }
    }
}

/* Marks what is before nodes without a rule; returns the last of these nodes. */
static const struct node *mark_blocked(const struct graph *network, const bool *reached,
                                       const bool *wanted, bool *blocked) {
    const struct node *last = NULL;
    for (size_t n = network->node_count; n-- > 0;) {
        const struct node *node = &network->nodes[n];
        bool is_missing = !gradient_has_rule(node) &&
                          any(reached, node->outputs, node->output_count) &&
                          any(wanted, node->inputs, node->input_count);
        if (!is_missing && !any(blocked, node->outputs, node->output_count)) {
            continue;
        }
        last = last ? last : node;
        for (int i = 0; i < node->input_count; i++) {
            if (node->inputs[i] >= 0 && gradient_carries(node, i)) {
                blocked[node->inputs[i]] = true;
            }
        }
    }
    return last;
}

static bool is_quantized(const struct node *node) {
    switch (node->op->id) {
    case OP_CONV_INTEGER:
    case OP_DEQUANTIZE_LINEAR:
    case OP_DYNAMIC_QUANTIZE:
    case OP_MATMUL_INTEGER:
    case OP_QLINEAR_CONV:
    case OP_QLINEAR_MATMUL:
    case OP_QUANTIZE_LINEAR:
    case OP_MS_DEQUANTIZE_LINEAR:
    case OP_MS_DYNAMIC_QUANTIZE_MATMUL:
    case OP_MS_MATMUL_BITS:
    case OP_MS_MATMUL_INTEGER_TO_FLOAT:
    case OP_MS_QATTENTION:
    case OP_MS_QGEMM:
    case OP_MS_QLINEAR_ADD:
    case OP_MS_QLINEAR_AVERAGE_POOL:
    case OP_MS_QLINEAR_CONCAT:
    case OP_MS_QLINEAR_GLOBAL_AVERAGE_POOL:
    case OP_MS_QLINEAR_LEAKY_RELU:
    case OP_MS_QLINEAR_MUL:
    case OP_MS_QLINEAR_SIGMOID:
    case OP_MS_QLINEAR_SOFTMAX:
    case OP_MS_QLINEAR_WHERE:
    case OP_MS_QUANTIZE_LINEAR:
        return true;
    default:
        return false;
    }
}

/* Returns what to do instead of freezing: the begin of a sentence, or nothing. */
static const char *explain(const struct node *node, char why[static WHY_BYTES]) {
    enum tensor_type type;
    if (gradient_leaves_float32(node, &type)) {
        snprintf(why, WHY_BYTES, " to %s: only float32 has gradients", tensor_type_name(type));
        return "export it without .double(), .half() and autocast; or, ";
    }
    if (node->op->id == OP_LAYER_NORMALIZATION) {
        snprintf(why, WHY_BYTES, ": its axis %lld, of an unknown number, has no gradient",
                 (long long)node_integer(node, "axis", -1));
        return "export it with an axis from the end (-1); or, ";
    }
    if (is_quantized(node)) {
        snprintf(why, WHY_BYTES, ": the network is quantized, and whole numbers have no gradient");
        return "train it as it was before, and quantize the result; or, ";
    }
    snprintf(why, WHY_BYTES, ": this operator has no gradient");
    return "";
}

static int refuse(const struct refuse_scope *scope, const struct node *node, const bool *blocked,
                  struct error *err) {
    char names[NAMES_BYTES] = "";
    size_t count = 0, used = 0;
    bool is_cut = false;
    for (size_t i = 0; i < scope->count; i++) {
        const char *name = scope->network->values[scope->variables[i]].name;
        if (blocked[scope->variables[i]]) {
            count++;
            is_cut |= used + strlen(name) + 5 > sizeof names;
            used += is_cut ? 0
                           : (size_t)snprintf(names + used, sizeof names - used, "%s\"%s\"",
                                              used ? ", " : "", name);
        }
    }
    char why[WHY_BYTES];
    const char *cure = explain(node, why);
    return error_set(err, ERROR_UNSUPPORTED,
                     "%s node \"%.64s\"%s, so %zu weight%s before it cannot be trained; %sto leave "
                     "%s as %s, write spec.trainer.model.freeze: [%s%s]",
                     node->op->name, node->name, why, count, count == 1 ? "" : "s", cure,
                     count == 1 ? "it" : "them", count == 1 ? "it is" : "they are", names,
                     !is_cut ? ""
                     : used  ? ", ..."
                             : "...");
}

/* A training step has shapes that are known before it; nothing that freeze names would help. */
int refuse_late(const struct graph *network, struct error *err) {
    struct arena scratch = {0};
    bool *used = arena_array(&scratch, network->value_count, sizeof *used);
    const struct node *late = NULL;
    for (size_t i = 0; i < network->output_count; i++) {
        used[network->outputs[i]] = true;
    }
    for (size_t n = network->node_count; n-- > 0;) {
        const struct node *node = &network->nodes[n];
        if (!any(used, node->outputs, node->output_count)) {
            continue;
        }
        late = node->op->flags & OP_LATE ? node : late;
        for (int i = 0; i < node->input_count; i++) {
            if (node->inputs[i] >= 0) {
                used[node->inputs[i]] = true;
            }
        }
    }
    arena_release(&scratch);
    return late ? error_set(err, ERROR_UNSUPPORTED,
                            "%s node \"%.64s\": the shape of its output is known only at run time, "
                            "so the network is run, but not trained: export it without branches "
                            "and loops over data, picks by a mask and lists (torch.where, and "
                            "factors of 0, keep shapes)",
                            late->op->name, late->name)
                : 0;
}

int refuse_operators(const struct refuse_scope *scope, struct error *err) {
    struct arena scratch = {0};
    size_t values = scope->network->value_count;
    bool *reached = arena_array(&scratch, values, sizeof *reached);
    bool *wanted = arena_array(&scratch, values, sizeof *wanted);
    bool *blocked = arena_array(&scratch, values, sizeof *blocked);
    mark_reached(scope->network, reached);
    mark_wanted(scope, wanted);
    const struct node *node = mark_blocked(scope->network, reached, wanted, blocked);
    int result = node ? refuse(scope, node, blocked, err) : 0;
    arena_release(&scratch);
    return result;
}

int refuse_weight(const struct graph *network, int variable, struct error *err) {
    const char *name = network->values[variable].name;
    return error_set(err, ERROR_UNSUPPORTED,
                     "weight \"%.64s\" cannot be trained: no operator passes a gradient to it; if "
                     "it shall stay as it is, write spec.trainer.model.freeze: [\"%.64s\"]",
                     name, name);
}
