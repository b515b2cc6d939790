// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/infer/einsum.h"

#include "agent/engine/ops/infer/params.h"

#include <string.h>

/* The maximum number of products in all: minutes for a plain loop. */
static const double work_max = 0x1p40;

/* A label is a letter, or a dimension of the ellipsis: 128 + its position from the right. */
struct term {
    int count, labels[TENSOR_RANK_MAX];
    bool has_dots;
    int dots_at; /* number of labels before the ellipsis */
};

struct equation {
    struct term operands[EINSUM_OPERANDS_MAX], output;
    int operand_count, dots; /* dots: dimensions of the longest ellipsis */
    bool has_output;
};

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Reads one term, up to a comma, an arrow or the end. */
static int read_term(const char **at, struct term *term, struct error *err) {
    *term = (struct term){0};
    for (; **at && **at != ',' && **at != '-'; (*at)++) {
        if (**at == ' ') {
            continue;
        }
        if (strncmp(*at, "...", 3) == 0 && !term->has_dots) {
            term->has_dots = true;
            term->dots_at = term->count;
            *at += 2;
        } else if (is_letter(**at) && term->count < TENSOR_RANK_MAX) {
            term->labels[term->count++] = (unsigned char)**at;
        } else {
            return error_set(
                err, ERROR_INVALID,
                "attribute \"equation\": \"%.20s\": at most %d letters and one \"...\" "
                "are expected",
                *at, TENSOR_RANK_MAX);
        }
    }
    return 0;
}

static int read_equation(const char *text, struct equation *equation, struct error *err) {
    *equation = (struct equation){0};
    for (const char *at = text;; at++) {
        if (equation->operand_count == EINSUM_OPERANDS_MAX) {
            return error_set(err, ERROR_UNSUPPORTED, "more than %d operands", EINSUM_OPERANDS_MAX);
        }
        if (read_term(&at, &equation->operands[equation->operand_count++], err) < 0) {
            return -1;
        }
        if (at[0] == '-' && at[1] == '>') {
            at += 2;
            equation->has_output = true;
            if (read_term(&at, &equation->output, err) < 0) {
                return -1;
            }
        }
        if (!*at) {
            return 0;
        }
        if (*at != ',' || equation->has_output) {
            return error_set(err, ERROR_INVALID,
                             "attribute \"equation\": \"%.20s\" is not expected", at);
        }
    }
}

/* Inserts the labels of the ellipsis, so that there are `rank` labels; rank -1: as many as in the
 * longest ellipsis. */
static int spell_out(struct term *term, int rank, int *dots, struct error *err) {
    int more = rank < 0 ? *dots : rank - term->count;
    if (more < 0 || (more > 0 && !term->has_dots && rank >= 0) ||
        term->count + more > TENSOR_RANK_MAX) {
        return error_set(err, ERROR_INVALID, "%d labels for %d dimensions", term->count, rank);
    }
    if (!term->has_dots) {
        return 0;
    }
    memmove(&term->labels[term->dots_at + more], &term->labels[term->dots_at],
            (size_t)(term->count - term->dots_at) * sizeof term->labels[0]);
    for (int i = 0; i < more; i++) {
        term->labels[term->dots_at + i] = 128 + more - 1 - i;
    }
    term->count += more;
    *dots = MAX(*dots, more);
    return 0;
}

static int times_in(const struct term *term, int label) {
    int times = 0;
    for (int i = 0; i < term->count; i++) {
        times += term->labels[i] == label;
    }
    return times;
}

/* The output without an arrow: the ellipsis, then the letters that occur once, in alphabetical
 * order. */
static void usual_output(struct equation *equation) {
    struct term *output = &equation->output;
    for (int i = equation->dots; i-- > 0;) {
        output->labels[output->count++] = 128 + i;
    }
    for (int label = 'A'; label <= 'z'; label++) {
        int times = 0;
        for (int k = 0; k < equation->operand_count; k++) {
            times += times_in(&equation->operands[k], label);
        }
        if (times == 1 && output->count < TENSOR_RANK_MAX) {
            output->labels[output->count++] = label;
        }
    }
}

static int label_index(const int *labels, int count, int label) {
    int i = 0;
    while (i < count && labels[i] != label) {
        i++;
    }
    return i;
}

static int add_operand(const struct term *term, const struct shape *shape, int *labels, int operand,
                       struct einsum *einsum, struct error *err) {
    int64_t stride = 1;
    for (int i = shape->rank; i-- > 0;) {
        int64_t size = shape->dims[i];
        int at = label_index(labels, einsum->label_count, term->labels[i]);
        if (at == einsum->label_count) {
            labels[einsum->label_count++] = term->labels[i];
            einsum->sizes[at] = 1;
        }
        if (size != 1 && einsum->sizes[at] != 1 && einsum->sizes[at] != size) {
            return error_set(err, ERROR_INVALID,
                             "label '%c': size %lld differs from %lld in an earlier operand",
                             term->labels[i] < 128 ? term->labels[i] : '.', (long long)size,
                             (long long)einsum->sizes[at]);
        }
        einsum->sizes[at] = size == 1 ? einsum->sizes[at] : size;
        einsum->strides[operand][at] += size == 1 ? 0 : stride;
        stride *= size;
    }
    return 0;
}

static int fill(const struct equation *equation, const struct shape *const *shapes,
                struct einsum *einsum, struct error *err) {
    int labels[EINSUM_LABELS_MAX + TENSOR_RANK_MAX];
    const struct term *output = &equation->output;
    for (int i = 0; i < output->count; i++) {
        if (times_in(output, output->labels[i]) != 1) {
            return error_set(err, ERROR_INVALID, "the output names a label twice");
        }
        labels[einsum->label_count] = output->labels[i];
        einsum->sizes[einsum->label_count++] = 1;
    }
    einsum->output_rank = output->count;
    for (int k = 0; k < equation->operand_count; k++) {
        if (add_operand(&equation->operands[k], shapes[k], labels, k, einsum, err) < 0) {
            return -1;
        }
    }
    double work = 1;
    for (int i = 0; i < einsum->label_count; i++) {
        bool is_known = false;
        for (int k = 0; k < equation->operand_count; k++) {
            is_known |= times_in(&equation->operands[k], labels[i]) > 0;
        }
        if (!is_known && labels[i] < 128) {
            return error_set(err, ERROR_INVALID, "no operand has the output's label %c", labels[i]);
        }
        work *= (double)MAX(einsum->sizes[i], 1);
    }
    return work <= work_max
               ? 0
               : error_set(err, ERROR_UNSUPPORTED, "%g multiplications, at most %g are supported",
                           work, work_max);
}

int einsum_params(const struct node *node, const struct shape *const *shapes,
                  struct einsum *ret_einsum, struct error *err) {
    struct equation equation;
    struct einsum einsum = {0};
    if (read_equation(node_text(node, "equation", ""), &equation, err) < 0) {
        return -1;
    }
    if (equation.operand_count != node->input_count) {
        return error_set(err, ERROR_INVALID, "the equation has %d operands, the node %d",
                         equation.operand_count, node->input_count);
    }
    for (int i = 0; i < equation.operand_count; i++) {
        if (spell_out(&equation.operands[i], shapes[i]->rank, &equation.dots, err) < 0) {
            return -1;
        }
    }
    if (!equation.has_output) {
        usual_output(&equation);
    } else if (spell_out(&equation.output, -1, &equation.dots, err) < 0) {
        return -1;
    }
    if (fill(&equation, shapes, &einsum, err) < 0) {
        return -1;
    }
    *ret_einsum = einsum;
    return 0;
}

int infer_einsum(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                 struct error *err) {
    const struct shape *shapes[EINSUM_OPERANDS_MAX];
    struct einsum einsum;
    for (int i = 0; i < node->input_count; i++) {
        if (!inputs[i]) {
            return error_set(err, ERROR_INVALID, "input %d is missing", i);
        }
        shapes[i] = &inputs[i]->shape;
    }
    if (einsum_params(node, shapes, &einsum, err) < 0) {
        return -1;
    }
    outputs[0].shape.rank = einsum.output_rank;
    memcpy(outputs[0].shape.dims, einsum.sizes,
           (size_t)einsum.output_rank * sizeof einsum.sizes[0]);
    return 0;
}
