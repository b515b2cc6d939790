// SPDX-License-Identifier: Apache-2.0
#include "agent/score/post/output_choice.h"

#include "agent/score/post/name_list.h"

#include <string.h>

#define FIELD "spec.scorer.onnx.output"

static void notify_chosen(const struct output_choice *choice) {
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
    notify_chosen(choice);
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

/* The names of the outputs that fit; outputs NULL: of all. Returns their list. */
static const char *list_names(const struct output_choice *choice, const struct tensor *outputs,
                              int64_t items, struct name_list *ret_names) {
    *ret_names = (struct name_list){0};
    for (size_t i = 0; i < choice->count; i++) {
        if (!outputs || fits(choice, &outputs[i], items)) {
            name_list_add(ret_names, session_output(choice->session, i));
        }
    }
    return name_list_end(ret_names);
}

int output_choice_check(const struct output_choice *choice, struct error *err) {
    struct name_list names;
    return !choice->name || choice->index >= 0
               ? 0
               : error_set(err, ERROR_INVALID,
                           FIELD ": the network has no output \"%.64s\", it has %s", choice->name,
                           list_names(choice, NULL, 0, &names));
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

/* Of several that fit: the one whose name is first in the type's list, if it has all of their
 * names; otherwise -2. */
static int find_known(const struct output_choice *choice, const struct tensor *outputs,
                      int64_t items) {
    const char *const *known = choice->kind->known;
    int found = -2;
    size_t best = SIZE_MAX;
    for (size_t i = 0; known && i < choice->count; i++) {
        size_t at = 0;
        if (!fits(choice, &outputs[i], items)) {
            continue;
        }
        while (known[at] && strcmp(known[at], session_output(choice->session, i)) != 0) {
            at++;
        }
        if (!known[at]) {
            return -2;
        }
        found = at < best ? (int)i : found;
        best = MIN(at, best);
    }
    return found;
}

static int refuse_name(const struct output_choice *choice, const struct tensor *outputs,
                       int64_t items, struct error *err) {
    struct name_list names;
    const char *list = list_names(choice, outputs, items, &names);
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
    struct name_list names;
    bool does_fit = choice->index >= 0 && fits(choice, &outputs[choice->index], items);
    if (choice->name && !does_fit) {
        return refuse_name(choice, outputs, items, err);
    }
    int index = choice->index >= 0 ? choice->index : find_fitting(choice, outputs, items);
    index = index == -2 ? find_known(choice, outputs, items) : index;
    if (index == -2) {
        const char *list = list_names(choice, outputs, items, &names);
        return error_set(err, ERROR_INVALID,
                         FIELD ": %d outputs of the network fit postprocess type %s: name one of "
                               "%s",
                         names.count, choice->kind->name, list);
    }
    if (!does_fit && check_fit(choice, &outputs[MAX(index, 0)], items, err) < 0) {
        return -1;
    }
    if (choice->index < 0) {
        choice->index = index;
        notify_chosen(choice);
    }
    *ret_output = &outputs[index];
    return 0;
}

const char *output_choice_name(const struct output_choice *choice) {
    return session_output(choice->session, (size_t)MAX(choice->index, 0));
}
