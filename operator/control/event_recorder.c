// SPDX-License-Identifier: Apache-2.0
/* Events for people, as requested by a kind (reconcile.h). */
#include "operator/control/event_recorder.h"

#include "lib/digest.h"
#include "lib/time/clock.h"
#include "operator/control/reconcile.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    NOTE_MAX = 1000 /* bytes of an Event's note, of 1024 */,
    INSTANCE_MAX = 128,
    HASH_SIZE = 17, /* 16 hex digits */
};

/* What was written of one resource and reason. */
struct record {
    char key[HASH_SIZE], note[HASH_SIZE];
    char suffix[HASH_SIZE]; /* of the Event's name */
    int64_t period;         /* of the Event, since 1970 */
    int64_t sent_ms;        /* monotonic */
    int64_t count;          /* in the Event's series */
    int64_t repeats;        /* not written yet */
    bool differs;           /* one of them has another note */
    json_t *last;           /* the last of them; owned; NULL: none */
};

struct post {
    struct post *next;
    struct event_recorder *recorder;
    json_t *event;
    bool is_core;
};

struct event_recorder {
    struct cluster *cluster;
    struct record *records; /* the oldest first */
    size_t count;
    bool is_known, is_core; /* which group the server has */
    struct post *posts;     /* of which the answer decides that */
};

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
    char second[21];
    clock_format(request->wall_ms, second);
    AUTO(text_freep)
    char *time = x_printf("%.19s.%03d000Z", second, (int)(request->wall_ms % 1000));
    json_t *made = json_pack(
        "{s:s, s:s, s:{s:s}, s:s, s:s, s:s, s:s, s:o, s:s, s:s, s:{s:s, s:s, s:s, s:s, s:s}}",
        "apiVersion", "events.k8s.io/v1", "kind", "Event", "metadata", "namespace",
        request->namespace, "eventTime", time, "type", event->type, "reason", event->reason,
        "action", "Reconcile", "note", cut_note(event->note), "reportingController",
        "windlass.dev/controller", "reportingInstance", instance_name(), "regarding", "apiVersion",
        tree_text(object, "apiVersion", ""), "kind", request->kind, "namespace", request->namespace,
        "name", request->name, "uid", tree_text(object, "metadata.uid", ""));
    json_array_append_new(
        request->events,
        json_pack("{s:s, s:o}", "of", event->after ? event->after : "", "event", made));
}

struct event_recorder *event_recorder_new(struct cluster *cluster) {
    struct event_recorder *recorder = x_calloc(1, sizeof *recorder);
    recorder->cluster = cluster;
    recorder->records = x_calloc(EVENT_RECORDER_MAX, sizeof *recorder->records);
    return recorder;
}

void event_recorder_free(struct event_recorder *recorder) {
    if (!recorder) {
        return;
    }
    for (size_t i = 0; i < recorder->count; i++) {
        json_decref(recorder->records[i].last);
    }
    for (struct post *post = recorder->posts, *next; post; post = next) {
        next = post->next;
        json_decref(post->event);
        free(post);
    }
    free(recorder->records);
    free(recorder);
}

/* ---- requests ---- */

/* The same Event in the core group, whose fields have other names. */
static json_t *to_core(const json_t *event) {
    char second[21];
    snprintf(second, sizeof second, "%.19sZ", tree_text(event, "eventTime", ""));
    return json_pack(
        "{s:s, s:s, s:O, s:O, s:O, s:O, s:O, s:{s:O, s:O}, s:s, s:s, s:i}", "apiVersion", "v1",
        "kind", "Event", "metadata", json_object_get(event, "metadata"), "involvedObject",
        json_object_get(event, "regarding"), "type", json_object_get(event, "type"), "reason",
        json_object_get(event, "reason"), "message", json_object_get(event, "note"), "source",
        "component", json_object_get(event, "reportingController"), "host",
        json_object_get(event, "reportingInstance"), "firstTimestamp", second, "lastTimestamp",
        second, "count", 1);
}

static void post(struct event_recorder *recorder, const json_t *event, bool is_core);

static void on_answer(void *context, const json_t *stored UNUSED, const struct error *err) {
    struct post *done = context;
    struct event_recorder *recorder = done->recorder;
    struct post **link = &recorder->posts;
    while (*link != done) {
        link = &(*link)->next;
    }
    *link = done->next;
    bool is_absent = err && err->kind == ERROR_NOT_FOUND; /* the group, or the namespace */
    if (!err) {
        recorder->is_known = true;
        recorder->is_core = done->is_core;
    } else if (is_absent && !done->is_core && !recorder->is_known) {
        post(recorder, done->event, true);
    }
    json_decref(done->event);
    free(done);
}

static void post(struct event_recorder *recorder, const json_t *event, bool is_core) {
    const struct cluster_ops *ops = recorder->cluster->ops;
    json_t *sent = is_core ? to_core(event) : json_incref((json_t *)event);
    if (recorder->is_known) {
        ops->write(recorder->cluster, CLUSTER_CREATE, sent, NULL, NULL);
    } else {
        struct post *waiting = x_calloc(1, sizeof *waiting);
        *waiting = (struct post){recorder->posts, recorder, json_incref((json_t *)event), is_core};
        recorder->posts = waiting;
        ops->write(recorder->cluster, CLUSTER_CREATE, sent, on_answer, waiting);
    }
    json_decref(sent);
}

/* ---- records ---- */

static void hash(const char *text, char hex[static HASH_SIZE]) {
    char all[65];
    digest_sha256(text, strlen(text), all);
    memcpy(hex, all, HASH_SIZE - 1);
    hex[HASH_SIZE - 1] = 0;
}

/* Notes that differ only in numbers, as in the names of pods, are alike. */
static void hash_note(const json_t *event, char hex[static HASH_SIZE]) {
    AUTO(text_freep) char *note = x_strdup(tree_text(event, "note", ""));
    char *to = note;
    for (const char *from = note; *from; from++) {
        bool is_digit = isdigit((unsigned char)*from);
        if (!is_digit || to == note || to[-1] != '#') {
            *to++ = is_digit ? '#' : *from;
        }
    }
    *to = 0;
    hash(note, hex);
}

static void hash_key(const json_t *event, char hex[static HASH_SIZE]) {
    AUTO(text_freep)
    char *key =
        x_printf("%s %s", tree_text(event, "regarding.uid", ""), tree_text(event, "reason", ""));
    hash(key, hex);
}

static void drop(struct event_recorder *recorder, size_t at) {
    json_decref(recorder->records[at].last);
    recorder->count--;
    memmove(recorder->records + at, recorder->records + at + 1,
            (recorder->count - at) * sizeof *recorder->records);
}

static int64_t time_of(const json_t *event) {
    char second[21];
    snprintf(second, sizeof second, "%.19sZ", tree_text(event, "eventTime", ""));
    return MAX(clock_parse(second), 0);
}

static char *name_of(const json_t *event, const struct record *record) {
    return x_printf("%.200s.%s", tree_text(event, "regarding.name", ""), record->suffix);
}

/* Creates the Event and remembers it as the newest. period: the least one. */
static struct record *begin(struct event_recorder *recorder, const json_t *event, int64_t period,
                            int64_t now_ms) {
    struct record made = {.sent_ms = now_ms, .count = 1};
    int64_t time_ms = time_of(event);
    hash_key(event, made.key);
    hash_note(event, made.note);
    made.period = MAX(time_ms / EVENT_RECORDER_PERIOD_MS, period);
    AUTO(text_freep) char *identity = x_printf("%s %lld", made.key, (long long)made.period);
    hash(identity, made.suffix);
    AUTO(text_freep) char *name = name_of(event, &made);
    AUTO(tree_freep) json_t *named = json_copy((json_t *)event);
    json_t *metadata = json_copy(json_object_get(event, "metadata"));
    json_object_set_new(metadata, "name", json_string(name));
    json_object_set_new(named, "metadata", metadata);
    post(recorder, named, recorder->is_core);
    if (recorder->count == EVENT_RECORDER_MAX) {
        drop(recorder, 0);
    }
    recorder->records[recorder->count] = made;
    return &recorder->records[recorder->count++];
}

void event_recorder_send(struct event_recorder *recorder, const json_t *event, int64_t now_ms) {
    char key[HASH_SIZE], note[HASH_SIZE];
    hash_key(event, key);
    hash_note(event, note);
    event_recorder_step(recorder, now_ms);
    for (size_t i = 0; i < recorder->count; i++) {
        struct record *record = &recorder->records[i];
        if (strcmp(record->key, key) == 0) {
            record->repeats++;
            record->differs |= strcmp(record->note, note) != 0;
            json_decref(record->last);
            record->last = json_incref((json_t *)event);
            return;
        }
    }
    begin(recorder, event, 0, now_ms);
}

/* ---- the end of ten minutes ---- */

static void continue_series(struct event_recorder *recorder, const struct record *record) {
    const char *time = tree_text(record->last, "eventTime", "");
    const char *namespace = tree_text(record->last, "metadata.namespace", "default");
    AUTO(text_freep) char *name = name_of(record->last, record);
    char second[21];
    snprintf(second, sizeof second, "%.19sZ", time);
    AUTO(tree_freep)
    json_t *change =
        recorder->is_core
            ? json_pack("{s:s, s:s, s:{s:s, s:s}, s:I, s:s}", "apiVersion", "v1", "kind", "Event",
                        "metadata", "name", name, "namespace", namespace, "count",
                        (json_int_t)record->count, "lastTimestamp", second)
            : json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:I, s:s}}", "apiVersion", "events.k8s.io/v1",
                        "kind", "Event", "metadata", "name", name, "namespace", namespace, "series",
                        "count", (json_int_t)record->count, "lastObservedTime", time);
    recorder->cluster->ops->write(recorder->cluster, CLUSTER_APPLY, change, NULL, NULL);
}

static void combine(struct event_recorder *recorder, const struct record *record, int64_t now_ms) {
    AUTO(tree_freep) json_t *event = json_copy(record->last);
    AUTO(text_freep)
    char *note = x_printf("(%lld like it in ten minutes) %s", (long long)record->repeats,
                          tree_text(event, "note", ""));
    json_object_set_new(event, "note", cut_note(note));
    hash_note(record->last, begin(recorder, event, record->period + 1, now_ms)->note);
}

/* The oldest record has ended: it is written when there is something to write, and begins anew. */
static void end_period(struct event_recorder *recorder, int64_t now_ms) {
    struct record record = recorder->records[0];
    recorder->records[0].last = NULL;
    drop(recorder, 0);
    if (!record.last) {
        return;
    }
    if (record.differs) {
        combine(recorder, &record, now_ms);
        json_decref(record.last);
        return;
    }
    record.count += record.repeats;
    continue_series(recorder, &record);
    json_decref(record.last);
    record.last = NULL;
    record.repeats = 0;
    record.sent_ms = now_ms;
    recorder->records[recorder->count++] = record;
}

void event_recorder_step(struct event_recorder *recorder, int64_t now_ms) {
    while (event_recorder_next_ms(recorder) <= now_ms) {
        end_period(recorder, now_ms);
    }
}

int64_t event_recorder_next_ms(const struct event_recorder *recorder) {
    return recorder->count > 0 ? recorder->records[0].sent_ms + EVENT_RECORDER_PERIOD_MS
                               : INT64_MAX;
}
