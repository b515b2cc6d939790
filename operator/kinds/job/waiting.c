// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/waiting.h"

#include "lib/text/text_list.h"
#include "operator/cluster.h"
#include "operator/kinds/job/owned.h"

#include <stdlib.h>
#include <string.h>

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

static void report_unscheduled(const struct waiting *waiting, struct conditions *conditions) {
    const struct pod_phase *phase = waiting->phase;
    bool gpus = phase->wants_gpus;
    if (strcasestr(phase->message, "persistentvolumeclaim")) {
        conditions_set(conditions, CONDITIONS_UNDER_WAY, "VolumeFailed",
                       "pod %.80s waits for a volume: %.400s", phase->name, phase->message);
        return;
    }
    const char *words = *phase->message ? phase->message : phase->reason;
    if (phase->index < 0) {
        conditions_set(conditions, CONDITIONS_UNDER_WAY, gpus ? "WaitingForGPU" : "WaitingForNodes",
                       "Waiting for a node for the coordinator: %.400s", words);
        return;
    }
    conditions_set(conditions, CONDITIONS_UNDER_WAY, gpus ? "WaitingForGPU" : "WaitingForNodes",
                   "Waiting for %snodes: %d of %d workers run; %.400s", gpus ? "GPU " : "",
                   waiting->running, waiting->wanted, words);
}

/* The registry's message comes with ErrImagePull; the ImagePullBackOff that follows has none. */
static void report_image(const struct waiting *waiting, struct conditions *conditions) {
    const struct pod_phase *phase = waiting->phase;
    const char *before = tree_text(waiting->before, "message", "");
    bool told = strcmp(tree_text(waiting->before, "reason", ""), "ImagePullFailed") == 0;
    if (told && strcmp(phase->reason, "ImagePullBackOff") == 0 && strstr(before, phase->image)) {
        conditions_set(conditions, CONDITIONS_UNDER_WAY, "ImagePullFailed", "%.600s", before);
        return;
    }
    conditions_set(conditions, CONDITIONS_UNDER_WAY, "ImagePullFailed",
                   "image %.200s cannot be pulled: %.300s%s", phase->image,
                   *phase->message ? phase->message : phase->reason,
                   " (is its name right, and does the namespace have the registry's pull secret?)");
}

bool waiting_is_for_config(const struct pod_phase *phase) {
    return text_list_has(config_reasons, phase->reason);
}

/* The kubelet's words about the Secret that the controller made for the job. Somebody has deleted
 * it, and the controller, which may not read Secrets, learns of that only here. */
static bool lacks_own_secret(const struct pod_phase *phase, const char *words) {
    const char *secret = owned_annotation(phase->pod, ANNOTATION_SECRET);
    AUTO(text_freep) char *missing = secret ? x_printf("secret \"%s\" not found", secret) : NULL;
    return missing && strstr(words, missing);
}

static void report_own_secret(const struct waiting *waiting, const char *reason,
                              struct conditions *conditions) {
    const struct pod_phase *phase = waiting->phase;
    const char *service = tree_text(waiting->service, "metadata.name", NULL);
    const char *namespace = tree_text(waiting->service, "metadata.namespace", "default");
    AUTO(text_freep)
    char *command =
        service ? x_printf(" (kubectl -n %.63s delete service %.63s)", namespace, service) : NULL;
    conditions_set(conditions, CONDITIONS_UNDER_WAY, reason,
                   "pod %.80s cannot be started: the job's own Secret %.80s was deleted; delete "
                   "its Service, too%s, and the job makes both anew, with new pods",
                   phase->name, owned_annotation(phase->pod, ANNOTATION_SECRET),
                   command ? command : "");
}

void waiting_report(const struct waiting *waiting, struct conditions *conditions) {
    const struct pod_phase *phase = waiting->phase;
    if (phase->is_unscheduled) {
        report_unscheduled(waiting, conditions);
    } else if (text_list_has(image_reasons, phase->reason)) {
        report_image(waiting, conditions);
    } else if (waiting_is_for_config(phase) && !waiting->is_placed_lately &&
               lacks_own_secret(phase, phase->message)) {
        report_own_secret(waiting, "ConfigFailed", conditions);
    } else if (waiting_is_for_config(phase) && !waiting->is_placed_lately) {
        conditions_set(conditions, CONDITIONS_UNDER_WAY, "ConfigFailed",
                       "pod %.80s cannot be started: %.400s", phase->name,
                       *phase->message ? phase->message : phase->reason);
    } else if (waiting->mount_problem && lacks_own_secret(phase, waiting->mount_problem)) {
        report_own_secret(waiting, "VolumeFailed", conditions);
    } else if (waiting->mount_problem) {
        conditions_set(conditions, CONDITIONS_UNDER_WAY, "VolumeFailed",
                       "pod %.80s: a volume cannot be mounted: %.400s", phase->name,
                       waiting->mount_problem);
    } else {
        conditions_set(conditions, CONDITIONS_UNDER_WAY, "Pending", "pod %.80s waits%s%s%s%.400s",
                       phase->name, *phase->reason ? ": " : " to start", phase->reason,
                       *phase->message ? ": " : "", phase->message);
    }
}

bool waiting_is_for_mounts(const struct pod_phase *phase, int64_t now_ms) {
    return phase->stage == POD_PHASE_WAITING && !phase->is_unscheduled && phase->placed_ms > 0 &&
           now_ms >= phase->placed_ms + WAITING_MOUNT_MS &&
           text_list_has(setup_reasons, phase->reason);
}
