/* output_choice.h: which output of the network holds the results: the one that
 * spec.scorer.onnx.output names, else the only one that fits spec.scorer.onnx.postprocess. It is
 * never guessed: several that fit are refused with their names, unless the type knows all these
 * names (post_kind.known). The choice is made at the first run and kept. */
#pragma once

#include "agent/score/post/post_kind.h"

struct output_choice {
    const char *name;              /* the spec's, borrowed; NULL: none */
    const struct session *session; /* borrowed */
    const struct post_kind *kind;
    struct post_state *state; /* the kind's, borrowed; receives the chosen output */
    size_t count;             /* of the network's outputs */
    int index;                /* -1: not chosen yet */
};

/* spec, session and state must outlive the choice. */
void output_choice_init(struct output_choice *choice, const json_t *spec,
                        const struct session *session, const struct post_kind *kind,
                        struct post_state *state);
/* Without a run. INVALID: the network has no output of the spec's name. */
NODISCARD int output_choice_check(const struct output_choice *choice, struct error *err);
/* The chosen one of a run's outputs, for `items` items; borrowed from them. INVALID, with the names
 * of the outputs that fit: there is none of the spec's name, it does not fit, or without a name
 * several or none fit. */
NODISCARD int output_choice_take(struct output_choice *choice, const struct tensor *outputs,
                                 int64_t items, const struct tensor **ret_output,
                                 struct error *err);
/* The chosen one's name, borrowed from the session. */
const char *output_choice_name(const struct output_choice *choice);
