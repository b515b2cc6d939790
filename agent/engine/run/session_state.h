/* session_state.h: the fields of a session, private to the files that implement it. */
#pragma once

#include "agent/engine/model.h"
#include "agent/engine/run/execution_plan.h"
#include "agent/engine/session.h"

struct flow;
struct stages;

enum { SESSION_PLANS = 4 }; /* plans that are kept, one per combination of input shapes */

struct session {
    struct model *model;
    struct graph graph; /* the model's graph after all rewriting */
    bool returns_pixels, takes_pixels;
    struct device *device;
    struct stages *stages; /* runs a network with shapes that only the run knows; NULL: plans do */
    bool has_tried_stages; /* see session_run */
    struct execution_plan *plans[SESSION_PLANS]; /* used by session_run */
    struct execution_plan *current;
    uint64_t runs;
    void *block; /* shared by all plans: only one runs at a time */
    size_t block_bytes;
    struct flow *flow; /* used by session_submit; NULL before its first call */
};

/* Frees everything that session_run has on the device, the block included, except packed weights.
 */
void session_forget_plans(struct session *session);
bool session_has_plans(const struct session *session); /* for any shapes */
/* Makes the block at least this large. If it grows, no step that uses it may be running. */
NODISCARD int session_grow_block(struct session *session, size_t size, struct error *err);

/* Closes session->flow (flow.c) after its runs have ended. It may be NULL. */
void flow_close(struct session *session);

/* For profiles: session_run with a hook after each step; and the plan of the last run, with its
 * schedule and kernels, valid until the next run (NULL before the first). */
NODISCARD int session_run_hooked(struct session *session, const struct tensor *inputs,
                                 struct tensor *outputs, const struct training_hook *hook,
                                 struct error *err);
const struct execution_plan *session_plan(const struct session *session);
