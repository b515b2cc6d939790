// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/model_manifest.h"

#include "agent/commands/model_facts.h"
#include "lib/file.h"
#include "lib/text/shown.h"
#include "lib/text/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SHOWN = 64 /* bytes of an output's name */ };

/* "[n, 3, 224, 224]" of a list of sizes, -1: any; owned. */
static char *show_shape(const json_t *sizes) {
    struct shape shape = {.rank = (int)json_array_size(sizes)};
    char text[128];
    for (int axis = 0; axis < shape.rank; axis++) {
        shape.dims[axis] = json_integer_value(json_array_get(sizes, (size_t)axis));
    }
    shape_format(&shape, text);
    return x_strdup(text);
}

/* As YAML writes it. Names come from the file: none may end its quotes or line, or act on a
 * terminal. Owned. */
static char *quote(const char *name) {
    AUTO(text_freep) char *shown = shown_text(name, strlen(name));
    AUTO(tree_freep) json_t *text = json_string(name);
    bool is_plain = strcmp(shown, name) == 0;
    return json_dumps(text, JSON_ENCODE_ANY | (is_plain ? 0 : JSON_ENSURE_ASCII));
}

static void print_steps(const json_t *input, const char *name) {
    printf("          - {name: %s, steps: samples, ", name);
    if (json_object_get(input, "size")) {
        printf("size: %lld, ", (long long)tree_integer(input, "size", 0));
    }
    printf(
        "pad: true}  # a column of input.table that is a list of numbers%s; of input.npy without "
        "this line: slices [steps, ...]\n",
        tree_integer(input, "freeAxes", 0) > 0 ? ", this many in each step of its training" : "");
}

static void print_input(const json_t *input) {
    const char *state = tree_text(input, "state", NULL);
    AUTO(text_freep) char *name = quote(tree_text(input, "name", ""));
    AUTO(text_freep) char *shape = show_shape(json_object_get(input, "shape"));
    if (state) {
        AUTO(text_freep) char *quoted = quote(state);
        printf("          - {name: %s, state: %s}\n", name, quoted);
    } else if (json_object_get(input, "freeAxes")) {
        print_steps(input, name);
    } else if (json_object_get(input, "constant")) {
        printf("          - {name: %s, constant: [%lld]}  # the sound's samples in a second\n",
               name, (long long)tree_integer(input, "constant", 0));
    } else {
        printf("          - {name: %s, constant: [0]}  # %s %s: your value; what changes from "
               "item to item needs columns, tokens, picture or array\n",
               name, tree_text(input, "type", ""), shape);
    }
}

static bool takes_bytes(const json_t *inputs) {
    const json_t *picture = tree_find(inputs, "from", FACTS_PICTURE);
    return strcmp(tree_text(picture, "type", ""), "uint8") == 0;
}

/* Without these names an input takes the column of its own name, which is only one. */
static void print_columns(const json_t *inputs) {
    int64_t count = 0, fed = 0;
    bool is_any = false;
    size_t i;
    const json_t *input;
    json_array_foreach(inputs, i, input) {
        const json_t *shape = json_object_get(input, "shape");
        size_t rank = json_array_size(shape);
        int64_t columns = rank < 2 ? 1 : json_integer_value(json_array_get(shape, rank - 1));
        if (strcmp(tree_text(input, "from", ""), FACTS_COLUMNS) == 0) {
            count += MAX(columns, 0);
            is_any = is_any || columns < 0;
            fed++;
        }
    }
    if (is_any) {
        printf("        # columns: [...]  # of input.table: any number of names, in order\n");
    } else if (count > fed) {
        printf("        # columns: [...]  # of input.table: %lld names, in order\n",
               (long long)count);
    }
}

static void print_inputs(const json_t *facts) {
    const char *items = tree_text(facts, "items", "");
    const json_t *inputs = json_object_get(facts, "inputs"), *input;
    bool has_list = false, has_states = tree_bool(facts, "hasStates", false);
    size_t i;
    json_array_foreach(inputs, i, input) {
        if (!tree_bool(input, "isDefault", false)) {
            printf("%s", has_list ? "" : "        inputs:\n");
            print_input(input);
            has_list = true;
        }
    }
    if (strcmp(items, FACTS_TOKENS) == 0) {
        printf("        tokenizer: {path: VOLUME/tokenizer.json, columns: [text]}  # of "
               "input.table; two for pairs of texts\n");
    } else if (strcmp(items, FACTS_PICTURE) == 0) {
        printf(
            "        preprocess: {%s}  # as in its training: Byte, Unit, Signed or ImageNet; "
            "RGB or BGR; mean, std, fit\n",
            tree_text(facts, "pictures",
                      takes_bytes(inputs) ? "range: Byte, color: RGB" : "range: Unit, color: RGB"));
    } else if (strcmp(items, FACTS_COLUMNS) == 0 && !has_states) {
        print_columns(inputs);
    } else if (strcmp(items, FACTS_ARRAY) == 0 && !has_states) {
        printf("        # of input.npy: one slice for each item\n");
    }
}

/* The names, with `between` between them, as one line; owned. */
static char *join(const json_t *names, const char *between) {
    char *all = x_strdup("");
    size_t i;
    json_t *name;
    json_array_foreach(names, i, name) {
        char *longer =
            x_printf("%s%s%.*s", all, i ? between : "", NAME_SHOWN, json_string_value(name));
        free(all);
        all = longer;
    }
    utf8_make_line(all);
    return all;
}

/* Whether these outputs may be raw numbers, of which probabilities are to be made. */
static bool may_be_logits(const json_t *facts, const json_t *names) {
    size_t i;
    const json_t *name;
    json_array_foreach(names, i, name) {
        const json_t *output =
            tree_find(json_object_get(facts, "outputs"), "name", json_string_value(name));
        if (!tree_bool(output, "isProbability", false) && !tree_bool(output, "isUnit", false) &&
            !tree_bool(output, "hasLabels", false)) {
            return true;
        }
    }
    return false;
}

static void print_fit(const json_t *facts, const json_t *fit, const char *before) {
    bool has_texts = strcmp(tree_text(facts, "items", ""), FACTS_TOKENS) == 0;
    const char *type = tree_text(fit, "type", "");
    const json_t *forms = json_object_get(fit, "forms"), *names = json_object_get(fit, "outputs");
    AUTO(text_freep) char *list = forms ? join(forms, " or ") : join(names, ", ");
    if (forms) {
        printf("        %spostprocess: {type: %s}  # form: %s\n", before, type, list);
        return;
    }
    if (tree_bool(fit, "needsAnchors", false)) {
        printf(
            "        %spostprocess: {type: %s, anchors: [{stride: 8, widths: [16]}, ...]}  # its "
            "anchors, as in its training\n",
            before, type);
        return;
    }
    if (tree_bool(fit, "needsColumns", false)) {
        printf("        %spostprocess: {type: %s, columns: [Left, Top, Right, Bottom, Score, "
               "Class]}  # of %s, if it has a row for each candidate: its columns, in order\n",
               before, type, list);
        return;
    }
    if (json_object_get(fit, "classes")) {
        printf("        %spostprocess: {type: %s, labels: VOLUME/characters.txt}  # of %s, if it "
               "was trained by CTC with %lld classes%s\n",
               before, type, list, (long long)tree_integer(fit, "classes", 0),
               may_be_logits(facts, names) ? "; scores: Softmax if they are logits or logarithms"
                                           : "");
        return;
    }
    printf("        %spostprocess: {type: %s%s}%s%s%s\n", before, type,
           strcmp(type, "Image") == 0 ? ", range: Unit" : "", "  # of ", list,
           !may_be_logits(facts, names)               ? ""
           : strcmp(type, "Classes") == 0             ? "; scores: Softmax if they are logits"
           : has_texts && strcmp(type, "Values") == 0 ? "; scores: Sigmoid if they are logits"
                                                      : "");
}

/* A network may give an output twice. */
static bool is_named_before(const json_t *names, size_t index) {
    const char *name = json_string_value(json_array_get(names, index));
    for (size_t i = 0; i < index; i++) {
        if (strcmp(json_string_value(json_array_get(names, i)), name) == 0) {
            return true;
        }
    }
    return false;
}

/* Of several outputs that fit: all, where the type writes several under their names, else the
 * first, so that the lines run as they are. */
static void print_names(const json_t *fit) {
    const json_t *names = json_object_get(fit, "outputs"), *name;
    const char *type = tree_text(fit, "type", "");
    bool takes_all = strcmp(type, "Classes") == 0 || strcmp(type, "Values") == 0;
    size_t i;
    if (json_array_size(names) < 2 || json_object_get(fit, "forms") ||
        tree_bool(fit, "needsAnchors", false) || tree_bool(fit, "needsColumns", false)) {
        return;
    }
    printf(takes_all ? "        outputs: [" : "        output: ");
    json_array_foreach(names, i, name) {
        AUTO(text_freep) char *quoted = quote(json_string_value(name));
        if (i == 0 || (takes_all && !is_named_before(names, i))) {
            printf(i ? ", %s" : "%s", quoted);
        }
    }
    printf(takes_all ? "]\n" : "  # or another one\n");
}

static void print_outputs(const json_t *facts) {
    const json_t *fits = json_object_get(facts, "fits"), *fit;
    size_t i;
    if (!tree_bool(facts, "ran", false)) {
        printf("        # its outputs are not known, since it does not run on zeros\n");
        return;
    }
    bool has_first = false;
    json_array_foreach(fits, i, fit) {
        bool is_first = !has_first && tree_bool(fit, "isLikely", false);
        if (is_first) {
            print_names(fit);
        }
        print_fit(facts, fit, is_first ? "" : "# or ");
        has_first = has_first || is_first;
    }
    printf("        %spostprocess: {type: Raw}\n", has_first ? "# or " : "");
}

void model_manifest_print(struct session *session, const char *path) {
    if (session_input_count(session) == 0 || session_output_count(session) == 0) {
        return;
    }
    AUTO(text_freep) char *name = x_strdup(file_basename(path));
    AUTO(tree_freep) json_t *facts = model_facts(session);
    utf8_make_line(name);
    printf("manifest   scorer:\n      onnx:\n        path: VOLUME/%s\n", name);
    print_inputs(facts);
    print_outputs(facts);
}
