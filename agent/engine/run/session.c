// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/session.h"

#include "agent/engine/device/kernel.h"
#include "agent/engine/graph/resident.h"
#include "agent/engine/graph/texts.h"
#include "agent/engine/model.h"
#include "agent/engine/onnx/text_values.h"
#include "agent/engine/ops/bytes.h"
#include "agent/engine/ops/rewrite/rewrite.h"
#include "agent/engine/run/session_state.h"

#include <assert.h>
#include <stdlib.h>

/* The graph that was read, with bytes at its ends; it borrows from the one without. */
static int add_ends(struct session *session, const struct session_options *options,
                    struct error *err) {
    struct graph floats = session->graph;
    const struct bytes *out = floats.output_count == 1 ? options->bytes_out : NULL;
    session->graph = (struct graph){0};
    session->gives_bytes = out != NULL;
    if (bytes_at_ends(&floats, options->bytes_in, out, &session->graph, err) < 0) {
        graph_release(&floats);
        return -1;
    }
    arena_join(&session->graph.arena, &floats.arena);
    return 0;
}

int session_open(const char *model_path, const struct session_options *options,
                 struct session **ret_session, struct error *err) {
    AUTO(session_freep) struct session *session = x_calloc(1, sizeof *session);
    if (options && options->ret_is_device) {
        *options->ret_is_device = false;
    }
    if (model_open(model_path, &session->model, err) < 0) {
        return -1;
    }
    if (device_open(options ? options->device : NULL, options ? options->threads : 0,
                    &session->device, err) < 0) {
        if (options && options->ret_is_device) {
            *options->ret_is_device = true;
        }
        return -1;
    }
    if (rewrite(&session->model->graph, &session->graph, err) < 0 ||
        (options && options->bytes_in && add_ends(session, options, err) < 0)) {
        return error_context(err, "model %s", model_path);
    }
    shape_fold_constants(&session->graph, device_evaluate);
    session->graph.lets_go = true; /* nobody but our plans reads them; see find_plan */
    *ret_session = TAKE(session);
    return 0;
}

int session_enter(struct session *session, struct error *err) {
    struct device *device = session->device;
    return device->ops->enter ? device->ops->enter(device, err) : 0;
}

void session_free(struct session *session) {
    if (!session) {
        return;
    }
    if (session->device) {
        struct error ignored = {0};
        (void)!session_enter(session, &ignored);
        flow_close(session);
        session_forget_plans(session);
    }
    device_close(session->device);
    graph_release(&session->graph);
    model_free(session->model);
    free(session);
}

void session_freep(struct session **session) {
    session_free(*session);
    *session = NULL;
}

size_t session_input_count(const struct session *session) {
    return session->graph.input_count;
}

size_t session_output_count(const struct session *session) {
    return session->graph.output_count;
}

const char *session_input(const struct session *session, size_t index, enum tensor_type *ret_type,
                          struct shape *ret_shape) {
    const struct graph *graph = &session->model->graph; /* whatever its ends have become */
    assert(index < graph->input_count);
    const struct value *value = &graph->values[graph->inputs[index]];
    *ret_type = value->type;
    *ret_shape = value->shape;
    return value->name;
}

const char *session_output(const struct session *session, size_t index) {
    const struct graph *graph = &session->graph;
    assert(index < graph->output_count);
    return graph->values[graph->outputs[index]].name;
}

const struct texts *session_input_texts(const struct session *session, size_t index) {
    const struct graph *graph = &session->model->graph;
    assert(index < graph->input_count);
    return graph->values[graph->inputs[index]].is_text ? graph->texts : NULL;
}

char **session_classes(const struct session *session, size_t *ret_count) {
    const struct graph *graph = &session->model->graph;
    char **classes = NULL;
    for (size_t i = 0; i < graph->output_count && !classes; i++) {
        classes = text_values_classes(graph, graph->outputs[i], ret_count);
    }
    return classes;
}

void session_classes_free(char **classes, size_t count) {
    text_values_classes_free(classes, count);
}

const char *session_note(const struct session *session) {
    return session->model->note;
}

bool session_gives_bytes(const struct session *session) {
    return session->gives_bytes;
}

/* The plan for these shapes: a kept one, or a new one in place of the longest unused. */
static int find_plan(struct session *session, const struct tensor *inputs, struct plan **ret_plan,
                     struct error *err) {
    struct plan **oldest = &session->plans[0], *plan;
    for (int i = 0; i < SESSION_PLANS; i++) {
        plan = session->plans[i];
        if (plan && plan_fits(plan, inputs)) {
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
    plan_free(TAKE(*oldest));
    if (graph_bring_back(&session->graph, session->model->file, err) < 0 ||
        plan_new(session->device, &session->graph, inputs, &plan, err) < 0) {
        return -1;
    }
    *oldest = plan;
    *ret_plan = plan;
    return 0;
}

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
        plan_free(TAKE(session->plans[i]));
    }
    session->current = NULL;
    if (session->block) {
        session->device->ops->free(session->device, TAKE(session->block));
        session->block_bytes = 0;
    }
}

int session_run(struct session *session, const struct tensor *inputs, struct tensor *outputs,
                struct error *err) {
    return session_run_hooked(session, inputs, outputs, NULL, err);
}

static int run_once(struct session *session, const struct tensor *inputs, struct tensor *outputs,
                    const struct plan_hook *hook, struct error *err) {
    struct plan *plan;
    if (find_plan(session, inputs, &plan, err) < 0 ||
        session_grow_block(session, plan->schedule->block_bytes, err) < 0) {
        return -1;
    }
    plan->last_used = ++session->runs;
    session->current = plan;
    return plan_run_hooked(plan, session->block, inputs, outputs, hook, err);
}

bool session_has_plans(const struct session *session) {
    for (int i = 0; i < SESSION_PLANS; i++) {
        if (session->plans[i]) {
            return true;
        }
    }
    return false;
}

int session_run_hooked(struct session *session, const struct tensor *inputs, struct tensor *outputs,
                       const struct plan_hook *hook, struct error *err) {
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
        error_clear(err); /* what other shapes had may be what is missing */
    }
}

const struct plan *session_plan(const struct session *session) {
    return session->current;
}

double session_flops(const struct session *session) {
    return session->current ? session->current->flops : 0;
}

int64_t session_text_number(const struct texts *texts, const char *bytes, size_t size) {
    return texts_find(texts, bytes, size);
}
