// SPDX-License-Identifier: Apache-2.0
#include "agent/onnx/left_out.h"

#include "agent/ops/table.h"
#include "lib/jsontext.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define HOW_ELSE                                                                                   \
    "labels that are texts are not supported: export the model with whole numbers as labels (its " \
    "classes as 0, 1, ...), or have it give out its scores"

void left_out_init(struct left_out *out, struct graph *graph, size_t value_room) {
    out->is_text = arena_array(&graph->arena, value_room, sizeof *out->is_text);
    out->note[0] = 0;
}

__attribute__((format(printf, 2, 3))) static void say(struct left_out *out, const char *format,
                                                      ...) {
    size_t used = strlen(out->note);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out->note + used, sizeof out->note - used, format, arguments);
    va_end(arguments);
    jsontext_make_line(out->note); /* names and labels are the file's */
}

/* " (0, 1, 2)" or " (no, yes)": the classes by column, as far as there is room. */
static void say_classes(struct left_out *out, const struct node *node, const char *ints) {
    const struct attribute *texts = node_attribute(node, "classlabels_strings");
    const struct attribute *integers = node_attribute(node, ints);
    size_t count = texts && texts->count ? texts->count : integers ? integers->count : 0;
    for (size_t i = 0; i < count && i < 10; i++) {
        const char *between = i ? ", " : " (columns: ";
        if (texts && texts->count) {
            say(out, "%s%.*s", between, (int)MIN(texts->texts[i].size, 40), texts->texts[i].bytes);
        } else {
            say(out, "%s%lld", between, (long long)integers->integers[i]);
        }
    }
    say(out, count > 10 ? ", ...)" : count ? ")" : "");
}

int left_out_node(struct left_out *out, const struct graph *graph, const struct node *node,
                  struct error *err) {
    const struct attribute *texts = node_attribute(node, "classlabels_strings");
    bool is_zip_map = node->op->id == OP_IDENTITY && (node->op->flags & OP_ML);
    bool is_classifier = (node->op->flags & OP_ML) && !is_zip_map && texts && texts->count;
    int made = node->output_count ? node->outputs[0] : -1;
    for (int i = 0; i < node->input_count; i++) {
        if (node->inputs[i] < 0 || !out->is_text[node->inputs[i]]) {
            continue;
        }
        if (node->op->id != OP_IDENTITY) {
            return error_set(err, ERROR_UNSUPPORTED, "it reads \"%.64s\"; " HOW_ELSE,
                             graph->values[node->inputs[i]].name);
        }
        is_classifier = true;
    }
    if (is_classifier && made >= 0) {
        out->is_text[made] = true;
    }
    if (is_zip_map && made >= 0 && node->input_count) {
        say(out, "%s%.64s: given as the tensor that ZipMap reads", *out->note ? "; " : "",
            graph->values[made].name);
        say_classes(out, node, "classlabels_int64s");
    }
    return 0;
}

bool left_out_output(struct left_out *out, const struct graph *graph, int value) {
    if (out->is_text[value]) {
        say(out, "%s%.64s: left out, texts are not supported", *out->note ? "; " : "",
            graph->values[value].name);
    }
    return out->is_text[value];
}

int left_out_all(struct error *err) {
    return error_set(err, ERROR_UNSUPPORTED, "its only output is labels; " HOW_ELSE);
}
