// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/life.h"

#include "lib/time/clock.h"
#include "operator/kinds/job/owned.h"
#include "operator/object.h"

#include <stdlib.h>
#include <string.h>

static int number_of(const char *text, int fallback) {
    if (!text) {
        return fallback;
    }
    long number = strtol(text, NULL, 10);
    return number < 0 || number > 1000000 ? fallback : (int)number;
}

const json_t *life_agent_state(const json_t *pod, const char *state) {
    const json_t *agent = object_agent(tree_get(pod, "status.containerStatuses"));
    return json_object_get(json_object_get(agent, "state"), state);
}

/* An init container of a pod whose agent has not begun: one that failed, or cannot begin itself. */
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

const json_t *life_init_trouble(const json_t *pod) {
    bool began = life_agent_state(pod, "running") || life_agent_state(pod, "terminated");
    return began ? NULL : find_init_trouble(pod);
}

static int64_t time_of(const json_t *tree, const char *path) {
    const char *text = tree_text(tree, path, NULL);
    int64_t time_ms = text ? clock_parse(text) : -1;
    return MAX(time_ms, 0);
}

/* The node refused it before anything was started. */
static bool was_turned_away(const json_t *pod) {
    const char *reason = tree_text(pod, "status.reason", "");
    return text_starts(reason, "OutOf") || strcmp(reason, "NodeAffinity") == 0 ||
           strcmp(reason, "UnexpectedAdmissionError") == 0;
}

/* The kubelet took it away, for its machine's sake. From 1.26 on the condition says so; before, the
 * reason alone, and of an eviction the message: a pod that has filled its own volumes is evicted,
 * too. */
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

static void read_ended(const json_t *pod, const json_t *terminated, struct life *life) {
    bool disrupted = was_disrupted(pod);
    bool succeeded = strcmp(tree_text(pod, "status.phase", ""), "Succeeded") == 0;
    bool deleted = tree_get(pod, "metadata.deletionTimestamp") != NULL;
    int64_t code = tree_integer(terminated, "exitCode", 3);
    if (succeeded && !terminated) {
        life->stage = LIFE_SUCCEEDED;
    } else if (!terminated || disrupted || (deleted && code > 2)) {
        /* Evicted, preempted, deleted, its node is gone: nothing of this is the program's doing. */
        life->stage = LIFE_DEAD;
        life->exit_code = -1;
        life->reason = tree_text(pod, "status.reason", "");
        life->message = tree_text(pod, "status.message", "");
    } else {
        life->stage = code == 0 ? LIFE_SUCCEEDED : LIFE_DEAD;
        life->exit_code = (int)(code & 255);
        life->reason = tree_text(terminated, "reason", "");
        life->message = tree_text(terminated, "message", "");
        if (strcmp(tree_text(pod, "status.reason", ""), "Evicted") == 0) { /* for its own doing */
            life->reason = "Evicted";
            life->message = *life->message ? life->message : tree_text(pod, "status.message", "");
        }
        life->never_started = strcmp(life->reason, "StartError") == 0 ||
                              strcmp(life->reason, "ContainerCannotRun") == 0;
    }
    life->is_gone = terminated || !has_node(pod) || was_turned_away(pod);
    life->ended_ms = time_of(terminated, "finishedAt");
}

static void read_waiting(const json_t *pod, struct life *life) {
    const json_t *scheduled = object_condition(json_object_get(pod, "status"), "PodScheduled");
    const json_t *init = life_init_trouble(pod);
    const json_t *waiting = tree_get(init, "state.waiting");
    if (waiting) {
        life->image = tree_text(init, "image", "");
    } else {
        waiting = life_agent_state(pod, "waiting");
    }
    life->stage = LIFE_WAITING;
    if (strcmp(tree_text(scheduled, "status", ""), "False") == 0) {
        life->is_unscheduled = true;
        waiting = scheduled;
    } else {
        life->placed_ms = time_of(scheduled, "lastTransitionTime");
    }
    life->reason = tree_text(waiting, "reason", "");
    life->message = tree_text(waiting, "message", "");
}

struct life life_read(const json_t *pod) {
    const json_t *agent = object_agent(tree_get(pod, "spec.containers"));
    struct life life = {
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
        .wants_gpus =
            json_object_get(tree_get(agent, "resources.limits"), "nvidia.com/gpu") != NULL,
    };
    const char *phase = tree_text(pod, "status.phase", "Pending");
    const json_t *terminated = life_agent_state(pod, "terminated");
    bool ended = strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
    if (ended && !terminated) {
        terminated = tree_get(life_init_trouble(pod), "state.terminated");
    }
    if (ended || terminated) {
        read_ended(pod, terminated, &life);
    } else if (tree_get(pod, "metadata.deletionTimestamp") || strcmp(phase, "Unknown") == 0) {
        life.stage = LIFE_LEAVING;
    } else if (strcmp(phase, "Running") == 0) {
        life.stage = LIFE_RUNNING;
        life.running_ms = time_of(life_agent_state(pod, "running"), "startedAt");
    } else {
        read_waiting(pod, &life);
    }
    return life;
}

int life_deaths(const struct life *life) {
    return life->deaths_before + (life->stage == LIFE_DEAD && life->exit_code >= 0);
}

bool life_is_alive(const struct life *life) {
    return life->stage == LIFE_WAITING || life->stage == LIFE_RUNNING;
}

int64_t life_back_off_ms(int deaths) {
    if (deaths <= 1) {
        return 0;
    }
    return MIN(1000LL << MIN(deaths - 2, 10), 60000);
}

int64_t life_replace_ms(const struct life *life, int deaths) {
    int64_t due_ms = life->over_ms + life_back_off_ms(deaths);
    if (life->stage == LIFE_DEAD && life->exit_code < 0) {
        int64_t pause_ms = life_back_off_ms(life->attempt);
        int64_t spaced_ms = life->born_ms + pause_ms;
        if (life->over_ms > 0) { /* it was born before it ended, whatever its node's clock says */
            spaced_ms = MIN(spaced_ms, life->over_ms + pause_ms);
        }
        due_ms = MAX(due_ms, spaced_ms);
    }
    return due_ms;
}
