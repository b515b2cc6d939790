/* output_list.h: the outputs of the network that a type takes which takes several: those that
 * spec.scorer.onnx.outputs names, in its order, the one of spec.scorer.onnx.output, or all. */
#pragma once

#include "agent/score/post/post_kind.h"

struct output_list {
    const struct session *session; /* borrowed */
    size_t count;
    size_t *indices;             /* owned: of the network's outputs */
    const struct tensor **taken; /* owned: of the last run */
    const char **names;          /* owned; the names are borrowed */
    char *missing;               /* owned: the field and a name that no output has; NULL: none */
};

void output_list_init(struct output_list *list, const json_t *spec, const struct session *session);
void output_list_release(struct output_list *list);
/* INVALID: the network has no output of a name that the spec gives; the message has all names. */
NODISCARD int output_list_check(const struct output_list *list, struct error *err);
/* Points ret_outputs at those of this run. */
void output_list_take(struct output_list *list, const struct tensor *outputs, int64_t items,
                      struct post_outputs *ret_outputs);
