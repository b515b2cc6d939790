// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/waiting.h"

#include <string.h>

static bool is_one_of(const char *reason, const char *const *reasons) {
    for (; *reasons; reasons++) {
        if (strcmp(reason, *reasons) == 0) {
            return true;
        }
    }
    return false;
}

static const char *const image_reasons[] = {"ErrImagePull",
                                            "ImagePullBackOff",
                                            "InvalidImageName",
                                            "ErrImageNeverPull",
                                            "RegistryUnavailable",
                                            "ImageInspectError",
                                            NULL};
static const char *const config_reasons[] = {"CreateContainerConfigError", "CreateContainerError",
                                             "RunContainerError", NULL};
static const char *const setup_reasons[] = {"ContainerCreating", "PodInitializing", "", NULL};

static void tell_unscheduled(const struct waiting *waiting, struct outcome *outcome) {
    const struct life *life = waiting->life;
    bool gpus = life->wants_gpus;
    if (strcasestr(life->message, "persistentvolumeclaim")) {
        outcome_set(outcome, OUTCOME_UNDER_WAY, "VolumeFailed",
                    "pod %.80s waits for a volume: %.400s", life->name, life->message);
        return;
    }
    const char *words = *life->message ? life->message : life->reason;
    if (life->index < 0) {
        outcome_set(outcome, OUTCOME_UNDER_WAY, gpus ? "WaitingForGPU" : "WaitingForNodes",
                    "Waiting for a node for the coordinator: %.400s", words);
        return;
    }
    outcome_set(outcome, OUTCOME_UNDER_WAY, gpus ? "WaitingForGPU" : "WaitingForNodes",
                "Waiting for %snodes: %d of %d workers run; %.400s", gpus ? "GPU " : "",
                waiting->running, waiting->wanted, words);
}

/* The registry's words come with ErrImagePull; the ImagePullBackOff that follows has none. */
static void tell_image(const struct waiting *waiting, struct outcome *outcome) {
    const struct life *life = waiting->life;
    const char *before = tree_text(waiting->before, "message", "");
    bool told = strcmp(tree_text(waiting->before, "reason", ""), "ImagePullFailed") == 0;
    if (told && strcmp(life->reason, "ImagePullBackOff") == 0 && strstr(before, life->image)) {
        outcome_set(outcome, OUTCOME_UNDER_WAY, "ImagePullFailed", "%.600s", before);
        return;
    }
    outcome_set(outcome, OUTCOME_UNDER_WAY, "ImagePullFailed",
                "image %.200s cannot be pulled: %.300s%s", life->image,
                *life->message ? life->message : life->reason,
                " (is its name right, and does the namespace have the registry's pull secret?)");
}

bool waiting_is_for_config(const struct life *life) {
    return is_one_of(life->reason, config_reasons);
}

void waiting_tell(const struct waiting *waiting, struct outcome *outcome) {
    const struct life *life = waiting->life;
    if (life->is_unscheduled) {
        tell_unscheduled(waiting, outcome);
    } else if (is_one_of(life->reason, image_reasons)) {
        tell_image(waiting, outcome);
    } else if (waiting_is_for_config(life) && !waiting->is_placed_lately) {
        outcome_set(outcome, OUTCOME_UNDER_WAY, "ConfigFailed",
                    "pod %.80s cannot be started: %.400s", life->name,
                    *life->message ? life->message : life->reason);
    } else if (waiting->mount_problem) {
        outcome_set(outcome, OUTCOME_UNDER_WAY, "VolumeFailed",
                    "pod %.80s: a volume cannot be mounted: %.400s", life->name,
                    waiting->mount_problem);
    } else {
        outcome_set(outcome, OUTCOME_UNDER_WAY, "Pending", "pod %.80s waits%s%s%s%.400s",
                    life->name, *life->reason ? ": " : " to start", life->reason,
                    *life->message ? ": " : "", life->message);
    }
}

bool waiting_is_for_mounts(const struct life *life, int64_t now_ms) {
    return life->stage == LIFE_WAITING && !life->is_unscheduled && life->placed_ms > 0 &&
           now_ms >= life->placed_ms + WAITING_MOUNT_MS && is_one_of(life->reason, setup_reasons);
}
