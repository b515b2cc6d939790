// SPDX-License-Identifier: Apache-2.0
/* Runs whose inputs and outputs are copied while the steps of other runs are executed.
 *
 *   host -- carry --> set.up -- (device) --> line.in -- steps --> line.out -- (device) --> set.down
 *        set.down -- carry --> set.results (host)
 *
 * A line is a plan with fixed memory for its inputs and outputs, so that its recording stays valid.
 * A set is the memory that one run in progress uses alone. Runs share lines and the block, but
 * their steps never overlap, because the device executes them in order. A copy within the device
 * takes a thousandth of the time of a copy to it. */
#include "agent/engine/graph/resident.h"
#include "agent/engine/run/session_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = SESSION_PLANS, SETS = 2 };

struct memory {
    void *at;
    size_t bytes; /* room */
};

struct line {
    struct execution_plan *plan; /* NULL: empty */
    struct memory *in, *out;
};

struct set {
    /* up: per input; down: per output; results: per output, on the host. */
    struct memory *up, *down, *results;
    struct tensor *outputs; /* of the run in progress; their data is in results */
    struct device_event *arrived, *computed, *returned;
};

struct flow {
    struct arena arena;
    struct line lines[LINES];
    struct set sets[SETS];
    int submitted, first; /* runs in progress; the set of the oldest */
    uint64_t runs;
    struct tensor *host_outputs; /* for devices without such copies: of the completed run */
};

static size_t bytes_of(const struct tensor *tensor) {
    return (size_t)shape_count(&tensor->shape) * tensor_type_size(tensor->type);
}

/* ---- memory --------------------------------------------------------------------------------- */

static void give_back(struct device *device, struct memory *memory, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (memory[i].at) {
            device->ops->free(device, memory[i].at);
        }
        memory[i] = (struct memory){0};
    }
}

static int grow(struct device *device, struct memory *memory, size_t bytes, struct error *err) {
    if (memory->at && memory->bytes >= bytes) {
        return 0;
    }
    give_back(device, memory, 1);
    if (device->ops->alloc(device, bytes, &memory->at, err) < 0) {
        return -1;
    }
    memory->bytes = bytes;
    return 0;
}

static int grow_results(struct device *device, struct memory *memory, size_t bytes,
                        struct error *err) {
    if (memory->at && memory->bytes >= bytes) {
        return 0;
    }
    device->streams->host_free(device, TAKE(memory->at));
    if (device->streams->host_alloc(device, bytes, &memory->at, err) < 0) {
        return -1;
    }
    memory->bytes = bytes;
    return 0;
}

static void empty_line(const struct session *session, struct line *line) {
    execution_plan_free(TAKE(line->plan));
    give_back(session->device, line->in, session->graph.input_count);
    give_back(session->device, line->out, session->graph.output_count);
}

/* Waits for steps in progress first. Of the sets, it frees what no run uses. */
static void forget(struct session *session) {
    struct flow *flow = session->flow;
    struct device *device = session->device;
    struct error ignored = {0};
    (void)!device->ops->sync(device, &ignored);
    for (int i = 0; i < LINES; i++) {
        empty_line(session, &flow->lines[i]);
    }
    for (int i = flow->submitted; i < SETS; i++) {
        struct set *set = &flow->sets[(flow->first + i) % SETS];
        give_back(device, set->up, session->graph.input_count);
        give_back(device, set->down, session->graph.output_count);
    }
    session_forget_plans(session);
}

/* ---- life ----------------------------------------------------------------------------------- */

static int open_set(struct session *session, struct set *set, struct error *err) {
    struct device *device = session->device;
    struct arena *arena = &session->flow->arena;
    const struct graph *graph = &session->graph;
    set->up = arena_array(arena, graph->input_count, sizeof *set->up);
    set->down = arena_array(arena, graph->output_count, sizeof *set->down);
    set->results = arena_array(arena, graph->output_count, sizeof *set->results);
    set->outputs = arena_array(arena, graph->output_count, sizeof *set->outputs);
    return device->training->event_new(device, &set->arrived, err) < 0 ||
                   device->training->event_new(device, &set->computed, err) < 0 ||
                   device->training->event_new(device, &set->returned, err) < 0
               ? -1
               : 0;
}

static int open_flow(struct session *session, struct error *err) {
    struct flow *flow = session->flow = x_calloc(1, sizeof *flow);
    const struct graph *graph = &session->graph;
    flow->host_outputs = arena_array(&flow->arena, graph->output_count, sizeof(struct tensor));
    for (int i = 0; i < LINES; i++) {
        flow->lines[i].in =
            arena_array(&flow->arena, graph->input_count, sizeof *flow->lines[i].in);
        flow->lines[i].out =
            arena_array(&flow->arena, graph->output_count, sizeof *flow->lines[i].out);
    }
    for (int i = 0; i < SETS && session->device->streams; i++) {
        if (open_set(session, &flow->sets[i], err) < 0) {
            flow_close(session);
            return -1;
        }
    }
    return 0;
}

void flow_close(struct session *session) {
    struct flow *flow = session->flow;
    struct device *device = session->device;
    struct error ignored = {0};
    if (!flow) {
        return;
    }
    for (int i = 0; i < flow->submitted && device->streams; i++) {
        (void)!device->training->await(device, flow->sets[(flow->first + i) % SETS].returned,
                                       &ignored);
    }
    flow->submitted = 0;
    for (int i = 0; i < SETS && device->streams; i++) {
        struct set *set = &flow->sets[i];
        for (size_t k = 0; set->results && k < session->graph.output_count; k++) {
            device->streams->host_free(device, TAKE(set->results[k].at));
        }
        device->training->event_free(device, set->arrived);
        device->training->event_free(device, set->computed);
        device->training->event_free(device, set->returned);
    }
    if (flow->sets[SETS - 1].up) {
        forget(session);
    }
    arena_release(&flow->arena);
    free(TAKE(session->flow));
}

/* Stages run one after the other. */
static bool has_streams(const struct session *session) {
    return session->device->streams && !session->stages;
}

int session_depth(const struct session *session) {
    return has_streams(session) ? SETS : 1;
}

int session_host_memory(struct session *session, size_t size, void **ret_memory,
                        struct error *err) {
    if (session->device->streams) {
        return session->device->streams->host_alloc(session->device, size, ret_memory, err);
    }
    *ret_memory = aligned_alloc(64, (MAX(size, 1) + 63) / 64 * 64);
    return *ret_memory ? 0 : error_set(err, ERROR_EXHAUSTED, "no memory for %zu bytes", size);
}

void session_host_free(struct session *session, void *memory) {
    if (session->device->streams) {
        session->device->streams->host_free(session->device, memory);
    } else {
        free(memory);
    }
}

/* ---- lines ---------------------------------------------------------------------------------- */

static int fill_line(struct session *session, struct line *line, const struct tensor *inputs,
                     struct error *err) {
    struct device *device = session->device;
    struct graph *graph = &session->graph;
    bool *is_bound = x_calloc(graph->output_count, sizeof *is_bound);
    memset(is_bound, true, graph->output_count);
    int result = graph_reload(graph, session->model->file, err);
    result = result < 0
                 ? -1
                 : execution_plan_new_bound(device, graph, inputs, is_bound, &line->plan, err);
    free(is_bound);
    for (size_t i = 0; i < graph->input_count && result == 0; i++) {
        result = grow(device, &line->in[i], bytes_of(&inputs[i]), err);
        if (result == 0) {
            execution_plan_bind_input(line->plan, i, line->in[i].at);
        }
    }
    for (size_t i = 0; i < graph->output_count && result == 0; i++) {
        const struct tensor *made = &line->plan->tensors[graph->outputs[i]];
        result = grow(device, &line->out[i], bytes_of(made), err);
        if (result == 0) {
            execution_plan_bind_output(line->plan, i, line->out[i].at);
        }
    }
    if (result < 0) {
        empty_line(session, line);
        return -1;
    }
    line->plan->is_steady = true;
    return 0;
}

static int find_line(struct session *session, const struct tensor *inputs, struct line **ret_line,
                     struct error *err) {
    struct line *lines = session->flow->lines, *oldest = &lines[0];
    for (int i = 0; i < LINES; i++) {
        if (lines[i].plan && execution_plan_fits(lines[i].plan, inputs)) {
            *ret_line = &lines[i];
            return 0;
        }
        if (oldest->plan &&
            (!lines[i].plan || lines[i].plan->last_used < oldest->plan->last_used)) {
            oldest = &lines[i];
        }
    }
    if (oldest->plan) { /* its steps may be in progress */
        if (session->device->ops->sync(session->device, err) < 0) {
            return -1;
        }
        empty_line(session, oldest);
    }
    *ret_line = oldest;
    return fill_line(session, oldest, inputs, err);
}

static int make_room(struct session *session, const struct line *line, struct set *set,
                     const struct tensor *inputs, struct error *err) {
    struct device *device = session->device;
    size_t block = line->plan->schedule->block_bytes;
    for (size_t i = 0; i < session->graph.input_count; i++) {
        if (grow(device, &set->up[i], bytes_of(&inputs[i]), err) < 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < session->graph.output_count; i++) {
        size_t size = bytes_of(&line->plan->tensors[session->graph.outputs[i]]);
        if (grow(device, &set->down[i], size, err) < 0 ||
            grow_results(device, &set->results[i], size, err) < 0) {
            return -1;
        }
    }
    if (block > session->block_bytes && device->ops->sync(device, err) < 0) {
        return -1;
    }
    return session_grow_block(session, block, err);
}

/* ---- a run ---------------------------------------------------------------------------------- */

static int go_up(struct session *session, const struct line *line, struct set *set,
                 const struct tensor *inputs, struct error *err) {
    struct device *device = session->device;
    for (size_t i = 0; i < session->graph.input_count; i++) {
        const struct device_copy copy = {COPY_TO_DEVICE, set->up[i].at, inputs[i].data,
                                         bytes_of(&inputs[i])};
        if (device->streams->copy_async(device, &copy, NULL, set->arrived, err) < 0) {
            return -1;
        }
    }
    if (device->streams->wait_event(device, set->arrived, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < session->graph.input_count; i++) {
        if (device->ops->copy(device, COPY_ON_DEVICE, line->in[i].at, set->up[i].at,
                              bytes_of(&inputs[i]), err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int go_down(struct session *session, const struct line *line, struct set *set,
                   struct error *err) {
    struct device *device = session->device;
    const struct graph *graph = &session->graph;
    for (size_t i = 0; i < graph->output_count; i++) {
        set->outputs[i] = line->plan->tensors[graph->outputs[i]];
        set->outputs[i].data = set->results[i].at;
        set->outputs[i].owned = false;
        if (device->ops->copy(device, COPY_ON_DEVICE, set->down[i].at, line->out[i].at,
                              bytes_of(&set->outputs[i]), err) < 0) {
            return -1;
        }
    }
    if (device->training->record(device, set->computed, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        const struct device_copy copy = {COPY_TO_HOST, set->results[i].at, set->down[i].at,
                                         bytes_of(&set->outputs[i])};
        if (device->streams->copy_async(device, &copy, set->computed, set->returned, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int submit(struct session *session, const struct tensor *inputs, struct error *err) {
    struct flow *flow = session->flow;
    struct set *set = &flow->sets[(flow->first + flow->submitted) % SETS];
    struct line *line = NULL;
    if (find_line(session, inputs, &line, err) < 0 ||
        make_room(session, line, set, inputs, err) < 0 ||
        go_up(session, line, set, inputs, err) < 0) {
        return -1;
    }
    line->plan->last_used = ++flow->runs;
    session->current = line->plan;
    return execution_plan_start(line->plan, session->block, inputs, err) < 0
               ? -1
               : go_down(session, line, set, err);
}

/* Whether there are plans and memory, for these or for other shapes. */
static bool has_kept(const struct session *session) {
    for (int i = 0; i < LINES; i++) {
        if (session->flow->lines[i].plan) {
            return true;
        }
    }
    return session_has_plans(session);
}

int session_submit(struct session *session, const struct tensor *inputs, struct error *err) {
    if (!session->flow && open_flow(session, err) < 0) {
        return -1;
    }
    struct flow *flow = session->flow;
    assert(flow->submitted < session_depth(session));
    if (!has_streams(session)) {
        if (session_run(session, inputs, flow->host_outputs, err) < 0) {
            return -1;
        }
        flow->submitted++;
        return 0;
    }
    for (;;) {
        bool had = has_kept(session);
        if (submit(session, inputs, err) == 0) {
            flow->submitted++;
            return 0;
        }
        if (err->kind != ERROR_EXHAUSTED) {
            return -1;
        }
        session->current = NULL;
        forget(session);
        if (!had) {
            return -1;
        }
        error_clear(err); /* freeing the memory of other shapes may be enough */
    }
}

int session_collect(struct session *session, struct tensor *outputs, struct error *err) {
    struct flow *flow = session->flow;
    struct device *device = session->device;
    assert(flow && flow->submitted > 0);
    bool carries = has_streams(session);
    const struct set *set = &flow->sets[flow->first];
    flow->submitted--;
    flow->first = (flow->first + 1) % SETS;
    if (carries && device->training->await(device, set->returned, err) < 0) {
        return -1;
    }
    memcpy(outputs, carries ? set->outputs : flow->host_outputs,
           session->graph.output_count * sizeof *outputs);
    return 0;
}
