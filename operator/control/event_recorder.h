/* event_recorder.h: Kubernetes Events about resources, at most one write for each resource and
 * reason in ten minutes. The first of a reason is created at once. What follows within ten minutes
 * is counted, and at their end written once: when all notes are alike (but for numbers), as the
 * series of the first Event; else as another Event with the last note and the count, because the
 * note of an Event cannot be changed. An Event's name follows from its resource, its reason and the
 * ten minutes, so that a repeated request, or another controller, cannot create it twice. Nothing
 * is sent again when it fails.
 *
 * Events are those of events.k8s.io/v1; on a server that lacks them, of the core group. Used by one
 * thread; answers come from the cluster's wait. */
#pragma once

#include "operator/cluster.h"

enum {
    EVENT_RECORDER_PERIOD_MS = 10 * 60 * 1000,
    /* Reasons of resources that are remembered. Of older ones what was counted is not written, and
     * the next is created at once. */
    EVENT_RECORDER_MAX = 4096,
};

struct event_recorder;

/* The cluster is borrowed, and must not call back after event_recorder_free. */
struct event_recorder *event_recorder_new(struct cluster *cluster);
void event_recorder_free(struct event_recorder *recorder); /* NULL is allowed */

/* event: as reconcile.h's event_recorder_add makes it, without a name. now_ms, here and below:
 * monotonic. */
void event_recorder_send(struct event_recorder *recorder, const json_t *event, int64_t now_ms);
/* Writes what was counted and is due. */
void event_recorder_step(struct event_recorder *recorder, int64_t now_ms);
/* The time of the next step; INT64_MAX: none. */
int64_t event_recorder_next_ms(const struct event_recorder *recorder);
