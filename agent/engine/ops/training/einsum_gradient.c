// SPDX-License-Identifier: Apache-2.0
/* An operand's gradient is an Einsum, too: the output's gradient and the other operands give the
 * operand's labels. Labels that only this operand has come from an operand of ones. Of a diagonal
 * (a label twice, "ii") the second one gets a name of its own, and an operand that is 1 where both
 * are equal and 0 elsewhere. */
#include "agent/engine/ops/infer/einsum.h"

#include "agent/engine/ops/training/gradient.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { TERM_BYTES = 40, EQUATION_BYTES = (EINSUM_OPERANDS_MAX + 3) * TERM_BYTES };

struct terms {
    int count; /* of operands */
    char operands[EINSUM_OPERANDS_MAX][TERM_BYTES], output[TERM_BYTES];
};

/* Of the Einsum that makes a gradient. */
struct operands {
    char *equation;
    int inputs[EINSUM_OPERANDS_MAX + 3], count;
};

/* Letters, and one '.' for the ellipsis. */
static int read_term(const char **at, char *term, struct error *err) {
    size_t length = 0;
    for (; **at && **at != ',' && **at != '-'; (*at)++) {
        bool is_dots = strncmp(*at, "...", 3) == 0;
        if (length + 1 == TERM_BYTES) {
            return error_set(err, ERROR_INVALID, "attribute \"equation\": a term is too long");
        }
        if (**at != ' ') {
            term[length++] = **at;
        }
        *at += is_dots ? 2 : 0;
    }
    return 0;
}

static int times_in(const char *term, char label) {
    int times = 0;
    for (; *term; term++) {
        times += *term == label;
    }
    return times;
}

/* Without an arrow: the ellipsis, then the letters that occur once, in alphabetical order. */
static void usual_output(struct terms *terms) {
    size_t length = 0;
    for (int label = '.'; label <= 'z'; label++) {
        int times = 0;
        for (int i = 0; i < terms->count; i++) {
            times += times_in(terms->operands[i], (char)label);
        }
        bool is_output = label == '.' ? times > 0 : isalpha(label) && times == 1;
        if (is_output && length + 1 < TERM_BYTES) {
            terms->output[length++] = (char)label;
        }
    }
}

static int read_terms(const char *text, struct terms *terms, struct error *err) {
    *terms = (struct terms){0};
    bool has_output = false;
    while (!has_output && terms->count < EINSUM_OPERANDS_MAX) {
        if (read_term(&text, terms->operands[terms->count++], err) < 0) {
            return -1;
        }
        has_output = text[0] == '-' && text[1] == '>';
        if (has_output) {
            text += 2;
            return read_term(&text, terms->output, err);
        }
        if (*text != ',') {
            break;
        }
        text++;
    }
    usual_output(terms);
    return 0;
}

static void add(char *equation, const char *text) {
    size_t used = strlen(equation);
    snprintf(equation + used, EQUATION_BYTES - used, "%s", text);
}

static void add_term(char *equation, const char *term) {
    size_t used = strlen(equation);
    for (; *term; term++) {
        used += (size_t)snprintf(equation + used, EQUATION_BYTES - used,
                                 *term == '.' ? "..." : "%c", *term);
    }
}

/* Whether all labels of the operand come from elsewhere. */
static bool is_covered(const struct terms *terms, int operand) {
    for (const char *at = terms->operands[operand]; *at; at++) {
        bool is_found = times_in(terms->output, *at) > 0;
        for (int i = 0; i < terms->count; i++) {
            is_found |= i != operand && times_in(terms->operands[i], *at) > 0;
        }
        if (!is_found) {
            return false;
        }
    }
    return true;
}

/* The size of one dimension, [1]. dots before it: it is counted from the end. */
static int size_at(struct gradient *gradient, int shape, const char *term, int at) {
    bool is_late = memchr(term, '.', (size_t)at) != NULL;
    int64_t index = is_late ? at - (int64_t)strlen(term) : at;
    int place = builder_integers(gradient_builder(gradient), &index, 1);
    return gradient_node(gradient, OP_GATHER, V(shape, place));
}

/* Ones on the diagonal of a matrix of two dimensions of the operand. */
static int make_diagonal(struct gradient *gradient, int shape, const char *term, int first,
                         int second) {
    const struct attribute axis = {.name = "axis", .kind = ATTRIBUTE_INTEGER};
    int rows = size_at(gradient, shape, term, first);
    int columns = size_at(gradient, shape, term, second);
    int sizes = gradient_node_with(gradient, OP_CONCAT, V(rows, columns), &axis);
    return gradient_node(gradient, OP_EYE_LIKE,
                         V(gradient_node(gradient, OP_CONSTANT_OF_SHAPE, V(sizes))));
}

/* A letter that the equation does not have; 0: it has all. */
static char free_letter(const struct terms *terms, const char *also) {
    for (int label = 'A'; label <= 'z'; label++) {
        bool is_used = !isalpha(label) || times_in(terms->output, (char)label) > 0 ||
                       times_in(also, (char)label) > 0;
        for (int i = 0; i < terms->count; i++) {
            is_used |= times_in(terms->operands[i], (char)label) > 0;
        }
        if (!is_used) {
            return (char)label;
        }
    }
    return 0;
}

/* Names repeated labels of the operand anew in `term`, and appends an operand for each. */
static int part_diagonals(struct gradient *gradient, const struct terms *terms, const int *at,
                          char *term, struct operands *operands, struct error *err) {
    const char *own = terms->operands[at[0]];
    int shape = -1;
    snprintf(term, TERM_BYTES, "%s", own);
    for (int i = 0; own[i]; i++) {
        int first = (int)(strchr(own, own[i]) - own);
        char label = first < i ? free_letter(terms, term) : 0;
        if (first == i) {
            continue;
        }
        if (!label || operands->count >= EINSUM_OPERANDS_MAX) {
            return error_set(err, ERROR_UNSUPPORTED,
                             "attribute \"equation\": more labels or operands than can be trained");
        }
        shape = shape < 0 ? gradient_shape(gradient, at[1]) : shape;
        term[i] = label;
        add(operands->equation, ",");
        add_term(operands->equation, (char[]){own[i], label, 0});
        operands->inputs[operands->count++] = make_diagonal(gradient, shape, own, first, i);
    }
    return 0;
}

static int pass(struct gradient *gradient, const struct node *node, const struct terms *terms,
                int operand, int *ret_made, struct error *err) {
    struct builder *builder = gradient_builder(gradient);
    struct operands operands = {.inputs = {gradient_of(gradient, node->outputs[0])}, .count = 1};
    char term[TERM_BYTES];
    operands.equation = arena_array(&builder->graph.arena, EQUATION_BYTES, 1);
    add_term(operands.equation, terms->output);
    for (int i = 0; i < terms->count; i++) {
        if (i != operand) {
            add(operands.equation, ",");
            add_term(operands.equation, terms->operands[i]);
            operands.inputs[operands.count++] = node->inputs[i];
        }
    }
    if (!is_covered(terms, operand)) {
        int shape = gradient_shape(gradient, node->inputs[operand]);
        add(operands.equation, ",");
        add_term(operands.equation, terms->operands[operand]);
        operands.inputs[operands.count++] =
            gradient_node(gradient, OP_EXPAND, V(builder_number(builder, 1), shape));
    }
    if (part_diagonals(gradient, terms, (int[]){operand, node->inputs[operand]}, term, &operands,
                       err) < 0) {
        return -1;
    }
    add(operands.equation, "->");
    add_term(operands.equation, term);
    operands.inputs[operands.count] = -2;
    const struct attribute attribute = {
        .name = "equation", .kind = ATTRIBUTE_STRING, .text = operands.equation};
    *ret_made = gradient_node_with(gradient, OP_EINSUM, operands.inputs, &attribute);
    return 0;
}

int gradient_einsum(struct gradient *gradient, const struct node *node, struct error *err) {
    struct terms terms;
    if (read_terms(node_text(node, "equation", ""), &terms, err) < 0) {
        return -1;
    }
    for (int i = 0; i < MIN(node->input_count, terms.count); i++) {
        if (!gradient_wants(gradient, node->inputs[i])) {
            continue;
        }
        if (terms.count == EINSUM_OPERANDS_MAX && !is_covered(&terms, i)) {
            return error_set(err, ERROR_UNSUPPORTED, "at most %d operands are trained",
                             EINSUM_OPERANDS_MAX - 1);
        }
        /* A label of size 1 elsewhere and more here is repeated, the reverse is summed. */
        int shape = gradient_shape(gradient, node->inputs[i]);
        int made;
        if (pass(gradient, node, &terms, i, &made, err) < 0) {
            return -1;
        }
        gradient_add_summed(gradient, node->inputs[i],
                            gradient_node(gradient, OP_EXPAND, V(made, shape)));
    }
    return 0;
}
