// SPDX-License-Identifier: Apache-2.0
/* Events for people, as requested by a kind (reconcile.h). */
#include "operator/control/reconcile.h"

#include "lib/digest.h"
#include "lib/time/clock.h"

#include <stdlib.h>
#include <string.h>

enum { NOTE_MAX = 1000 /* bytes of an Event's note, of 1024 */, INSTANCE_MAX = 128 };

/* Truncates to the API's limit of 1 KiB, at whole UTF-8 characters. */
static json_t *cut_note(const char *note) {
    size_t size = strnlen(note, NOTE_MAX);
    while (size > 0 && note[size] && ((unsigned char)note[size] & 0xc0) == 0x80) {
        size--;
    }
    return json_stringn(note, size);
}

/* The identity of this controller: on a cluster its pod's name. */
static const char *instance_name(void) {
    const char *name = getenv("HOSTNAME");
    return name && *name && strlen(name) <= INSTANCE_MAX ? name : "windlass";
}

void event_recorder_add(struct reconcile *request, const struct reconcile_event *event) {
    const json_t *object = request->object;
    AUTO(text_freep) char *suffix = digest_random(8);
    AUTO(text_freep) char *name = x_printf("%.200s.%s", request->name, suffix);
    char second[21];
    clock_format(request->wall_ms, second);
    AUTO(text_freep)
    char *time = x_printf("%.19s.%03d000Z", second, (int)(request->wall_ms % 1000));
    json_t *made = json_pack(
        "{s:s, s:s, s:{s:s, s:s}, s:s, s:s, s:s, s:s, s:o, s:s, s:s, s:{s:s, s:s, s:s, s:s, s:s}}",
        "apiVersion", "events.k8s.io/v1", "kind", "Event", "metadata", "name", name, "namespace",
        request->namespace, "eventTime", time, "type", event->type, "reason", event->reason,
        "action", "Reconcile", "note", cut_note(event->note), "reportingController",
        "windlass.dev/controller", "reportingInstance", instance_name(), "regarding", "apiVersion",
        tree_text(object, "apiVersion", ""), "kind", request->kind, "namespace", request->namespace,
        "name", request->name, "uid", tree_text(object, "metadata.uid", ""));
    json_array_append_new(
        request->events,
        json_pack("{s:s, s:o}", "of", event->after ? event->after : "", "event", made));
}
