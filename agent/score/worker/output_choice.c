// SPDX-License-Identifier: Apache-2.0
#include "agent/score/worker/output_choice.h"

#include <stdio.h>
#include <string.h>

#define FIELD "spec.scorer.onnx.output"

enum { LIST_BYTES = 320, NAME_SHOWN = 48 };

void output_choice_init(struct output_choice *choice, const json_t *spec,
                        const struct session *session, struct postprocess *postprocess) {
    *choice = (struct output_choice){.name = tree_text(spec, "scorer.onnx.output", NULL),
                                     .session = session,
                                     .postprocess = postprocess,
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
    if (choice->index >= 0) {
        postprocess_name(postprocess, session, (size_t)choice->index);
    }
}

bool output_choice_is_open(const struct output_choice *choice) {
    return choice->index < 0;
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
        if (!outputs || postprocess_fits(choice->postprocess, &outputs[i], items)) {
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
        if (postprocess_fits(choice->postprocess, &outputs[i], items)) {
            found = found == -1 ? (int)i : -2;
        }
    }
    return found;
}

static int refuse_name(const struct output_choice *choice, const struct tensor *outputs,
                       int64_t items, struct error *err) {
    char list[LIST_BYTES + 32];
    const char *type = postprocess_type_name(choice->postprocess);
    if (list_names(choice, outputs, items, list) == 0) {
        snprintf(list, sizeof list, "none");
    }
    if (choice->index < 0) {
        return error_set(err, ERROR_INVALID,
                         FIELD ": the network has no output \"%.64s\"; these fit postprocess type "
                               "%s: %s",
                         choice->name, type, list);
    }
    (void)!postprocess_check(choice->postprocess, &outputs[choice->index], items, err);
    return error_context(err, FIELD ": \"%.64s\" does not fit, these do: %s", choice->name, list);
}

int output_choice_take(struct output_choice *choice, const struct tensor *outputs, int64_t items,
                       const struct tensor **ret_output, struct error *err) {
    char list[LIST_BYTES + 32];
    bool fits =
        choice->index >= 0 && postprocess_fits(choice->postprocess, &outputs[choice->index], items);
    if (choice->name && !fits) {
        return refuse_name(choice, outputs, items, err);
    }
    int index = choice->index >= 0 ? choice->index : find_fitting(choice, outputs, items);
    if (index == -2) {
        int count = list_names(choice, outputs, items, list);
        return error_set(err, ERROR_INVALID,
                         FIELD ": %d outputs of the network fit postprocess type %s: name one of "
                               "%s",
                         count, postprocess_type_name(choice->postprocess), list);
    }
    if (!fits && postprocess_check(choice->postprocess, &outputs[MAX(index, 0)], items, err) < 0) {
        return -1;
    }
    if (choice->index < 0) {
        choice->index = index;
        postprocess_name(choice->postprocess, choice->session, (size_t)index);
    }
    *ret_output = &outputs[index];
    return 0;
}
