// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/model_manifest.h"

#include "agent/data/text/token_roles.h"
#include "agent/score/post/box_form.h"
#include "agent/score/post/post_kind.h"
#include "lib/text/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sizes for axes that the network leaves free, in the order in which they are tried. */
static const int64_t sides[] = {64, 224, 640}, lengths[] = {8, 512, 16000};
_Static_assert(ARRAY_LEN(sides) == ARRAY_LEN(lengths), "a try of both");
enum { ITEMS = 2, INPUT_VALUES_MAX = 1 << 24, LIST_BYTES = 320, CHARACTERS_MIN = 10 };
enum { STRIP_HEIGHT_MAX = 96 }; /* of pictures of one line of text */

enum source { SOURCE_COLUMNS, SOURCE_PICTURE, SOURCE_TOKENS, SOURCE_ARRAY, SOURCE_CONSTANT };

struct plan {
    struct session *session;
    size_t input_count, output_count;
    enum source *sources; /* of each input */
    enum source items;    /* what the items are */
    struct post_outputs outputs;
    int64_t fixed; /* the number of items that the network fixes; -1: any */
};

/* ---- inputs --------------------------------------------------------------------------------- */

static bool is_picture(enum tensor_type type, const struct shape *shape) {
    bool has_channels = shape->rank == 4 && (shape->dims[1] == 3 || shape->dims[1] == 1 ||
                                             shape->dims[3] == 3 || shape->dims[3] == 1);
    return has_channels &&
           (type == TENSOR_FLOAT32 || type == TENSOR_FLOAT16 || type == TENSOR_UINT8);
}

static enum source find_source(const struct session *session, size_t index) {
    enum tensor_type type;
    struct shape shape;
    enum token_role ignored;
    const char *name = session_input(session, index, &type, &shape);
    bool is_whole = type == TENSOR_INT64 || type == TENSOR_INT32;
    if (is_whole && shape.rank == 2 && token_role_find(NULL, name, &ignored)) {
        return SOURCE_TOKENS;
    }
    if (is_picture(type, &shape)) {
        return SOURCE_PICTURE;
    }
    return shape.rank > 2                                      ? SOURCE_ARRAY
           : shape.rank == 0 || (shape.rank == 1 && index > 0) ? SOURCE_CONSTANT
                                                               : SOURCE_COLUMNS;
}

/* A picture or a text is the item; else rows of a table, or slices of an array. */
static void find_sources(struct plan *plan) {
    for (size_t i = 0; i < plan->input_count; i++) {
        plan->sources[i] = find_source(plan->session, i);
        bool is_better = plan->sources[i] == SOURCE_PICTURE || plan->sources[i] == SOURCE_TOKENS;
        if (i == 0 ||
            (is_better && plan->items != SOURCE_PICTURE && plan->items != SOURCE_TOKENS)) {
            plan->items = plan->sources[i];
        }
    }
}

static void print_inputs(const struct plan *plan) {
    bool is_fed = false, has_list = false;
    for (size_t i = 0; i < plan->input_count; i++) {
        enum tensor_type type;
        struct shape shape;
        char text[128];
        AUTO(text_freep) char *name = x_strdup(session_input(plan->session, i, &type, &shape));
        utf8_make_line(name);
        shape_format(&shape, text);
        bool by_default =
            plan->sources[i] == plan->items &&
            (plan->items == SOURCE_TOKENS || plan->items == SOURCE_COLUMNS || !is_fed);
        is_fed = is_fed || plan->sources[i] == plan->items;
        if (!by_default) {
            printf("%s          - {name: \"%s\", constant: [0]}  # %s %s: your value; what changes "
                   "from item to item needs columns, tokens, picture or array\n",
                   has_list ? "" : "        inputs:\n", name, tensor_type_name(type), text);
            has_list = true;
        }
    }
    if (plan->items == SOURCE_TOKENS) {
        printf("        tokenizer: {path: VOLUME/tokenizer.json, columns: [text]}  # of "
               "input.table\n");
    } else if (plan->items == SOURCE_PICTURE) {
        printf("        preprocess: {range: Unit, color: RGB}  # as in its training: Byte, Unit, "
               "Signed or ImageNet; RGB or BGR; mean, std, fit\n");
    } else if (plan->items == SOURCE_ARRAY) {
        printf("        # of input.npy: one slice for each item\n");
    }
}

/* ---- a run ---------------------------------------------------------------------------------- */

static int64_t choose_size(const struct plan *plan, size_t input, int axis, size_t at) {
    return axis == 0 ? ITEMS : plan->sources[input] == SOURCE_PICTURE ? sides[at] : lengths[at];
}

static int make_input(struct plan *plan, size_t index, size_t at, struct tensor *ret_input) {
    enum tensor_type type;
    struct shape shape;
    struct error ignored = {0};
    (void)session_input(plan->session, index, &type, &shape);
    for (int axis = 0; axis < shape.rank; axis++) {
        if (axis == 0 && plan->sources[index] == plan->items) {
            plan->fixed = shape.dims[0];
        }
        if (shape.dims[axis] < 0) {
            shape.dims[axis] = choose_size(plan, index, axis, at);
        }
    }
    int64_t count = shape_count(&shape);
    return count < 0 || count > INPUT_VALUES_MAX ? -1
                                                 : tensor_init(ret_input, type, &shape, &ignored);
}

/* Runs the network on zeros of the sizes at `at`; -1: it cannot. */
static int run(struct plan *plan, size_t at, struct tensor *outputs) {
    struct error ignored = {0};
    struct tensor *inputs = x_calloc(plan->input_count, sizeof *inputs);
    int result = 0;
    for (size_t i = 0; i < plan->input_count && result == 0; i++) {
        result = make_input(plan, i, at, &inputs[i]);
    }
    result = result < 0 ? -1 : session_run(plan->session, inputs, outputs, &ignored);
    for (size_t i = 0; i < plan->input_count; i++) {
        tensor_release(&inputs[i]);
    }
    free(inputs);
    return result;
}

/* ---- outputs -------------------------------------------------------------------------------- */

/* The names of the forms of boxes that fit; "": none. */
static void list_forms(const struct plan *plan, char list[static LIST_BYTES]) {
    *list = 0;
    for (size_t i = 0; i < box_form_count; i++) {
        struct box_source source;
        if (box_form_find(&box_forms[i], &plan->outputs, &source)) {
            size_t used = strlen(list);
            snprintf(list + used, LIST_BYTES - used, "%s%s", used ? " or " : "", box_forms[i].name);
        }
    }
}

/* Outputs that fit a type which takes one; "": none. Returns their number. */
static size_t list_outputs(const struct plan *plan, const struct post_kind *kind,
                           char list[static LIST_BYTES]) {
    AUTO(tree_freep)
    json_t *spec = json_pack("{s:{s:{s:{s:s,s:s,s:i}}}}", "scorer", "onnx", "postprocess", "type",
                             kind->name, "range", "Byte", "top", 5);
    struct post_state *state = NULL;
    struct error ignored = {0};
    size_t count = 0;
    *list = 0;
    if (!kind->fits || kind->open(spec, &state, &ignored) < 0) {
        return 0;
    }
    for (size_t i = 0; i < plan->outputs.count; i++) {
        if (kind->fits(state, plan->outputs.tensors[i], plan->outputs.items)) {
            size_t used = strlen(list);
            AUTO(text_freep) char *name = x_strdup(plan->outputs.names[i]);
            utf8_make_line(name);
            snprintf(list + used, LIST_BYTES - used, "%s%.64s", used ? ", " : "", name);
            count++;
        }
    }
    kind->free(state);
    return count;
}

static void print_type(const struct plan *plan, const struct post_kind *kind, bool is_first) {
    char list[LIST_BYTES];
    size_t count = list_outputs(plan, kind, list);
    if (count > 0 && (plan->items == SOURCE_PICTURE || !kind->wants_pictures)) {
        printf("        %spostprocess: {type: %s}%s%s%s\n", is_first ? "" : "# or ", kind->name,
               count > 1 ? "  # output: one of " : "  # of ", list,
               strcmp(kind->name, "Classes") == 0 ? "; scores: Softmax if they are logits" : "");
    }
}

/* Whether the network's pictures are strips, as high as a line of text and of any width. */
static bool takes_strips(const struct plan *plan) {
    for (size_t i = 0; i < plan->input_count; i++) {
        enum tensor_type type;
        struct shape shape;
        (void)session_input(plan->session, i, &type, &shape);
        if (plan->sources[i] == SOURCE_PICTURE) {
            bool is_last = shape.dims[1] != 3 && shape.dims[1] != 1; /* of the channels */
            int64_t height = shape.dims[is_last ? 1 : 2], width = shape.dims[is_last ? 2 : 3];
            return height > 0 && height <= STRIP_HEIGHT_MAX && (width < 0 || width >= 2 * height);
        }
    }
    return false;
}

/* Whether the values along the last axis are probabilities of things of which one is right. */
static bool are_probabilities(const struct tensor *output) {
    int64_t last = output->shape.dims[output->shape.rank - 1], count = shape_count(&output->shape);
    const float *values = output->data;
    for (int64_t i = 0; i + last <= count; i += last) {
        double sum = 0;
        for (int64_t k = 0; k < last; k++) {
            sum += values[i + k] >= 0 ? (double)values[i + k] : NAN;
        }
        if (!(fabs(sum - 1) < 1e-3)) {
            return false;
        }
    }
    return count > 0;
}

/* Detectors have outputs of the same shapes, but not of strips, and not probabilities. */
static bool are_characters(const struct plan *plan, const struct tensor *output) {
    bool is_apt = plan->items == SOURCE_PICTURE || plan->items == SOURCE_ARRAY;
    return is_apt && (takes_strips(plan) || are_probabilities(output));
}

/* Outputs that may be scores of characters over time, the likely ones or the others. Returns their
 * number. */
static size_t print_texts(const struct plan *plan, bool are_likely) {
    size_t count = 0;
    for (size_t i = 0; i < plan->outputs.count; i++) {
        const struct tensor *output = plan->outputs.tensors[i];
        const struct shape *shape = &output->shape;
        if (output->type == TENSOR_FLOAT32 && shape->rank == 3 &&
            shape->dims[2] >= CHARACTERS_MIN && are_likely == are_characters(plan, output)) {
            AUTO(text_freep) char *name = x_strdup(plan->outputs.names[i]);
            utf8_make_line(name);
            printf("        %spostprocess: {type: Text, labels: VOLUME/characters.txt}  # of "
                   "%.64s, if it was trained by CTC with %lld classes\n",
                   are_likely && count == 0 ? "" : "# or ", name, (long long)shape->dims[2]);
            count++;
        }
    }
    return count;
}

/* The types that fit, the likeliest first. */
static void print_outputs(const struct plan *plan) {
    static const struct post_kind *const pictures[] = {&post_classes,   &post_mask,   &post_image,
                                                       &post_embedding, &post_values, NULL};
    static const struct post_kind *const texts[] = {&post_embedding, &post_classes, &post_values,
                                                    NULL};
    static const struct post_kind *const rows[] = {&post_classes, &post_values, &post_embedding,
                                                   NULL};
    const struct post_kind *const *kinds = plan->items == SOURCE_PICTURE  ? pictures
                                           : plan->items == SOURCE_TOKENS ? texts
                                                                          : rows;
    char list[LIST_BYTES] = "";
    bool is_first = print_texts(plan, true) == 0;
    if (plan->items == SOURCE_PICTURE) {
        list_forms(plan, list);
    }
    if (*list) {
        printf("        %spostprocess: {type: Boxes}  # form: %s\n", is_first ? "" : "# or ", list);
        is_first = false;
    }
    for (; *kinds; kinds++) {
        size_t count = list_outputs(plan, *kinds, list);
        print_type(plan, *kinds, is_first);
        is_first = is_first && count == 0;
    }
    (void)print_texts(plan, false);
    printf("        %spostprocess: {type: Raw}\n", is_first ? "" : "# or ");
}

static void print_run(struct plan *plan) {
    struct tensor *outputs = x_calloc(plan->output_count, sizeof *outputs);
    const struct tensor **tensors = x_calloc(plan->output_count, sizeof *tensors);
    const char **names = x_calloc(plan->output_count, sizeof *names);
    size_t at = 0;
    while (at < ARRAY_LEN(sides) && run(plan, at, outputs) < 0) {
        at++;
    }
    for (size_t i = 0; i < plan->output_count; i++) {
        tensors[i] = &outputs[i];
        names[i] = session_output(plan->session, i);
    }
    plan->outputs = (struct post_outputs){.tensors = tensors,
                                          .names = names,
                                          .count = plan->output_count,
                                          .items = plan->fixed > 0 ? plan->fixed : ITEMS};
    if (at < ARRAY_LEN(sides)) {
        print_outputs(plan);
    } else {
        printf("        # its outputs are not known, since it does not run on zeros\n");
    }
    free(outputs);
    free(tensors);
    free(names);
}

void model_manifest_print(struct session *session, const char *path) {
    const char *slash = strrchr(path, '/');
    AUTO(text_freep) char *name = x_strdup(slash ? slash + 1 : path);
    struct plan plan = {.session = session,
                        .input_count = session_input_count(session),
                        .output_count = session_output_count(session),
                        .fixed = -1};
    utf8_make_line(name);
    if (plan.input_count == 0 || plan.output_count == 0) {
        return;
    }
    plan.sources = x_calloc(plan.input_count, sizeof *plan.sources);
    find_sources(&plan);
    printf("manifest   scorer:\n      onnx:\n        path: VOLUME/%s\n", name);
    print_inputs(&plan);
    print_run(&plan);
    free(plan.sources);
}
