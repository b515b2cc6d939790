// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/run/execution_plan.h"

#include "agent/engine/device/kernel.h"
#include "agent/engine/ops/cost.h"

#include <stdlib.h>
#include <string.h>

enum { INPUT_VALUE_ELEMENTS_MAX = 64 };

static size_t tensor_bytes(const struct tensor *tensor) {
    return (size_t)shape_count(&tensor->shape) * tensor_type_size(tensor->type);
}

static void mark(const struct schedule *schedule, int slot, bool *is_read) {
    if (slot >= 0) {
        const struct schedule_slot *from = &schedule->slots[slot];
        is_read[from->place == PLACE_VIEW ? from->view_of : slot] = true;
    }
}

/* Marks slots that a step or the caller reads. (Devices that pack weights remove them from the
 * step's inputs.) */
static const bool *find_read(struct execution_plan *plan) {
    const struct schedule *schedule = plan->schedule;
    bool *is_read = arena_array(&plan->arena, schedule->slot_count, sizeof *is_read);
    for (size_t n = 0; n < schedule->step_count; n++) {
        const struct step *step = &schedule->steps[n];
        for (int i = 0; step->node && i < step->input_count; i++) {
            mark(schedule, step->inputs[i], is_read);
        }
    }
    for (size_t i = 0; i < plan->graph->output_count; i++) {
        mark(schedule, plan->graph->outputs[i], is_read);
    }
    return is_read;
}

/* Constants are copied to the device once per plan. */
static int upload(struct execution_plan *plan, struct error *err) {
    struct device *device = plan->device;
    const bool *is_read = find_read(plan);
    for (size_t i = 0; i < plan->schedule->slot_count; i++) {
        const struct schedule_slot *slot = &plan->schedule->slots[i];
        struct tensor *tensor = &plan->tensors[i];
        size_t size = tensor_bytes(tensor);
        if (slot->place != PLACE_CONSTANT || !is_read[i]) {
            continue;
        }
        if (device->ops->alloc(device, size, &plan->owned[i], err) < 0) {
            return -1;
        }
        tensor->data = plan->owned[i];
        if (device->ops->copy(device, COPY_TO_DEVICE, tensor->data, slot->constant, size, err) <
            0) {
            return -1;
        }
    }
    return 0;
}

static void fill_calls(struct execution_plan *plan) {
    struct schedule *schedule = plan->schedule;
    plan->calls = arena_array(&plan->arena, schedule->step_count, sizeof *plan->calls);
    for (size_t n = 0; n < schedule->step_count; n++) {
        const struct step *step = &schedule->steps[n];
        if (!step->node) {
            continue;
        }
        const struct tensor **inputs =
            arena_array(&plan->arena, (size_t)step->input_count, sizeof *inputs);
        struct tensor **outputs =
            arena_array(&plan->arena, (size_t)step->output_count, sizeof *outputs);
        for (int i = 0; i < step->input_count; i++) {
            inputs[i] = step->inputs[i] < 0 ? NULL : &plan->tensors[step->inputs[i]];
        }
        for (int i = 0; i < step->output_count; i++) {
            outputs[i] = step->outputs[i] < 0 ? NULL : &plan->tensors[step->outputs[i]];
        }
        plan->calls[n] = (struct call){.device = plan->device,
                                       .node = step->node,
                                       .state = step->state,
                                       .input_count = step->input_count,
                                       .output_count = step->output_count,
                                       .inputs = inputs,
                                       .outputs = outputs};
    }
}

/* Copies the inputs that are small enough to be sizes, axes or pads. */
static const void **copy_values(struct execution_plan *plan, const struct tensor *inputs) {
    size_t count = plan->graph->input_count;
    const void **values = arena_array(&plan->arena, count, sizeof *values);
    for (size_t i = 0; i < count; i++) {
        size_t size = tensor_bytes(&inputs[i]);
        if (inputs[i].data && shape_count(&inputs[i].shape) <= INPUT_VALUE_ELEMENTS_MAX) {
            void *copy = arena_alloc(&plan->arena, size);
            if (size) {
                memcpy(copy, inputs[i].data, size);
            }
            values[i] = copy;
        }
    }
    return values;
}

static int infer(struct execution_plan *plan, const struct tensor *inputs, struct arena *known,
                 struct fact *facts, struct error *err) {
    const struct graph *graph = plan->graph;
    for (size_t i = 0; i < graph->input_count; i++) {
        const void *value = plan->input_values ? plan->input_values[i] : NULL;
        facts[graph->inputs[i]] = (struct fact){inputs[i].type, inputs[i].shape, value};
        plan->input_shapes[i] = inputs[i].shape;
    }
    return shape_infer(graph, device_evaluate, known, facts, err);
}

static void bind_outputs(struct execution_plan *plan, const bool *is_bound) {
    const struct graph *graph = plan->graph;
    plan->bound = arena_array(&plan->arena, graph->output_count, sizeof *plan->bound);
    for (size_t i = 0; i < graph->output_count; i++) {
        struct execution_plan_bound *bound = &plan->bound[i];
        bound->is_bound = is_bound[i];
        bound->slot = is_bound[i] ? schedule_bind(plan->schedule, graph->outputs[i]) : -1;
    }
}

/* Called after the device has fused steps. */
static void find_makers(struct execution_plan *plan) {
    const struct schedule *schedule = plan->schedule;
    size_t last = MAX(schedule->step_count, 1) - 1;
    for (size_t i = 0; plan->bound && i < plan->graph->output_count; i++) {
        struct execution_plan_bound *bound = &plan->bound[i];
        const struct step *maker =
            bound->slot < 0 ? NULL : schedule_producer(schedule, bound->slot);
        bound->ready_after_step = maker ? (size_t)(maker - schedule->steps) : last;
    }
}

static int check_work(const struct execution_plan *plan, struct error *err) {
    return plan->work <= COST_MAX
               ? 0
               : error_set(err, ERROR_UNSUPPORTED,
                           "for inputs of these sizes the network takes some %.0e steps; at most "
                           "%.0e are done",
                           plan->work, COST_MAX);
}

static int make_schedule(struct execution_plan *plan, const struct tensor *inputs,
                         struct error *err) {
    struct arena known = {0}, scratch = {0};
    struct fact *facts = arena_array(&scratch, plan->graph->value_count, sizeof *facts);
    struct error first = {0};
    int result = infer(plan, inputs, &known, facts, &first);
    if (result < 0 && first.kind == ERROR_UNSUPPORTED) {
        plan->input_values = copy_values(plan, inputs);
        error_clear(&first);
        result = infer(plan, inputs, &known, facts, &first);
    }
    if (result < 0) {
        *err = first;
    } else {
        plan->flops = shape_flops(plan->graph, facts);
        plan->work = cost_of_graph(plan->graph, facts);
        result = check_work(plan, err);
        result = result < 0 ? -1 : schedule_new(plan->graph, facts, &known, &plan->schedule, err);
    }
    arena_release(&known);
    arena_release(&scratch);
    return result;
}

static void planp_free(struct execution_plan **plan) {
    execution_plan_free(*plan);
}

int execution_plan_new(struct device *device, struct graph *graph, const struct tensor *inputs,
                       struct execution_plan **ret_plan, struct error *err) {
    return execution_plan_new_bound(device, graph, inputs, NULL, ret_plan, err);
}

int execution_plan_new_bound(struct device *device, struct graph *graph,
                             const struct tensor *inputs, const bool *is_bound,
                             struct execution_plan **ret_plan, struct error *err) {
    AUTO(planp_free) struct execution_plan *plan = x_calloc(1, sizeof *plan);
    plan->device = device;
    plan->graph = graph;
    plan->input_shapes = arena_array(&plan->arena, graph->input_count, sizeof(struct shape));
    plan->outputs = arena_array(&plan->arena, graph->output_count, sizeof(struct tensor));
    plan->given = arena_array(&plan->arena, graph->input_count, sizeof *plan->given);
    for (size_t i = 0; i < graph->input_count; i++) {
        if (graph_check_input(&graph->values[graph->inputs[i]], &inputs[i], err) < 0) {
            return -1;
        }
    }
    if (make_schedule(plan, inputs, err) < 0) {
        return -1;
    }
    if (is_bound) {
        bind_outputs(plan, is_bound);
    }
    if (device->ops->prepare(device, plan->schedule, err) < 0 ||
        schedule_place(plan->schedule, err) < 0) {
        return -1;
    }
    find_makers(plan);
    struct schedule *schedule = plan->schedule;
    plan->tensors = arena_array(&plan->arena, schedule->slot_count, sizeof *plan->tensors);
    for (size_t i = 0; i < schedule->slot_count; i++) {
        const struct schedule_slot *slot = &schedule->slots[i];
        plan->tensors[i] = (struct tensor){.type = slot->type, .shape = slot->shape};
        plan->tensors[i].data = (void *)(uintptr_t)slot->constant; /* kernels do not write to it */
    }
    if (!device->is_host) {
        plan->owned = arena_array(&plan->arena, schedule->slot_count, sizeof *plan->owned);
        if (upload(plan, err) < 0) {
            return -1;
        }
    }
    fill_calls(plan);
    *ret_plan = TAKE(plan);
    return 0;
}

void execution_plan_bind_output(struct execution_plan *plan, size_t output, void *memory) {
    struct execution_plan_bound *bound = &plan->bound[output];
    bound->memory = memory;
    if (bound->slot >= 0) {
        plan->tensors[bound->slot].data = memory;
    }
}

void execution_plan_bind_input(struct execution_plan *plan, size_t input, void *memory) {
    plan->given[input] = memory;
    plan->recorded_block = NULL; /* the recording has another address */
}

void execution_plan_free(struct execution_plan *plan) {
    if (!plan) {
        return;
    }
    if (plan->recording) {
        plan->device->recording->recording_free(plan->device, plan->recording);
    }
    for (size_t i = 0; plan->owned && i < plan->schedule->slot_count; i++) {
        if (plan->owned[i]) {
            plan->device->ops->free(plan->device, plan->owned[i]);
        }
    }
    for (size_t i = 0; i < plan->graph->output_count; i++) {
        tensor_release(&plan->outputs[i]);
    }
    schedule_free(plan->schedule);
    arena_release(&plan->arena);
    free(plan);
}

bool execution_plan_fits(const struct execution_plan *plan, const struct tensor *inputs) {
    for (size_t i = 0; i < plan->graph->input_count; i++) {
        if (!shape_equal(&plan->input_shapes[i], &inputs[i].shape) ||
            plan->graph->values[plan->graph->inputs[i]].type != inputs[i].type) {
            return false;
        }
        const void *value = plan->input_values ? plan->input_values[i] : NULL;
        if (value && memcmp(value, inputs[i].data, tensor_bytes(&inputs[i])) != 0) {
            return false;
        }
    }
    return true;
}

/* The address at which kernels read an input: a copy in device memory, or the input itself. Memory
 * for a copy is allocated in the first run, when it is known to be needed. */
static int bind_input(struct execution_plan *plan, size_t index, const struct tensor *input,
                      struct error *err) {
    struct device *device = plan->device;
    int slot = plan->graph->inputs[index];
    struct tensor *tensor = &plan->tensors[slot];
    if (plan->given[index] || device->is_host) {
        tensor->data = plan->given[index] ? plan->given[index] : input->data;
        return 0;
    }
    size_t size = tensor_bytes(tensor);
    if (!plan->owned[slot] && device->ops->alloc(device, size, &plan->owned[slot], err) < 0) {
        return -1;
    }
    tensor->data = plan->owned[slot];
    return device->ops->copy(device, COPY_TO_DEVICE, tensor->data, input->data, size, err);
}

/* Sets the data of every tensor for this run. */
static int bind(struct execution_plan *plan, void *block, const struct tensor *inputs,
                struct error *err) {
    struct schedule *schedule = plan->schedule;
    for (size_t i = 0; i < plan->graph->input_count; i++) {
        if (bind_input(plan, i, &inputs[i], err) < 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < schedule->slot_count; i++) {
        if (schedule->slots[i].place == PLACE_ARENA) {
            plan->tensors[i].data = (char *)block + schedule->slots[i].offset;
        }
    }
    for (size_t i = 0; i < schedule->slot_count; i++) {
        const struct schedule_slot *slot = &schedule->slots[i];
        if (slot->place == PLACE_VIEW) {
            plan->tensors[i].data = (char *)plan->tensors[slot->view_of].data + slot->view_offset;
        }
    }
    for (size_t n = 0; n < schedule->step_count; n++) {
        plan->calls[n].scratch = (char *)block + schedule->steps[n].scratch_offset;
    }
    return 0;
}

/* An output is in the block, or it is copied: from device memory, or because it is an input or a
 * constant, whose memory the caller must not keep. */
static int fetch(struct execution_plan *plan, size_t index, struct tensor *output,
                 struct error *err) {
    int slot = plan->graph->outputs[index];
    if (plan->bound && plan->bound[index].is_bound) {
        *output = plan->tensors[slot];
        output->data = plan->bound[index].memory;
        return 0;
    }
    const struct schedule_slot *root = &plan->schedule->slots[slot];
    root = root->place == PLACE_VIEW ? &plan->schedule->slots[root->view_of] : root;
    const struct tensor *tensor = &plan->tensors[slot];
    if (plan->device->is_host && (root->place == PLACE_ARENA || root->place == PLACE_BOUND)) {
        *output = *tensor;
        return 0;
    }
    struct tensor *copy = &plan->outputs[index];
    if (!copy->data && tensor_init(copy, tensor->type, &tensor->shape, err) < 0) {
        return -1;
    }
    *output = *copy;
    output->owned = false;
    return plan->device->ops->copy(plan->device, COPY_TO_HOST, copy->data, tensor->data,
                                   tensor_bytes(tensor), err);
}

/* Copies bound outputs that no step makes in the bound memory. */
static int copy_bound(struct execution_plan *plan, struct error *err) {
    for (size_t i = 0; plan->bound && i < plan->graph->output_count; i++) {
        const struct tensor *tensor = &plan->tensors[plan->graph->outputs[i]];
        const struct execution_plan_bound *bound = &plan->bound[i];
        if (bound->is_bound && bound->slot < 0 &&
            plan->device->ops->copy(plan->device, COPY_ON_DEVICE, bound->memory, tensor->data,
                                    tensor_bytes(tensor), err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int run_steps(struct execution_plan *plan, const struct training_hook *hook,
                     struct error *err) {
    struct device *device = plan->device;
    size_t count = plan->schedule->step_count;
    for (size_t n = 0; n < count; n++) {
        const struct step *step = &plan->schedule->steps[n];
        if (step->node && device->ops->run(device, step, &plan->calls[n], err) < 0) {
            return error_context(err, "%s node \"%.64s\"", step->node->op->name, step->node->name);
        }
        if ((n + 1 == count && copy_bound(plan, err) < 0) ||
            (hook && (step->node || n + 1 == count) && hook->after(hook->context, n, err) < 0)) {
            return -1;
        }
    }
    return count == 0 ? copy_bound(plan, err) : 0;
}

/* Records the steps; if the device cannot record them, they are run one by one from then on. */
static int record(struct execution_plan *plan, const void *block, struct error *err) {
    struct device *device = plan->device;
    struct error ignored = {0};
    int begun = device->recording->record(device, plan->schedule, err);
    if (begun != 0) {
        plan->is_unrecordable = true;
        return begun < 0 ? -1 : 0;
    }
    int result = run_steps(plan, NULL, &ignored);
    error_clear(&ignored);
    if (device->recording->record_end(device, &plan->recording, &ignored) < 0 || result < 0) {
        plan->is_unrecordable = true;
        if (plan->recording) {
            device->recording->recording_free(device, TAKE(plan->recording));
        }
    }
    plan->recorded_block = block;
    return 0;
}

/* The first run is step by step, because libraries then load kernels and may choose others. The
 * second run is recorded. */
static int run_all(struct execution_plan *plan, const void *block, const struct training_hook *hook,
                   struct error *err) {
    struct device *device = plan->device;
    if (hook || (plan->bound && !plan->is_steady) || !device->recording || plan->run_count++ == 0 ||
        plan->is_unrecordable) {
        return run_steps(plan, hook, err);
    }
    if (plan->recording && plan->recorded_block != block) {
        device->recording->recording_free(device, TAKE(plan->recording));
    }
    if (!plan->recording && record(plan, block, err) < 0) {
        return -1;
    }
    return plan->recording ? device->recording->replay(device, plan->recording, err)
                           : run_steps(plan, NULL, err);
}

int execution_plan_start(struct execution_plan *plan, void *block, const struct tensor *inputs,
                         struct error *err) {
    return bind(plan, block, inputs, err) < 0 ? -1 : run_all(plan, block, NULL, err);
}

int execution_plan_run(struct execution_plan *plan, void *block, const struct tensor *inputs,
                       struct tensor *outputs, const struct training_hook *hook,
                       struct error *err) {
    if (bind(plan, block, inputs, err) < 0 || run_all(plan, block, hook, err) < 0 ||
        plan->device->ops->sync(plan->device, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < plan->graph->output_count; i++) {
        if (fetch(plan, i, &outputs[i], err) < 0) {
            return -1;
        }
    }
    return 0;
}
