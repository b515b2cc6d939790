// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/onnx/left_out.h"

#include "agent/engine/graph/node.h"
#include "agent/engine/ops/table.h"
#include "lib/text/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void append_note(struct left_out *out,
                                                              const char *format, ...) {
    size_t used = strlen(out->note);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out->note + used, sizeof out->note - used, format, arguments);
    va_end(arguments);
    utf8_make_line(out->note); /* names and labels come from the file */
}

/* " (0, 1, 2)" or " (no, yes)": the classes by column, as far as there is room. */
static void note_classes(struct left_out *out, const struct node *node, const char *ints) {
    const struct attribute *strings = node_attribute(node, "classlabels_strings");
    const struct attribute *integers = node_attribute(node, ints);
    size_t count = strings && strings->count ? strings->count : integers ? integers->count : 0;
    for (size_t i = 0; i < count && i < 10; i++) {
        const char *between = i ? ", " : " (columns: ";
        if (strings && strings->count) {
            append_note(out, "%s%.*s", between, (int)MIN(strings->strings[i].size, 40),
                        strings->strings[i].bytes);
        } else {
            append_note(out, "%s%lld", between, (long long)integers->integers[i]);
        }
    }
    append_note(out, count > 10 ? ", ...)" : count ? ")" : "");
}

/* Once: a network has many such nodes. */
static void note_training_mode(struct left_out *out, const struct node *node) {
    bool trains = node_integer(node, "training_mode", 0) != 0 || node->output_count > 1;
    if (!trains || strstr(out->note, "training mode")) {
        return;
    }
    append_note(
        out,
        "%sBatchNormalization node %.64s is in training mode, so a row's result depends on the "
        "other rows of its batch: export the network after model.eval()",
        *out->note ? "; " : "", node->name);
}

void left_out_node(struct left_out *out, const struct graph *graph, const struct node *node) {
    if (node->op->id == OP_BATCH_NORMALIZATION) {
        note_training_mode(out, node);
    }
    bool is_zip_map = node->op->id == OP_IDENTITY && (node->op->flags & OP_ML);
    if (is_zip_map && node->output_count && node->outputs[0] >= 0 && node->input_count) {
        append_note(out, "%s%.64s: given as the tensor that ZipMap reads", *out->note ? "; " : "",
                    graph->values[node->outputs[0]].name);
        note_classes(out, node, "classlabels_int64s");
    }
}

bool left_out_output(struct left_out *out, const struct graph *graph, int value) {
    bool is_string = graph->values[value].is_string;
    if (is_string) {
        append_note(out, "%s%.64s: left out, strings are not an output (they name the scores)",
                    *out->note ? "; " : "", graph->values[value].name);
    }
    return is_string;
}

int left_out_all(struct error *err) {
    return error_set(
        err, ERROR_UNSUPPORTED,
        "its only output is strings, which are not an output: have it give out its scores, "
        "or whole numbers as labels (its classes as 0, 1, ...)");
}
