// SPDX-License-Identifier: Apache-2.0
/* Times and bytes of each step of a session. */
#include "agent/engine/session.h"

#include "agent/engine/run/session_state.h"
#include "lib/time/clock.h"

#include <math.h>
#include <stdlib.h>

static double slot_bytes(const struct schedule *schedule, int slot) {
    const struct schedule_slot *s = &schedule->slots[slot];
    return (double)shape_count(&s->shape) * (double)tensor_type_size(s->type);
}

/* A value that is read twice counts once. */
static double step_bytes(const struct schedule *schedule, const struct step *step) {
    double bytes = 0;
    for (int i = 0; i < step->input_count; i++) {
        bool seen = step->inputs[i] < 0;
        for (int k = 0; k < i && !seen; k++) {
            seen = step->inputs[k] == step->inputs[i];
        }
        bytes += seen ? 0 : slot_bytes(schedule, step->inputs[i]);
    }
    for (int i = 0; i < step->output_count; i++) {
        bytes += step->outputs[i] < 0 ? 0 : slot_bytes(schedule, step->outputs[i]);
    }
    return bytes;
}

static double step_flops(const struct schedule *schedule, const struct step *step) {
    const struct node *node = step->node;
    const struct schedule_slot *slots = schedule->slots;
    return node->op->flags & OP_COUNTED
               ? shape_node_flops(node, &slots[node->inputs[0]].shape,
                                  &slots[node->inputs[1]].shape, &slots[node->outputs[0]].shape)
               : 0;
}

static void describe(struct session_profile *profile, const struct execution_plan *plan) {
    const struct schedule *schedule = plan->schedule;
    profile->steps = x_calloc(schedule->step_count + 1, sizeof *profile->steps);
    for (size_t i = 0; i < schedule->step_count; i++) {
        const struct step *step = &schedule->steps[i];
        if (step->node) {
            profile->steps[profile->step_count++] =
                (struct session_profile_step){.op = step->node->op->name,
                                              .name = step->node->name ? step->node->name : "",
                                              .kernel = step->kernel->name,
                                              .flops = step_flops(schedule, step),
                                              .bytes = step_bytes(schedule, step)};
        }
    }
}

struct recording {
    struct session_profile *profile;
    const struct execution_plan *plan;
    size_t next; /* index of ended_ns */
};

static int record(void *context, size_t step, struct error *err) {
    struct recording *recording = context;
    struct device *device = recording->plan->device;
    if (!recording->plan->schedule->steps[step].node) {
        return 0;
    }
    if (device->ops->sync(device, err) < 0) {
        return -1;
    }
    recording->profile->ended_ns[recording->next++] = clock_monotonic_ns();
    return 0;
}

/* Takes the fastest of the runs, because other work on the machine can only make a run slower. */
static void conclude(struct session_profile *profile) {
    size_t steps = profile->step_count;
    for (size_t s = 0; s < steps; s++) {
        profile->steps[s].ms = INFINITY;
    }
    profile->run_ms = INFINITY;
    for (size_t r = 0; r < profile->run_count; r++) {
        int64_t began = profile->began_ns[r];
        for (size_t s = 0; s < steps; s++) {
            int64_t ended = profile->ended_ns[r * steps + s];
            profile->steps[s].ms = MIN(profile->steps[s].ms, (double)(ended - began) / 1e6);
            began = ended;
        }
        profile->run_ms = MIN(profile->run_ms, (double)(began - profile->began_ns[r]) / 1e6);
    }
}

int session_profile_new(struct session *session, const struct tensor *inputs, size_t runs,
                        struct session_profile **ret_profile, struct error *err) {
    AUTO(session_profile_freep) struct session_profile *profile = x_calloc(1, sizeof *profile);
    struct tensor *outputs = x_calloc(session_output_count(session) + 1, sizeof *outputs);
    /* Makes the plan and warms the caches. */
    int result = session_run(session, inputs, outputs, err);
    const struct execution_plan *plan = session_plan(session);
    if (result == 0 && !plan) {
        result = error_set(err, ERROR_UNSUPPORTED,
                           "a network with shapes that only the run knows has no steps to profile");
    }
    struct device *device = result == 0 ? plan->device : NULL;
    profile->has_peaks = device && device->ops->measure;
    if (profile->has_peaks) {
        result = device->ops->measure(device, &profile->peaks, err);
    }
    if (result == 0) {
        describe(profile, plan);
        profile->run_count = runs;
        profile->began_ns = x_calloc(runs, sizeof *profile->began_ns);
        profile->ended_ns = x_calloc(runs * profile->step_count + 1, sizeof *profile->ended_ns);
        /* Measuring peaks has emptied the caches. */
        result = session_run(session, inputs, outputs, err);
    }
    struct recording recording = {.profile = profile, .plan = plan};
    const struct training_hook hook = {record, &recording};
    for (size_t r = 0; result == 0 && r < runs; r++) {
        profile->began_ns[r] = clock_monotonic_ns();
        result = session_run_hooked(session, inputs, outputs, &hook, err);
    }
    free(outputs);
    if (result < 0) {
        return -1;
    }
    conclude(profile);
    *ret_profile = TAKE(profile);
    return 0;
}

void session_profile_free(struct session_profile *profile) {
    if (profile) {
        free(profile->steps);
        free(profile->began_ns);
        free(profile->ended_ns);
        free(profile);
    }
}

void session_profile_freep(struct session_profile **profile) {
    session_profile_free(*profile);
    *profile = NULL;
}
