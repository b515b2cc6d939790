// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/model_facts.h"

#include "agent/commands/model_fits.h"
#include "agent/data/text/token_roles.h"
#include "agent/score/feed/feed.h"

#include <stdlib.h>
#include <string.h>

/* Sizes for axes that the network leaves free, in the order in which they are tried. */
static const int64_t sides[] = {64, 224, 640}, lengths[] = {8, 512, 16000};
_Static_assert(ARRAY_LEN(sides) == ARRAY_LEN(lengths), "a try of both");
enum { ITEMS = 2, INPUT_VALUES_MAX = 1 << 24 };
enum { STRIP_HEIGHT_MAX = 96 }; /* of pictures of one line of text */
enum { SOUND_RATE = 16000 };    /* the usual one of speech */

struct plan {
    struct session *session;
    size_t input_count, output_count;
    const char **sources; /* of each input: FACTS_... */
    int *states;          /* of each input: the output of its name; -1: none */
    bool has_states;      /* items go through the network one by one */
    size_t at;            /* the sizes that were tried last */
    const char *items;    /* what the items are */
    const char *pictures; /* how a detector takes pictures, if its form says it; else NULL */
    struct post_outputs outputs;
    int64_t fixed; /* the number of items that the network fixes; -1: any */
    bool is_bare;  /* it takes one picture, and has no axis for the items */
    json_t *fits;
};

/* ---- inputs --------------------------------------------------------------------------------- */

/* Of one picture without n only colours count, and height and width are both free or both fixed:
 * other networks of three axes take arrays, such as three numbers in each of 128 steps. */
static bool is_picture(enum tensor_type type, const struct shape *shape) {
    const int64_t *dims = shape->dims;
    bool has_channels = shape->rank == 4
                            ? dims[1] == 3 || dims[1] == 1 || dims[3] == 3 || dims[3] == 1
                            : shape->rank == 3 && dims[0] != 1 && (dims[0] == 3) != (dims[2] == 3);
    bool is_of_items = shape->rank == 3 && dims[2] == 3 && (dims[0] < 0) != (dims[1] < 0);
    return has_channels && !is_of_items &&
           (type == TENSOR_FLOAT32 || type == TENSOR_FLOAT16 || type == TENSOR_UINT8);
}

static const char *find_source(const struct session *session, size_t index) {
    enum tensor_type type;
    struct shape shape;
    enum token_role ignored;
    const char *name = session_input(session, index, &type, &shape);
    bool is_whole = type == TENSOR_INT64 || type == TENSOR_INT32;
    if (is_whole && shape.rank == 2 && token_role_find(NULL, name, &ignored)) {
        return FACTS_TOKENS;
    }
    if (is_picture(type, &shape)) {
        return FACTS_PICTURE;
    }
    return shape.rank > 2                                      ? FACTS_ARRAY
           : shape.rank == 0 || (shape.rank == 1 && index > 0) ? FACTS_CONSTANT
                                                               : FACTS_COLUMNS;
}

static bool is_source(const char *source, const char *one) {
    return strcmp(source, one) == 0;
}

/* Whether the input is that of pictures, and has no axis for the items. */
static bool is_bare(const struct plan *plan, size_t input, const struct shape *shape) {
    return is_source(plan->sources[input], FACTS_PICTURE) && shape->rank == 3;
}

static bool is_item(const char *source) {
    return is_source(source, FACTS_PICTURE) || is_source(source, FACTS_TOKENS);
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

/* A picture or a text is the item; else rows of a table, or slices of an array. What goes from step
 * to step may have a picture's shape. */
static void find_sources(struct plan *plan) {
    for (size_t i = 0; i < plan->input_count; i++) {
        enum tensor_type type;
        struct shape shape;
        const char *name = session_input(plan->session, i, &type, &shape);
        plan->sources[i] = find_source(plan->session, i);
        if (i > 0 && is_source(plan->sources[i], FACTS_PICTURE) && find_state(plan, name) >= 0) {
            plan->sources[i] = FACTS_ARRAY;
        }
        if (i == 0 || (is_item(plan->sources[i]) && !is_item(plan->items))) {
            plan->items = plan->sources[i];
        }
    }
}

/* After the first input: what goes from step to step has an output of the same kind of name. */
static void find_states(struct plan *plan) {
    bool can_be = is_source(plan->items, FACTS_COLUMNS) || is_source(plan->items, FACTS_ARRAY);
    for (size_t i = 0; i < plan->input_count; i++) {
        enum tensor_type type;
        struct shape shape;
        const char *name = session_input(plan->session, i, &type, &shape);
        plan->states[i] = can_be && i > 0 && shape.rank >= 2 ? find_state(plan, name) : -1;
        if (plan->states[i] >= 0) {
            plan->sources[i] = FACTS_STATE;
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

static bool is_rate(const char *name) {
    return strcmp(name, "sr") == 0 || strcasestr(name, "sample_rate") ||
           strcasestr(name, "sampling_rate");
}

static json_t *shape_of(const struct shape *shape) {
    json_t *list = json_array();
    for (int axis = 0; axis < shape->rank; axis++) {
        json_array_append_new(list, json_integer(shape->dims[axis]));
    }
    return list;
}

/* Of the input that is given step by step: how many axes of a step are free, and with one of them
 * how many numbers a step has. */
static void add_step(const struct plan *plan, const struct shape *shape, json_t *input) {
    int64_t size = 1, free_axes = 0;
    for (int axis = 1; axis < shape->rank; axis++) {
        free_axes += shape->dims[axis] < 0;
        size *= shape->dims[axis] < 0 ? lengths[plan->at] : shape->dims[axis];
    }
    json_object_set_new(input, "freeAxes", json_integer(free_axes));
    if (free_axes == 1) {
        json_object_set_new(input, "size", json_integer(size));
    }
}

static json_t *list_inputs(const struct plan *plan) {
    json_t *list = json_array();
    bool takes_many = is_source(plan->items, FACTS_TOKENS) || is_source(plan->items, FACTS_COLUMNS);
    bool is_fed = false;
    for (size_t i = 0; i < plan->input_count; i++) {
        enum tensor_type type;
        struct shape shape;
        const char *name = session_input(plan->session, i, &type, &shape);
        bool is_of_item = is_source(plan->sources[i], plan->items);
        json_t *input =
            json_pack("{s:o, s:s, s:o, s:s, s:b}", "name", model_fits_name(name), "type",
                      tensor_type_name(type), "shape", shape_of(&shape), "from", plan->sources[i],
                      "isDefault", is_of_item && !plan->has_states && (takes_many || !is_fed));
        if (plan->states[i] >= 0) {
            const char *output = session_output(plan->session, (size_t)plan->states[i]);
            json_object_set_new(input, "state", model_fits_name(output));
        } else if (plan->has_states && is_of_item) {
            add_step(plan, &shape, input);
        } else if (is_rate(name)) {
            json_object_set_new(input, "constant", json_integer(SOUND_RATE));
        }
        json_array_append_new(list, input);
        is_fed = is_fed || is_of_item;
    }
    return list;
}

/* ---- a run ---------------------------------------------------------------------------------- */

static int64_t choose_size(const struct plan *plan, size_t input, int axis, size_t at) {
    return is_source(plan->sources[input], FACTS_STATE)     ? 1
           : axis == 0                                      ? (plan->has_states ? 1 : ITEMS)
           : is_source(plan->sources[input], FACTS_PICTURE) ? sides[at]
                                                            : lengths[at];
}

/* Ones for ids and the mask: a network may fail on texts that are nothing but padding. */
static void fill_tokens(const char *name, struct tensor *input) {
    enum token_role role;
    bool is_full = token_role_find(NULL, name, &role) && (role == TOKEN_IDS || role == TOKEN_MASK);
    for (int64_t i = 0; is_full && i < shape_count(&input->shape); i++) {
        tensor_put_number(input, i, 1);
    }
}

static int make_input(struct plan *plan, size_t index, size_t at, struct tensor *ret_input) {
    enum tensor_type type;
    struct shape shape;
    struct error ignored = {0};
    const char *name = session_input(plan->session, index, &type, &shape);
    for (int axis = 0; axis < shape.rank; axis++) {
        if (axis == 0 && is_source(plan->sources[index], plan->items)) {
            plan->is_bare = is_bare(plan, index, &shape);
            plan->fixed = plan->is_bare ? 1 : shape.dims[0];
        }
        if (shape.dims[axis] < 0) {
            shape.dims[axis] = choose_size(plan, index, axis + is_bare(plan, index, &shape), at);
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
    if (is_source(plan->sources[index], FACTS_TOKENS)) {
        fill_tokens(name, ret_input);
    }
    return 0;
}

/* Runs the network on zeros, of texts on ones, of the sizes at `at`; -1: it cannot. *ret_is_right:
 * the states are; else there are fewer of them now. */
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

/* As a sigmoid's: logits of no input are 0, or some are negative. */
static bool are_unit(const struct tensor *output) {
    int64_t count = output->type == TENSOR_FLOAT32 ? shape_count(&output->shape) : 0;
    const float *values = output->data;
    for (int64_t i = 0; i < count; i++) {
        if (!(values[i] > 0 && values[i] < 1)) {
            return false;
        }
    }
    return count > 0;
}

static json_t *list_outputs(const struct plan *plan) {
    json_t *list = json_array();
    for (size_t i = 0; i < plan->outputs.count; i++) {
        const struct tensor *output = plan->outputs.tensors[i];
        size_t count = 0;
        char **labels = session_classes(plan->session, i, &count);
        json_array_append_new(list, json_pack("{s:o, s:s, s:o, s:b, s:b, s:b}", "name",
                                              model_fits_name(plan->outputs.names[i]), "type",
                                              tensor_type_name(output->type), "shape",
                                              shape_of(&output->shape), "isProbability",
                                              model_fits_are_probabilities(output), "isUnit",
                                              are_unit(output), "hasLabels", labels != NULL));
        if (labels) {
            session_classes_free(labels, count);
        }
    }
    return list;
}

/* Whether the network's pictures are strips, as high as a line of text and of any width. */
static bool takes_strips(const struct plan *plan) {
    for (size_t i = 0; i < plan->input_count; i++) {
        enum tensor_type type;
        struct shape shape;
        (void)session_input(plan->session, i, &type, &shape);
        if (is_source(plan->sources[i], FACTS_PICTURE)) {
            is_bare(plan, i, &shape) ? feed_add_items(&shape) : (void)0;
            bool is_last = shape.dims[1] != 3 && shape.dims[1] != 1; /* of the channels */
            int64_t height = shape.dims[is_last ? 1 : 2], width = shape.dims[is_last ? 2 : 3];
            return height > 0 && height <= STRIP_HEIGHT_MAX && (width < 0 || width >= 2 * height);
        }
    }
    return false;
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

static json_t *find_all(struct plan *plan, struct tensor *outputs) {
    const struct tensor **tensors = x_calloc(plan->output_count, sizeof *tensors);
    const char **names = x_calloc(plan->output_count, sizeof *names);
    bool has_run = find_sizes(plan, outputs) == 0;
    for (size_t i = 0; i < plan->output_count; i++) {
        plan->is_bare ? feed_add_items(&outputs[i].shape) : (void)0;
        tensors[i] = &outputs[i];
        names[i] = session_output(plan->session, i);
    }
    plan->outputs = (struct post_outputs){.tensors = tensors,
                                          .names = names,
                                          .count = has_run ? plan->output_count : 0,
                                          .items = plan->fixed > 0    ? plan->fixed
                                                   : plan->has_states ? 1
                                                                      : ITEMS};
    const struct model_fits_asked asked = {.outputs = &plan->outputs,
                                           .items = plan->items,
                                           .has_states = plan->has_states,
                                           .takes_strips = takes_strips(plan)};
    plan->fits = has_run ? model_fits(&asked, &plan->pictures) : json_array();
    json_t *facts =
        json_pack("{s:s, s:o, s:b, s:s*, s:b, s:o, s:o}", "items", plan->items, "inputs",
                  list_inputs(plan), "hasStates", plan->has_states, "pictures", plan->pictures,
                  "ran", has_run, "outputs", list_outputs(plan), "fits", plan->fits);
    free(tensors);
    free(names);
    return facts;
}

json_t *model_facts(struct session *session) {
    struct plan plan = {.session = session,
                        .input_count = session_input_count(session),
                        .output_count = session_output_count(session),
                        .fixed = -1};
    plan.sources = x_calloc(plan.input_count + 1, sizeof *plan.sources);
    plan.states = x_calloc(plan.input_count + 1, sizeof *plan.states);
    plan.items = FACTS_COLUMNS;
    struct tensor *outputs = x_calloc(plan.output_count + 1, sizeof *outputs);
    find_sources(&plan);
    find_states(&plan);
    json_t *facts = find_all(&plan, outputs);
    free(outputs);
    free(plan.sources);
    free(plan.states);
    return facts;
}
