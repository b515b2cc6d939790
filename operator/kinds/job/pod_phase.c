// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/pod_phase.h"

#include "lib/contract.h"
#include "lib/time/clock.h"
#include "operator/cluster.h"
#include "operator/kinds/job/owned.h"
#include "operator/object.h"

#include <stdlib.h>
#include <string.h>

enum { SPACING_MS = 1000 /* from pod to pod of a role and index that dies and makes progress */ };

static int number_of(const char *text, int fallback) {
    if (!text) {
        return fallback;
    }
    long number = strtol(text, NULL, 10);
    return number < 0 || number > 1000000 ? fallback : (int)number;
}

const json_t *pod_phase_agent_state(const json_t *pod, const char *state) {
    const json_t *agent = object_agent(tree_get(pod, "status.containerStatuses"));
    return json_object_get(json_object_get(agent, "state"), state);
}

/* An init container that failed or cannot start, in a pod whose agent has not started. */
static const json_t *find_init_trouble(const json_t *pod) {
    const json_t *list = tree_get(pod, "status.initContainerStatuses");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *init = json_array_get(list, i);
        const char *waits = tree_text(init, "state.waiting.reason", "PodInitializing");
        if (tree_integer(init, "state.terminated.exitCode", 0) != 0 ||
            strcmp(waits, "PodInitializing") != 0) {
            return init;
        }
    }
    return NULL;
}

const json_t *pod_phase_init_trouble(const json_t *pod) {
    bool began = pod_phase_agent_state(pod, "running") || pod_phase_agent_state(pod, "terminated");
    return began ? NULL : find_init_trouble(pod);
}

/* What a container waits for that starts in due course. */
static bool is_usual(const char *reason) {
    return !*reason || strcmp(reason, "ContainerCreating") == 0 ||
           strcmp(reason, "PodInitializing") == 0;
}

const json_t *pod_phase_other_trouble(const json_t *pod) {
    const json_t *list = tree_get(pod, "status.containerStatuses");
    const json_t *agent = object_agent(list);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *other = json_array_get(list, i);
        if (other != agent && !is_usual(tree_text(other, "state.waiting.reason", ""))) {
            return other;
        }
    }
    return NULL;
}

static int64_t time_of(const json_t *tree, const char *path) {
    const char *text = tree_text(tree, path, NULL);
    int64_t time_ms = text ? clock_parse(text) : -1;
    return MAX(time_ms, 0);
}

/* The node refused the pod before anything was started. */
static bool was_turned_away(const json_t *pod) {
    const char *reason = tree_text(pod, "status.reason", "");
    return text_starts(reason, "OutOf") || strcmp(reason, "NodeAffinity") == 0 ||
           strcmp(reason, "UnexpectedAdmissionError") == 0;
}

/* The kubelet removed the pod for the sake of its node. From 1.26 on the condition shows this.
 * Before, only the reason does, and for an eviction the message: a pod that has filled its own
 * volumes is evicted, too. */
static bool was_disrupted(const json_t *pod) {
    static const char *const reasons[] = {"NodeLost", "NodeShutdown", "Preempting", "Shutdown",
                                          "Terminated"};
    const json_t *status = json_object_get(pod, "status");
    const char *reason = tree_text(status, "reason", "");
    if (strcmp(tree_text(object_condition(status, "DisruptionTarget"), "status", ""), "True") ==
        0) {
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (strcmp(reason, reasons[i]) == 0) {
            return true;
        }
    }
    return strcmp(reason, "Evicted") == 0 &&
           text_starts(tree_text(status, "message", ""), "The node ");
}

static bool has_node(const json_t *pod) {
    const json_t *scheduled = object_condition(json_object_get(pod, "status"), "PodScheduled");
    return strcmp(tree_text(scheduled, "status", "True"), "True") == 0;
}

static int64_t read_progress(const char *message) {
    struct error ignored = {0};
    AUTO(tree_freep) json_t *words = NULL;
    if (*message != '{' ||
        tree_parse(message, strlen(message), CONTRACT_TERMINATION_READ_MAX, &words, &ignored) < 0) {
        return 0;
    }
    return MAX(tree_integer(words, "progress", 0), 0);
}

static void read_ended(const json_t *pod, const json_t *terminated, struct pod_phase *phase) {
    bool disrupted = was_disrupted(pod);
    bool succeeded = strcmp(tree_text(pod, "status.phase", ""), "Succeeded") == 0;
    bool deleted = tree_get(pod, "metadata.deletionTimestamp") != NULL;
    int64_t code = tree_integer(terminated, "exitCode", 3);
    if (succeeded && !terminated) {
        phase->stage = POD_PHASE_SUCCEEDED;
    } else if (!terminated || disrupted || (deleted && code > 2)) {
        /* Evicted, preempted, deleted, or its node is gone: not the program's failure. */
        phase->stage = POD_PHASE_DEAD;
        phase->exit_code = -1;
        phase->reason = tree_text(pod, "status.reason", "");
        phase->message = tree_text(pod, "status.message", "");
    } else {
        phase->stage = code == 0 ? POD_PHASE_SUCCEEDED : POD_PHASE_DEAD;
        phase->exit_code = (int)(code & 255);
        phase->reason = tree_text(terminated, "reason", "");
        phase->message = tree_text(terminated, "message", "");
        if (strcmp(tree_text(pod, "status.reason", ""), "Evicted") == 0) { /* by its own failure */
            phase->reason = "Evicted";
            phase->message =
                *phase->message ? phase->message : tree_text(pod, "status.message", "");
        }
        phase->never_started = strcmp(phase->reason, "StartError") == 0 ||
                               strcmp(phase->reason, "ContainerCannotRun") == 0;
    }
    phase->is_fault = phase->stage == POD_PHASE_DEAD && phase->exit_code >= 0;
    phase->progress = read_progress(tree_text(terminated, "message", ""));
    phase->is_gone = terminated || !has_node(pod) || was_turned_away(pod);
    phase->ended_ms = time_of(terminated, "finishedAt");
}

static void read_waiting(const json_t *pod, struct pod_phase *phase) {
    const json_t *scheduled = object_condition(json_object_get(pod, "status"), "PodScheduled");
    const json_t *trouble = pod_phase_init_trouble(pod);
    const json_t *waiting = pod_phase_agent_state(pod, "waiting");
    if (!trouble && is_usual(tree_text(waiting, "reason", ""))) {
        trouble = pod_phase_other_trouble(pod);
    }
    if (tree_get(trouble, "state.waiting")) {
        waiting = tree_get(trouble, "state.waiting");
        phase->image = tree_text(trouble, "image", "");
    }
    phase->stage = POD_PHASE_WAITING;
    if (strcmp(tree_text(scheduled, "status", ""), "False") == 0) {
        phase->is_unscheduled = true;
        waiting = scheduled;
    } else {
        phase->placed_ms = time_of(scheduled, "lastTransitionTime");
    }
    phase->reason = tree_text(waiting, "reason", "");
    phase->message = tree_text(waiting, "message", "");
}

static bool asks_for_gpus(const json_t *containers) {
    for (size_t i = 0; i < json_array_size(containers); i++) {
        const json_t *limits = tree_get(json_array_get(containers, i), "resources.limits");
        if (json_object_get(limits, "nvidia.com/gpu")) {
            return true;
        }
    }
    return false;
}

struct pod_phase pod_phase_read(const json_t *pod) {
    const json_t *containers = tree_get(pod, "spec.containers");
    const json_t *agent = object_agent(containers);
    struct pod_phase phase = {
        .pod = pod,
        .name = tree_text(pod, "metadata.name", ""),
        .attempt = number_of(owned_label(pod, LABEL_ATTEMPT), 1),
        .index = number_of(owned_label(pod, LABEL_INDEX), -1),
        .deaths_before = number_of(owned_annotation(pod, ANNOTATION_DEATHS), 0),
        .message = "",
        .reason = "",
        .image = tree_text(agent, "image", ""),
        .born_ms = time_of(pod, "metadata.creationTimestamp"),
        .gone_ms = time_of(pod, "metadata.deletionTimestamp"),
        .grace_ms = 1000 * tree_integer(pod, "metadata.deletionGracePeriodSeconds", -1),
        .wants_gpus = asks_for_gpus(containers),
    };
    const char *state = tree_text(pod, "status.phase", "Pending");
    const json_t *terminated = pod_phase_agent_state(pod, "terminated");
    bool ended = strcmp(state, "Succeeded") == 0 || strcmp(state, "Failed") == 0;
    if (ended && !terminated) {
        terminated = tree_get(pod_phase_init_trouble(pod), "state.terminated");
    }
    if (ended || terminated) {
        read_ended(pod, terminated, &phase);
        phase.is_held = !ended;
    } else if (tree_get(pod, "metadata.deletionTimestamp") || strcmp(state, "Unknown") == 0) {
        phase.stage = POD_PHASE_LEAVING;
    } else if (strcmp(state, "Running") == 0) {
        phase.stage = POD_PHASE_RUNNING;
        phase.running_ms = time_of(pod_phase_agent_state(pod, "running"), "startedAt");
    } else {
        read_waiting(pod, &phase);
    }
    return phase;
}

char *pod_phase_place(const json_t *pod) {
    const char *role = owned_label(pod, LABEL_ROLE), *index = owned_label(pod, LABEL_INDEX);
    return x_printf("%s/%s", role ? role : "", index ? index : "");
}

char *pod_phase_place_of(const char *role, int index) {
    return x_printf("%s/%d", role, index);
}

int pod_phase_count(int deaths, const struct pod_phase *phase) {
    bool has_ended = phase->stage == POD_PHASE_DEAD || phase->stage == POD_PHASE_SUCCEEDED;
    int before = MAX(deaths, phase->deaths_before);
    if (!has_ended) {
        return before;
    }
    bool is_death = phase->stage == POD_PHASE_DEAD && phase->is_fault;
    return (phase->progress > 0 ? 0 : before) + is_death;
}

int pod_phase_deaths(const struct pod_phase *phase) {
    return pod_phase_count(0, phase);
}

bool pod_phase_is_alive(const struct pod_phase *phase) {
    return phase->stage == POD_PHASE_WAITING || phase->stage == POD_PHASE_RUNNING;
}

int64_t pod_phase_back_off_ms(int deaths) {
    if (deaths <= 1) {
        return 0;
    }
    return MIN(1000LL << MIN(deaths - 2, 10), 60000);
}

int64_t pod_phase_replace_ms(const struct pod_phase *phase, int deaths) {
    bool is_removed = phase->stage == POD_PHASE_DEAD && !phase->is_fault;
    bool has_advanced = phase->stage == POD_PHASE_DEAD && phase->progress > 0;
    int64_t due_ms = phase->over_ms + pod_phase_back_off_ms(deaths), pause_ms = 0;
    if (has_advanced) {
        pause_ms = SPACING_MS;
    } else if (is_removed) {
        pause_ms = pod_phase_back_off_ms(phase->attempt);
    }
    int64_t spaced_ms = phase->born_ms + pause_ms;
    if (phase->over_ms > 0) { /* created before that, whatever its node's clock says */
        spaced_ms = MIN(spaced_ms, phase->over_ms + pause_ms);
    }
    return pause_ms > 0 ? MAX(due_ms, spaced_ms) : due_ms;
}
