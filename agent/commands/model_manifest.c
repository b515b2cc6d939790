// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/model_manifest.h"

#include "agent/data/text/token_roles.h"
#include "agent/score/post/box_anchors.h"
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

enum { SOUND_RATE = 16000 }; /* the usual one of speech */

enum source {
    SOURCE_COLUMNS,
    SOURCE_PICTURE,
    SOURCE_TOKENS,
    SOURCE_ARRAY,
    SOURCE_CONSTANT,
    SOURCE_STATE
};

struct plan {
    struct session *session;
    size_t input_count, output_count;
    enum source *sources; /* of each input */
    int *states;          /* of each input: the output of its name; -1: none */
    bool has_states;      /* items go through the network one by one */
    size_t at;            /* the sizes that were tried last */
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

/* The output that has an input's name with letters more, at either end: hn of h, stateN of state;
 * -1: none, or several. */
static int find_state(const struct plan *plan, const char *input) {
    size_t length = strlen(input);
    int found = -1;
    for (size_t i = 0; i < plan->output_count; i++) {
        const char *output = session_output(plan->session, i);
        size_t longer = strlen(output);
        if (longer > length &&
            (strncmp(output, input, length) == 0 || strcmp(output + longer - length, input) == 0)) {
            if (found >= 0) {
                return -1;
            }
            found = (int)i;
        }
    }
    return found;
}

/* Behind the first input: what goes from step to step has an output of the same kind of name. */
static void find_states(struct plan *plan) {
    bool can_be = plan->items == SOURCE_COLUMNS || plan->items == SOURCE_ARRAY;
    for (size_t i = 0; i < plan->input_count; i++) {
        enum tensor_type type;
        struct shape shape;
        const char *name = session_input(plan->session, i, &type, &shape);
        plan->states[i] = can_be && i > 0 && shape.rank >= 2 ? find_state(plan, name) : -1;
        if (plan->states[i] >= 0) {
            plan->sources[i] = SOURCE_STATE;
            plan->has_states = true;
        }
    }
}

/* Only an output as large as the input can be its state. Returns whether all are. */
static bool check_states(struct plan *plan, const struct tensor *inputs,
                         const struct tensor *outputs) {
    bool is_right = true, has_states = false;
    for (size_t i = 0; i < plan->input_count; i++) {
        const struct tensor *output = plan->states[i] < 0 ? NULL : &outputs[plan->states[i]];
        if (output &&
            (output->type != inputs[i].type || !shape_equal(&output->shape, &inputs[i].shape))) {
            plan->states[i] = -1;
            plan->sources[i] = find_source(plan->session, i);
            is_right = false;
        }
        has_states = has_states || plan->states[i] >= 0;
    }
    plan->has_states = has_states;
    return is_right;
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

static bool is_rate(const char *name) {
    return strcmp(name, "sr") == 0 || strcasestr(name, "sample_rate") ||
           strcasestr(name, "sampling_rate");
}

/* Of the input that is given step by step: `size`, if the network leaves one axis free. */
static void print_steps(const struct plan *plan, const char *name, const struct shape *shape) {
    int64_t size = 1, free_axes = 0;
    for (int axis = 1; axis < shape->rank; axis++) {
        free_axes += shape->dims[axis] < 0;
        size *= shape->dims[axis] < 0 ? lengths[plan->at] : shape->dims[axis];
    }
    printf("          - {name: \"%s\", steps: samples, ", name);
    if (free_axes == 1) {
        printf("size: %lld, ", (long long)size);
    }
    printf(
        "pad: true}  # a column of input.table that is a list of numbers%s; of input.npy without "
        "this line: slices [steps, ...]\n",
        free_axes > 0 ? ", so many in each step of its training" : "");
}

static void print_input(const struct plan *plan, size_t index, const char *name) {
    enum tensor_type type;
    struct shape shape;
    char text[128];
    (void)session_input(plan->session, index, &type, &shape);
    shape_format(&shape, text);
    if (plan->states[index] >= 0) {
        AUTO(text_freep)
        char *output = x_strdup(session_output(plan->session, (size_t)plan->states[index]));
        utf8_make_line(output);
        printf("          - {name: \"%s\", state: \"%s\"}\n", name, output);
    } else if (plan->has_states && plan->sources[index] == plan->items) {
        print_steps(plan, name, &shape);
    } else if (is_rate(name)) {
        printf("          - {name: \"%s\", constant: [%d]}  # the sound's samples in a second\n",
               name, SOUND_RATE);
    } else {
        printf("          - {name: \"%s\", constant: [0]}  # %s %s: your value; what changes from "
               "item to item needs columns, tokens, picture or array\n",
               name, tensor_type_name(type), text);
    }
}

static void print_inputs(const struct plan *plan, bool runs) {
    bool is_fed = false, has_list = false;
    for (size_t i = 0; i < plan->input_count; i++) {
        enum tensor_type type;
        struct shape shape;
        AUTO(text_freep) char *name = x_strdup(session_input(plan->session, i, &type, &shape));
        utf8_make_line(name);
        bool by_default =
            plan->sources[i] == plan->items && !plan->has_states &&
            (plan->items == SOURCE_TOKENS || plan->items == SOURCE_COLUMNS || !is_fed);
        is_fed = is_fed || plan->sources[i] == plan->items;
        if (!by_default) {
            printf("%s", has_list ? "" : "        inputs:\n");
            print_input(plan, i, name);
            has_list = true;
        }
    }
    if (plan->items == SOURCE_TOKENS) {
        printf("        tokenizer: {path: VOLUME/tokenizer.json, columns: [text]}  # of "
               "input.table\n");
    } else if (plan->items == SOURCE_PICTURE) {
        /* BlazeFace has one training; others differ. */
        bool is_blaze_face = runs && box_anchors_are_blaze_face(&plan->outputs);
        printf("        preprocess: {range: %s, color: RGB}  # as in its training: Byte, Unit, "
               "Signed or ImageNet; RGB or BGR; mean, std, fit\n",
               is_blaze_face ? "Signed" : "Unit");
    } else if (plan->items == SOURCE_ARRAY && !plan->has_states) {
        printf("        # of input.npy: one slice for each item\n");
    }
}

/* ---- a run ---------------------------------------------------------------------------------- */

static int64_t choose_size(const struct plan *plan, size_t input, int axis, size_t at) {
    return plan->sources[input] == SOURCE_STATE     ? 1
           : axis == 0                              ? (plan->has_states ? 1 : ITEMS)
           : plan->sources[input] == SOURCE_PICTURE ? sides[at]
                                                    : lengths[at];
}

static int make_input(struct plan *plan, size_t index, size_t at, struct tensor *ret_input) {
    enum tensor_type type;
    struct shape shape;
    struct error ignored = {0};
    const char *name = session_input(plan->session, index, &type, &shape);
    for (int axis = 0; axis < shape.rank; axis++) {
        if (axis == 0 && plan->sources[index] == plan->items) {
            plan->fixed = shape.dims[0];
        }
        if (shape.dims[axis] < 0) {
            shape.dims[axis] = choose_size(plan, index, axis, at);
        }
    }
    int64_t count = shape_count(&shape);
    if (count < 0 || count > INPUT_VALUES_MAX ||
        tensor_init(ret_input, type, &shape, &ignored) < 0) {
        return -1;
    }
    if (count == 1 && is_rate(name)) {
        tensor_put_number(ret_input, 0, SOUND_RATE);
    }
    return 0;
}

/* Runs the network on zeros of the sizes at `at`; -1: it cannot. *ret_is_right: the states are;
 * else there are fewer of them now. */
static int run_once(struct plan *plan, size_t at, struct tensor *outputs, bool *ret_is_right) {
    struct error ignored = {0};
    struct tensor *inputs = x_calloc(plan->input_count, sizeof *inputs);
    int result = 0;
    for (size_t i = 0; i < plan->input_count && result == 0; i++) {
        result = make_input(plan, i, at, &inputs[i]);
    }
    result = result < 0 ? -1 : session_run(plan->session, inputs, outputs, &ignored);
    *ret_is_right = result < 0 || check_states(plan, inputs, outputs);
    for (size_t i = 0; i < plan->input_count; i++) {
        tensor_release(&inputs[i]);
    }
    free(inputs);
    return result;
}

static int run(struct plan *plan, size_t at, struct tensor *outputs) {
    bool is_right = false;
    int result = -1;
    while (!is_right) {
        result = run_once(plan, at, outputs, &is_right);
    }
    return result;
}

/* ---- outputs -------------------------------------------------------------------------------- */

/* The names of the forms of boxes that fit; "": none. */
static void list_forms(const struct plan *plan, char list[static LIST_BYTES]) {
    bool needs_anchors = box_anchors_are_needed(&plan->outputs);
    *list = 0;
    for (size_t i = 0; i < box_form_count; i++) {
        struct box_source source;
        bool may_be = !needs_anchors || box_forms[i].layout != BOX_ROWS; /* as boxes.c */
        if (may_be && box_form_find(&box_forms[i], &plan->outputs, &source)) {
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
        printf("        %spostprocess: {type: %s%s}%s%s%s\n", is_first ? "" : "# or ", kind->name,
               kind == &post_image ? ", range: Unit" : "",
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
    for (size_t i = 0; i < plan->outputs.count && !plan->has_states; i++) {
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

/* Whether an output may be a picture in colours: three classes of pixels are rarer. */
static bool returns_colours(const struct plan *plan) {
    for (size_t i = 0; i < plan->outputs.count; i++) {
        const struct shape *shape = &plan->outputs.tensors[i]->shape;
        if (shape->rank == 4 && (shape->dims[1] == 3 || shape->dims[3] == 3)) {
            return true;
        }
    }
    return false;
}

/* The types that fit, the likeliest first. */
static void print_outputs(const struct plan *plan) {
    static const struct post_kind *const colours[] = {&post_image,     &post_classes, &post_mask,
                                                      &post_embedding, &post_values,  NULL};
    static const struct post_kind *const pictures[] = {&post_classes,   &post_mask,   &post_image,
                                                       &post_embedding, &post_values, NULL};
    static const struct post_kind *const texts[] = {&post_embedding, &post_classes, &post_values,
                                                    NULL};
    static const struct post_kind *const rows[] = {&post_classes, &post_values, &post_embedding,
                                                   NULL};
    static const struct post_kind *const sounds[] = {&post_values, &post_embedding, NULL};
    bool has_pictures = plan->items == SOURCE_PICTURE;
    const struct post_kind *const *kinds = plan->has_states                        ? sounds
                                           : has_pictures && returns_colours(plan) ? colours
                                           : has_pictures                          ? pictures
                                           : plan->items == SOURCE_TOKENS          ? texts
                                                                                   : rows;
    char list[LIST_BYTES] = "";
    bool is_first = print_texts(plan, true) == 0;
    if (plan->items == SOURCE_PICTURE) {
        list_forms(plan, list);
    }
    if (*list) {
        printf("        %spostprocess: {type: Boxes}  # form: %s\n", is_first ? "" : "# or ", list);
        is_first = false;
    } else if (plan->items == SOURCE_PICTURE && box_anchors_are_needed(&plan->outputs)) {
        printf("        %spostprocess: {type: Boxes, anchors: [{stride: 8, widths: [16]}, ...]}  # "
               "its anchors, as in its training\n",
               is_first ? "" : "# or ");
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

/* The first sizes that the network takes; -1: none. */
static int find_sizes(struct plan *plan, struct tensor *outputs) {
    for (plan->at = 0; plan->at < ARRAY_LEN(sides); plan->at++) {
        if (run(plan, plan->at, outputs) == 0) {
            return 0;
        }
    }
    plan->at = 1; /* of several hundred, for what is printed */
    return -1;
}

static void print_run(struct plan *plan) {
    struct tensor *outputs = x_calloc(plan->output_count, sizeof *outputs);
    const struct tensor **tensors = x_calloc(plan->output_count, sizeof *tensors);
    const char **names = x_calloc(plan->output_count, sizeof *names);
    bool runs = find_sizes(plan, outputs) == 0;
    for (size_t i = 0; i < plan->output_count; i++) {
        tensors[i] = &outputs[i];
        names[i] = session_output(plan->session, i);
    }
    plan->outputs = (struct post_outputs){.tensors = tensors,
                                          .names = names,
                                          .count = plan->output_count,
                                          .items = plan->fixed > 0    ? plan->fixed
                                                   : plan->has_states ? 1
                                                                      : ITEMS};
    print_inputs(plan, runs);
    if (runs) {
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
    plan.states = x_calloc(plan.input_count, sizeof *plan.states);
    find_sources(&plan);
    find_states(&plan);
    printf("manifest   scorer:\n      onnx:\n        path: VOLUME/%s\n", name);
    print_run(&plan);
    free(plan.sources);
    free(plan.states);
}
