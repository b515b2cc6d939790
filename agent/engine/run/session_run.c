// SPDX-License-Identifier: Apache-2.0
/* The plans of a session, one per combination of input shapes, and running them. */
#include "agent/engine/run/session_state.h"

#include "agent/engine/graph/resident.h"

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

int session_run(struct session *session, const struct tensor *inputs, struct tensor *outputs,
                struct error *err) {
    return session_run_hooked(session, inputs, outputs, NULL, err);
}

const struct execution_plan *session_plan(const struct session *session) {
    return session->current;
}

double session_flops(const struct session *session) {
    return session->current ? session->current->flops : 0;
}
