/* session_state.h: a session inside, for the files of this folder that make it. */
#pragma once

#include "agent/engine/model.h"
#include "agent/engine/run/plan.h"
#include "agent/engine/session.h"

struct flow;

enum { SESSION_PLANS = 4 }; /* combinations of input shapes kept ready */

struct session {
    struct model *model;
    struct graph graph; /* the model's, as it is run */
    bool gives_bytes;
    struct device *device;
    struct plan *plans[SESSION_PLANS]; /* of session_run */
    struct plan *current;
    uint64_t runs;
    void *block; /* shared by all plans: only one runs at a time */
    size_t block_bytes;
    struct flow *flow; /* of session_submit; NULL before the first */
};

/* All that session_run has on the device but for packed weights, and the block. */
void session_forget_plans(struct session *session);
bool session_has_plans(const struct session *session); /* for some shapes it has */
/* The block has so many bytes at least. Steps that use it must be over where it grows. */
NODISCARD int session_grow_block(struct session *session, size_t size, struct error *err);

/* Ends session->flow (flow.c), once what runs has ended; none is fine. */
void flow_close(struct session *session);

/* For profiles: session_run with a hook after each step, and the plan of the last run, with its
 * schedule and kernels, until the next one. NULL before the first. */
NODISCARD int session_run_hooked(struct session *session, const struct tensor *inputs,
                                 struct tensor *outputs, const struct plan_hook *hook,
                                 struct error *err);
const struct plan *session_plan(const struct session *session);
