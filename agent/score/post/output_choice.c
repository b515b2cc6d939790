// SPDX-License-Identifier: Apache-2.0
#include "agent/score/post/output_choice.h"

#include <stdio.h>
#include <string.h>

#define FIELD "spec.scorer.onnx.output"

enum { LIST_BYTES = 320, NAME_SHOWN = 48 };

static void tell(const struct output_choice *choice) {
    if (choice->index >= 0 && choice->kind->chosen) {
        choice->kind->chosen(choice->state, choice->session, (size_t)choice->index);
    }
}

void output_choice_init(struct output_choice *choice, const json_t *spec,
                        const struct session *session, const struct post_kind *kind,
                        struct post_state *state) {
    *choice = (struct output_choice){.name = tree_text(spec, "scorer.onnx.output", NULL),
                                     .session = session,
                                     .kind = kind,
                                     .state = state,
                                     .count = session_output_count(session),
                                     .index = -1};
    if (session_returns_pixels(session)) {
        choice->count = 1; /* the second one belongs to the first */
    }
    for (size_t i = 0; choice->name && i < choice->count && choice->index < 0; i++) {
        choice->index = strcmp(session_output(session, i), choice->name) == 0 ? (int)i : -1;
    }
    if (!choice->name && choice->count == 1) {
        choice->index = 0;
    }
    tell(choice);
}

static bool fits(const struct output_choice *choice, const struct tensor *output, int64_t items) {
    return choice->kind->fits(choice->state, output, items);
}

/* Says why an output does not fit. */
static int check_fit(const struct output_choice *choice, const struct tensor *output, int64_t items,
                     struct error *err) {
    char text[128];
    shape_format(&output->shape, text);
    return fits(choice, output, items)
               ? 0
               : error_set(err, ERROR_INVALID,
                           "spec.scorer.onnx.path: the network's output is %s %s for %lld items, "
                           "postprocess type %s needs %s",
                           tensor_type_name(output->type), text, (long long)items,
                           choice->kind->name, choice->kind->needs);
}

/* Appends a name to the list, or only counts it when the list is full. */
static void add_name(char list[static LIST_BYTES], const char *name, int *left_out) {
    size_t used = strlen(list), length = strnlen(name, NAME_SHOWN);
    if (used + length + strlen("\"\", ") >= LIST_BYTES) {
        ++*left_out;
        return;
    }
    snprintf(list + used, LIST_BYTES - used, "%s\"%.*s\"", used ? ", " : "", (int)length, name);
}

/* The names of the outputs that fit; outputs NULL: of all. Returns their number. */
static int list_names(const struct output_choice *choice, const struct tensor *outputs,
                      int64_t items, char ret_list[static LIST_BYTES + 32]) {
    int count = 0, left_out = 0;
    *ret_list = 0;
    for (size_t i = 0; i < choice->count; i++) {
        if (!outputs || fits(choice, &outputs[i], items)) {
            add_name(ret_list, session_output(choice->session, i), &left_out);
            count++;
        }
    }
    if (left_out) {
        size_t used = strlen(ret_list);
        snprintf(ret_list + used, 32, " and %d more", left_out);
    }
    return count;
}

int output_choice_check(const struct output_choice *choice, struct error *err) {
    char list[LIST_BYTES + 32];
    if (!choice->name || choice->index >= 0) {
        return 0;
    }
    (void)list_names(choice, NULL, 0, list);
    return error_set(err, ERROR_INVALID, FIELD ": the network has no output \"%.64s\", it has %s",
                     choice->name, list);
}

/* The one that fits; -1: none; -2: several. */
static int find_fitting(const struct output_choice *choice, const struct tensor *outputs,
                        int64_t items) {
    int found = -1;
    for (size_t i = 0; i < choice->count; i++) {
        if (fits(choice, &outputs[i], items)) {
            found = found == -1 ? (int)i : -2;
        }
    }
    return found;
}

static int refuse_name(const struct output_choice *choice, const struct tensor *outputs,
                       int64_t items, struct error *err) {
    char list[LIST_BYTES + 32];
    if (list_names(choice, outputs, items, list) == 0) {
        snprintf(list, sizeof list, "none");
    }
    if (choice->index < 0) {
        return error_set(err, ERROR_INVALID,
                         FIELD ": the network has no output \"%.64s\"; these fit postprocess type "
                               "%s: %s",
                         choice->name, choice->kind->name, list);
    }
    (void)!check_fit(choice, &outputs[choice->index], items, err);
    return error_context(err, FIELD ": \"%.64s\" does not fit, these do: %s", choice->name, list);
}

int output_choice_take(struct output_choice *choice, const struct tensor *outputs, int64_t items,
                       const struct tensor **ret_output, struct error *err) {
    char list[LIST_BYTES + 32];
    bool does_fit = choice->index >= 0 && fits(choice, &outputs[choice->index], items);
    if (choice->name && !does_fit) {
        return refuse_name(choice, outputs, items, err);
    }
    int index = choice->index >= 0 ? choice->index : find_fitting(choice, outputs, items);
    if (index == -2) {
        int count = list_names(choice, outputs, items, list);
        return error_set(err, ERROR_INVALID,
                         FIELD ": %d outputs of the network fit postprocess type %s: name one of "
                               "%s",
                         count, choice->kind->name, list);
    }
    if (!does_fit && check_fit(choice, &outputs[MAX(index, 0)], items, err) < 0) {
        return -1;
    }
    if (choice->index < 0) {
        choice->index = index;
        tell(choice);
    }
    *ret_output = &outputs[index];
    return 0;
}
