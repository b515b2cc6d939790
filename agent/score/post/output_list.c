// SPDX-License-Identifier: Apache-2.0
#include "agent/score/post/output_list.h"

#include "agent/score/post/name_list.h"

#include <stdlib.h>
#include <string.h>

#define FIELD "spec.scorer.onnx.output"

/* The output of this name; -1: none. */
static int find(const struct session *session, const char *name) {
    for (size_t i = 0; i < session_output_count(session); i++) {
        if (strcmp(session_output(session, i), name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static void add(struct output_list *list, const char *name, const char *field, size_t at) {
    int index = find(list->session, name);
    if (index >= 0) {
        list->indices[list->count++] = (size_t)index;
    } else if (!list->missing) {
        list->missing =
            at == SIZE_MAX
                ? x_printf("%s: the network has no output \"%.64s\"", field, name)
                : x_printf("%s[%zu]: the network has no output \"%.64s\"", field, at, name);
    }
}

void output_list_init(struct output_list *list, const json_t *spec, const struct session *session) {
    const json_t *names = tree_get(spec, "scorer.onnx.outputs"), *name;
    const char *one = tree_text(spec, "scorer.onnx.output", NULL);
    size_t most = MAX(session_output_count(session), json_array_size(names)), i;
    *list = (struct output_list){.session = session,
                                 .indices = x_calloc(most, sizeof *list->indices),
                                 .taken = x_calloc(most, sizeof *list->taken),
                                 .names = x_calloc(most, sizeof *list->names)};
    json_array_foreach(names, i, name) {
        add(list, json_string_value(name) ? json_string_value(name) : "", FIELD "s", i);
    }
    if (one && !names) {
        add(list, one, FIELD, SIZE_MAX);
    }
    for (i = 0; !names && !one && i < session_output_count(session); i++) {
        list->indices[list->count++] = i;
    }
    for (i = 0; i < list->count; i++) {
        list->names[i] = session_output(session, list->indices[i]);
    }
}

void output_list_release(struct output_list *list) {
    free(TAKE(list->indices));
    free(TAKE(list->taken));
    free(TAKE(list->names));
    free(TAKE(list->missing));
    list->count = 0;
}

int output_list_check(const struct output_list *list, struct error *err) {
    struct name_list names = {0};
    for (size_t i = 0; i < session_output_count(list->session); i++) {
        name_list_add(&names, session_output(list->session, i));
    }
    return list->missing ? error_set(err, ERROR_INVALID, "%s, it has %s", list->missing,
                                     name_list_end(&names))
                         : 0;
}

void output_list_take(struct output_list *list, const struct tensor *outputs, int64_t items,
                      struct post_outputs *ret_outputs) {
    for (size_t i = 0; i < list->count; i++) {
        list->taken[i] = &outputs[list->indices[i]];
    }
    *ret_outputs = (struct post_outputs){
        .tensors = list->taken, .names = list->names, .count = list->count, .items = items};
}
