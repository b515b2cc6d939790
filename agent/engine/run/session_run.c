// SPDX-License-Identifier: Apache-2.0
/* The plans of a session, one per combination of input shapes, and running them. */
#include "agent/engine/run/session_state.h"

#include "agent/engine/graph/resident.h"
#include "agent/engine/ops/cost.h"
#include "agent/engine/run/stages/stages.h"

int session_grow_block(struct session *session, size_t size, struct error *err) {
    struct device *device = session->device;
    if (session->block && size <= session->block_bytes) {
        return 0;
    }
    if (session->block) {
        device->ops->free(device, TAKE(session->block));
        session->block_bytes = 0;
    }
    if (device->ops->alloc(device, size, &session->block, err) < 0) {
        return -1;
    }
    session->block_bytes = size;
    return 0;
}

void session_forget_plans(struct session *session) {
    for (int i = 0; i < SESSION_PLANS; i++) {
        execution_plan_free(TAKE(session->plans[i]));
    }
    session->current = NULL;
    if (session->block) {
        session->device->ops->free(session->device, TAKE(session->block));
        session->block_bytes = 0;
    }
}

bool session_has_plans(const struct session *session) {
    for (int i = 0; i < SESSION_PLANS; i++) {
        if (session->plans[i]) {
            return true;
        }
    }
    return false;
}

/* The plan for these shapes: a kept one, or a new one that replaces the least recently used. */
static int find_plan(struct session *session, const struct tensor *inputs,
                     struct execution_plan **ret_plan, struct error *err) {
    struct execution_plan **oldest = &session->plans[0], *plan;
    for (int i = 0; i < SESSION_PLANS; i++) {
        plan = session->plans[i];
        if (plan && execution_plan_fits(plan, inputs)) {
            *ret_plan = plan;
            return 0;
        }
        if (*oldest && (!plan || plan->last_used < (*oldest)->last_used)) {
            oldest = &session->plans[i];
        }
    }
    if (*oldest == session->current) {
        session->current = NULL;
    }
    /* Shapes that change all the time, as those of texts: reading the constants for each plan would
     * take about a fifth of the time of such a run. */
    if (*oldest && graph_keeps_evicted(&session->graph)) {
        session->graph.may_evict = false;
    }
    execution_plan_free(TAKE(*oldest));
    if (graph_reload(&session->graph, session->model->file, err) < 0 ||
        execution_plan_new(session->device, &session->graph, inputs, &plan, err) < 0) {
        return -1;
    }
    *oldest = plan;
    *ret_plan = plan;
    return 0;
}

static int run_once(struct session *session, const struct tensor *inputs, struct tensor *outputs,
                    const struct training_hook *hook, struct error *err) {
    struct execution_plan *plan;
    if (find_plan(session, inputs, &plan, err) < 0 ||
        session_grow_block(session, plan->schedule->block_bytes, err) < 0) {
        return -1;
    }
    plan->last_used = ++session->runs;
    session->current = plan;
    return execution_plan_run(plan, session->block, inputs, outputs, hook, err);
}

int session_run_hooked(struct session *session, const struct tensor *inputs, struct tensor *outputs,
                       const struct training_hook *hook, struct error *err) {
    for (;;) {
        bool had_plans = session_has_plans(session);
        if (run_once(session, inputs, outputs, hook, err) == 0) {
            return 0;
        }
        if (err->kind != ERROR_EXHAUSTED) {
            return -1;
        }
        session_forget_plans(session);
        if (!had_plans || hook) { /* a hook has counted steps */
            return -1;
        }
        error_clear(err); /* freeing the memory of other shapes may be enough */
    }
}

/* A network whose shapes depend on what it computes (a Reshape by a computed size) has no plan, but
 * stages may do. This is tried once. */
static int try_stages(struct session *session, const struct tensor *inputs, struct tensor *outputs,
                      struct error *err) {
    struct error cause = {0};
    session->has_tried_stages = true;
    session_forget_plans(session);
    if (graph_reload(&session->graph, session->model->file, &cause) < 0) {
        error_clear(&cause);
        return -1;
    }
    session->graph.may_evict = false;
    struct stages *stages = stages_new(session->device, &session->graph, COST_MAX);
    if (stages_run(stages, inputs, outputs, &cause) < 0) {
        stages_free(stages);
        error_clear(&cause);
        session->graph.may_evict = true;
        return -1; /* with the first error */
    }
    error_clear(err);
    session->stages = stages;
    return 0;
}

int session_run(struct session *session, const struct tensor *inputs, struct tensor *outputs,
                struct error *err) {
    if (session->stages) {
        int result = stages_run(session->stages, inputs, outputs, err);
        if (result < 0 && err->kind == ERROR_EXHAUSTED) {
            error_clear(err); /* freeing the memory of other shapes may be enough */
            stages_forget(session->stages);
            result = stages_run(session->stages, inputs, outputs, err);
        }
        return result;
    }
    if (session_run_hooked(session, inputs, outputs, NULL, err) == 0) {
        return 0;
    }
    bool tries = err->kind == ERROR_UNSUPPORTED && !session->has_tried_stages;
    return tries ? try_stages(session, inputs, outputs, err) : -1;
}

const struct execution_plan *session_plan(const struct session *session) {
    return session->current;
}

double session_flops(const struct session *session) {
    return session->stages    ? stages_flops(session->stages)
           : session->current ? session->current->flops
                              : 0;
}
