/* mounts.h: the kubelet's message why a pod's volumes are not mounted, kept between passes. */
#pragma once

#include "operator/control/controller.h"

struct job_mounts {
    int asked;        /* times */
    int64_t asked_ms; /* the last time, monotonic */
    json_t *messages; /* {POD NAME: the kubelet's message}; owned; NULL: none */
};

/* Only the kubelet knows the reason, and it reports it in Events about the pod. They are listed
 * when a pod has been starting for a long time: for one pod of a job at a time, and rarely:
 * after the first time it waits for its turn (retry_pace.h). */
void job_mounts_query(struct reconcile *request, struct job_mounts *mounts, const json_t *pods);
/* Stores the answer. */
void job_mounts_note(struct job_mounts *mounts, const json_t *list);
