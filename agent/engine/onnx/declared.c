// SPDX-License-Identifier: Apache-2.0
/* Facts: torch/onnx/_internal/exporter/_core.py writes the kind of torch.export's input;
 * onnxscript/optimizer/_constant_folding.py the names of all values from which a constant was
 * computed, as a Python list. There a parameter has its module's path ("layer.weight"), a value its
 * operator's name and a number ("unsqueeze_1", "val_9"). A parameter of the outermost module has
 * neither: of a name that is not an operator's, one is assumed. */
#include "agent/engine/onnx/declared.h"

#include "agent/engine/graph/node.h"
#include "agent/engine/ops/table.h"
#include "lib/text/text_list.h"

#include <string.h>

enum { GRAPH_VALUE_INFO = 13 };
enum { INFO_NAME = 1, INFO_METADATA = 4 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum { WORD_MAX = 40, NAME_MAX_READ = 400 };

/* Of a ValueInfoProto; borrowed, empty: it has none. */
struct declaration {
    struct protobuf name, kind, sources;
};

static bool is_text(struct protobuf text, const char *wanted) {
    size_t size = strlen(wanted);
    return protobuf_size(text) == size && memcmp(text.at, wanted, size) == 0;
}

static int read_entry(struct protobuf message, struct declaration *declaration, struct error *err) {
    struct protobuf_field field;
    struct protobuf key = {0}, value = {0};
    int more;
    while ((more = protobuf_next(&message, &field, err)) > 0) {
        if (field.type == PROTOBUF_BYTES && field.number == ENTRY_KEY) {
            key = field.bytes;
        } else if (field.type == PROTOBUF_BYTES && field.number == ENTRY_VALUE) {
            value = field.bytes;
        }
    }
    if (is_text(key, "pkg.torch.export.graph_signature.InputSpec.kind")) {
        declaration->kind = value;
    } else if (is_text(key, "pkg.onnxscript.optimizer.folded_from")) {
        declaration->sources = value;
    }
    return more;
}

static int read_info(struct protobuf message, struct declaration *declaration, struct error *err) {
    struct protobuf_field field;
    int more;
    *declaration = (struct declaration){0};
    while ((more = protobuf_next(&message, &field, err)) > 0) {
        if (field.type == PROTOBUF_BYTES && field.number == INFO_NAME) {
            declaration->name = field.bytes;
        } else if (field.type == PROTOBUF_BYTES && field.number == INFO_METADATA &&
                   read_entry(field.bytes, declaration, err) < 0) {
            return -1;
        }
    }
    return more;
}

/* ---- what a constant was computed from ------------------------------------------------------ */

/* Names that torch.export gives to the results of operators that need no parameter, without the
 * number at their end. */
// clang-format off
static const char *const operators[] = {
    "lifted_tensor", "abs", "add", "arange", "bitwise_and", "bitwise_not", "bitwise_or", "cat",
    "ceil", "clamp", "clone", "copy", "cos", "cumsum", "detach", "diagonal", "div", "eq", "exp",
    "expand", "eye", "fill", "flip", "floor", "floor_divide", "full", "full_like", "gather", "ge",
    "getitem", "gt", "index_put", "index_select", "le", "linspace", "logical_and", "logical_not",
    "logical_or", "lt", "masked_fill", "matmul", "max_val", "maximum", "min_val", "minimum", "mm",
    "mul", "ne", "neg", "new_full", "new_ones", "new_zeros", "ones", "ones_like", "permute", "pow",
    "reciprocal", "remainder", "repeat", "reshape", "roll", "rsqrt", "rsub", "scalar_tensor",
    "scatter", "select", "sigmoid", "sin", "slice", "split", "sqrt", "squeeze", "stack", "sub",
    "convert_element_type", "tanh", "tile", "to_copy", "transpose", "tril", "triu", "type_as",
    "unsqueeze", "view", "where", "zeros", "zeros_like", NULL,
};
// clang-format on

/* The same of names that PyTorch always numbers, or that people give to parameters, too: without a
 * number they are parameters. */
static const char *const numbered[] = {"val",  "tmp",   "const", "index", "log",
                                       "mean", "outer", "sum",   NULL};

/* Without "_12", and without "_default" and "_cast" before it. False: nothing was cut, so that it
 * may be the name of a parameter, as "mean" or "mul2". */
static bool cut_ends(char *word) {
    static const char *const ends[] = {"_default", "_cast"};
    size_t whole = strlen(word), size = whole;
    while (size && word[size - 1] >= '0' && word[size - 1] <= '9') {
        size--;
    }
    size = size > 1 && size < whole && word[size - 1] == '_' ? size - 1 : whole;
    word[size] = 0;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        size_t end = strlen(ends[i]);
        if (size > end && strcmp(word + size - end, ends[i]) == 0) {
            size -= end;
            word[size] = 0;
        }
    }
    return size < whole;
}

/* Whether one of the names of the list ['a', 'b.c'] may be a parameter's. */
static bool has_parameter(struct protobuf list) {
    const char *at = (const char *)list.at, *end = at + protobuf_size(list);
    while ((at = memchr(at, '\'', (size_t)(end - at)))) {
        const char *close = memchr(at + 1, '\'', (size_t)(end - at - 1));
        char word[WORD_MAX + 1] = "";
        size_t size = close ? (size_t)(close - at - 1) : 0;
        if (!close || size > WORD_MAX) {
            return true;
        }
        memcpy(word, at + 1, size);
        bool is_numbered = cut_ends(word);
        if (!text_list_has(operators, word) && !(is_numbered && text_list_has(numbered, word))) {
            return true;
        }
        at = close + 1;
    }
    return false;
}

/* ---- the graph ------------------------------------------------------------------------------ */

enum said { SAID_NOTHING, SAID_PARAMETER, SAID_NUMBER };

static enum said judge(const struct declaration *declaration) {
    if (protobuf_size(declaration->kind)) {
        return is_text(declaration->kind, "PARAMETER") ? SAID_PARAMETER : SAID_NUMBER;
    }
    return !protobuf_size(declaration->sources)  ? SAID_NOTHING
           : has_parameter(declaration->sources) ? SAID_PARAMETER
                                                 : SAID_NUMBER;
}

static void read_said(const struct build *build, struct protobuf graph, enum said *said) {
    struct error ignored = {0};
    struct protobuf_field field;
    struct declaration declaration;
    while (protobuf_next(&graph, &field, &ignored) > 0) {
        if (field.number != GRAPH_VALUE_INFO || field.type != PROTOBUF_BYTES ||
            read_info(field.bytes, &declaration, &ignored) < 0) {
            continue;
        }
        char name[NAME_MAX_READ + 1] = "";
        size_t size = protobuf_size(declaration.name);
        if (size == 0 || size > NAME_MAX_READ) {
            continue;
        }
        memcpy(name, declaration.name.at, size);
        int index = names_find(&build->names, name);
        if (index >= 0) {
            said[index] = judge(&declaration);
        }
    }
}

/* A statistic stays what it is. */
static void forget_statistics(const struct graph *graph, enum said *said) {
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct node *node = &graph->nodes[n];
        for (int i = 3; node->op->id == OP_BATCH_NORMALIZATION && i < node->input_count; i++) {
            if (node->inputs[i] >= 0) {
                said[node->inputs[i]] = SAID_PARAMETER;
            }
        }
    }
}

void declared_read(struct build *build, struct protobuf message) {
    struct graph *graph = build->graph;
    struct arena scratch = {0};
    enum said *said = arena_array(&scratch, graph->value_count, sizeof *said);
    read_said(build, message, said);
    forget_statistics(graph, said);
    for (size_t i = 0; i < graph->value_count; i++) {
        struct value *value = &graph->values[i];
        value->is_literal |= value->is_constant && said[i] == SAID_NUMBER;
    }
    arena_release(&scratch);
}
