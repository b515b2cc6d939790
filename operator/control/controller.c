// SPDX-License-Identifier: Apache-2.0
#include "operator/control/controller.h"

#include "lib/clock.h"
#include "operator/control/questions.h"
#include "operator/control/queue.h"
#include "operator/tally.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum {
    KINDS_MAX = 8,
    LOOKS_PER_STEP = 64,
    REST_MS = 50,
    WRITES_MAX = 128, /* under way; beyond it no look is begun, so that memory stays bounded */
    COUNT_EVERY_MS = 100,
    RUSH_JOB_MS = 5, /* about what a job costs the API server: so long one that waits delays all */
    RUSH_MIN_MS = 1000,
    RUSH_MAX_MS = 60000,
};

/* The writes of one look, until the last one has ended. */
struct flight {
    struct controller *controller;
    char *key;
    size_t kind; /* index */
    struct write {
        struct flight *flight;
        enum cluster_verb verb;
        json_t *object;
    } * writes;
    size_t write_count, pending;
    json_t *events;   /* [{"of", "event"}]: to be sent when that went well */
    json_t *failed;   /* names of the objects that could not be written -> true; "": the status */
    struct error err; /* of the write that failed; first of all one that is worth a retry */
    int64_t again_ms;
    bool is_due; /* something happened meanwhile */
    bool makes;  /* what is made may be what the next step waits for */
};

struct controller {
    struct cluster *cluster;
    const struct kind *kinds[KINDS_MAX];
    void *states[KINDS_MAX];
    size_t kind_count;
    struct cache *cache;
    struct queue *queue; /* keys "Kind namespace/name" */
    json_t *watched;     /* kind -> true */
    void *flights;       /* tsearch tree by key */
    size_t pending;      /* writes under way */
    json_t *written; /* "Kind namespace/name" of an object that is written -> null, or the uid of
                        one of that name that was deleted meanwhile */
    void *listings;  /* tsearch tree by key */
    struct questions *questions;
    int epoll_fd; /* the cluster's descriptor and the questions' */
    uint64_t random;
    bool was_busy; /* memory of many looks is still ours */
    size_t due;    /* keys that wait for a look, as of counted_ms */
    int64_t counted_ms;
    controller_report *report;
    void *report_context;
};

/* Whether a look that failed so is worth another without a change of the resource. */
static const bool retried[] = {
    [ERROR_NONE] = false,     [ERROR_INVALID] = false,     [ERROR_NOT_FOUND] = true,
    [ERROR_CONFLICT] = true,  [ERROR_GONE] = true,         [ERROR_DENIED] = true,
    [ERROR_BUSY] = true,      [ERROR_UNAVAILABLE] = true,  [ERROR_TIMEOUT] = true,
    [ERROR_EXHAUSTED] = true, [ERROR_UNSUPPORTED] = false, [ERROR_CANCELLED] = false,
    [ERROR_FAILED] = false,   [ERROR_BUG] = false,
};
static_assert(ARRAY_LEN(retried) == ERROR_KIND_COUNT, "one decision per kind of error");

/* "Kind namespace/name"; the caller frees. */
static char *key_of(const char *kind, const char *namespace, const char *name) {
    return x_printf("%s %s/%s", kind, namespace, name);
}

static const struct kind *find_kind(const struct controller *controller, const char *name,
                                    size_t *ret_index) {
    for (size_t i = 0; i < controller->kind_count; i++) {
        if (strcmp(controller->kinds[i]->name, name) == 0) {
            *ret_index = i;
            return controller->kinds[i];
        }
    }
    return NULL;
}

static int watch_one(struct controller *controller, const char *api_version, const char *kind,
                     const char *label, cache_keep *keep, struct error *err) {
    if (json_object_get(controller->watched, kind)) { /* two kinds may own the same kind */
        return 0;
    }
    json_object_set_new(controller->watched, kind, json_true());
    cache_watch(controller->cache, api_version, kind, keep);
    struct cluster *cluster = controller->cluster;
    return cluster->ops->watch(cluster, api_version, kind, label, err);
}

static int watch_all(struct controller *controller, struct error *err) {
    for (size_t i = 0; i < controller->kind_count; i++) {
        const struct kind *kind = controller->kinds[i];
        if (watch_one(controller, kind->api_version, kind->name, /* label= */ NULL, kind->keep,
                      err) < 0) {
            return -1;
        }
        for (const char *const *owned = kind->owned; *owned; owned++) {
            const char *space = strchr(*owned, ' '); /* "v1 Pod" */
            assert(space);
            AUTO(text_freep) char *api_version = x_strndup(*owned, (size_t)(space - *owned));
            if (watch_one(controller, api_version, space + 1, LABEL_JOB, kind->keep, err) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

/* A list that is under way for a resource. */
struct listing {
    char *key;
    struct controller *controller;
    size_t kind;
};

static void listing_free(void *opaque) {
    struct listing *listing = opaque;
    free(listing->key);
    free(listing);
}

static int by_listing(const void *a, const void *b) {
    return strcmp(((const struct listing *)a)->key, ((const struct listing *)b)->key);
}

static int by_key(const void *a, const void *b) {
    return strcmp(((const struct flight *)a)->key, ((const struct flight *)b)->key);
}

static struct flight *find_flight(const struct controller *controller, const char *key) {
    const struct flight like = {.key = (char *)key};
    void *found = tfind(&like, &controller->flights, by_key);
    return found ? *(struct flight **)found : NULL;
}

static void flight_free(void *opaque) {
    struct flight *flight = opaque;
    for (size_t i = 0; i < flight->write_count; i++) {
        json_decref(flight->writes[i].object);
    }
    json_decref(flight->events);
    json_decref(flight->failed);
    free(flight->writes);
    free(flight->key);
    free(flight);
}

static void queue_answered(void *context, const char *key) {
    struct controller *controller = context;
    queue_add(controller->queue, key, clock_monotonic_ms());
}

static int open_fds(struct controller *controller, struct error *err) {
    struct epoll_event readable = {.events = EPOLLIN};
    int fds[] = {controller->cluster->ops->wait_fd(controller->cluster),
                 questions_fd(controller->questions)};
    controller->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        if (controller->epoll_fd < 0 ||
            epoll_ctl(controller->epoll_fd, EPOLL_CTL_ADD, fds[i], &readable) < 0) {
            return error_from_errno(err, errno, "cannot watch the cluster");
        }
    }
    return 0;
}

int controller_new(struct cluster *cluster, const struct kind *const *kinds,
                   controller_report *report, void *report_context,
                   struct controller **ret_controller, struct error *err) {
    struct controller *controller = x_calloc(1, sizeof *controller);
    controller->cluster = cluster;
    controller->cache = cache_new();
    controller->queue = queue_new();
    controller->watched = json_object();
    controller->written = json_object();
    controller->random = (uint64_t)clock_monotonic_ns();
    controller->report = report;
    controller->report_context = report_context;
    for (; kinds[controller->kind_count]; controller->kind_count++) {
        assert(controller->kind_count < KINDS_MAX);
        const struct kind *kind = kinds[controller->kind_count];
        controller->kinds[controller->kind_count] = kind;
        if (kind->state_new) {
            controller->states[controller->kind_count] = kind->state_new();
        }
    }
    controller->epoll_fd = -1;
    if (questions_open(queue_answered, controller, &controller->questions, err) < 0 ||
        open_fds(controller, err) < 0 || watch_all(controller, err) < 0) {
        controller_free(controller);
        return -1;
    }
    *ret_controller = controller;
    return 0;
}

void controller_free(struct controller *controller) {
    if (!controller) {
        return;
    }
    for (size_t i = 0; i < controller->kind_count; i++) {
        if (controller->kinds[i]->state_free) {
            controller->kinds[i]->state_free(controller->states[i]);
        }
    }
    questions_free(controller->questions);
    fd_closep(&controller->epoll_fd);
    cache_free(controller->cache);
    queue_free(controller->queue);
    tdestroy(controller->flights, flight_free);
    tdestroy(controller->listings, listing_free);
    json_decref(controller->watched);
    json_decref(controller->written);
    free(controller);
}

const struct cache *controller_cache(const struct controller *controller) {
    return controller->cache;
}

size_t controller_pending(const struct controller *controller) {
    return controller ? controller->pending : 0;
}

/* Queues the resource itself, or the one that owns the object. */
static void queue_owner(void *context, enum cluster_event event, const json_t *object) {
    struct controller *controller = context;
    (void)event;
    int64_t now_ms = clock_monotonic_ms();
    const char *namespace = tree_text(object, "metadata.namespace", "default");
    size_t index;
    if (find_kind(controller, tree_text(object, "kind", ""), &index)) {
        AUTO(text_freep)
        char *key = key_of(controller->kinds[index]->name, namespace,
                           tree_text(object, "metadata.name", ""));
        queue_add(controller->queue, key, now_ms);
        return;
    }
    size_t i;
    json_t *owner;
    json_array_foreach(tree_get(object, "metadata.ownerReferences"), i, owner) {
        if (find_kind(controller, tree_text(owner, "kind", ""), &index)) {
            AUTO(text_freep)
            char *key =
                key_of(controller->kinds[index]->name, namespace, tree_text(owner, "name", ""));
            queue_add(controller->queue, key, now_ms);
        }
    }
}

static char *identity(const json_t *object) {
    return key_of(tree_text(object, "kind", ""), tree_text(object, "metadata.namespace", "default"),
                  tree_text(object, "metadata.name", ""));
}

/* Before the cache takes it in. */
static void count_change(const struct controller *controller, const json_t *object) {
    AUTO(tree_freep)
    json_t *before = cache_find(controller->cache, tree_text(object, "kind", ""),
                                tree_text(object, "metadata.namespace", "default"),
                                tree_text(object, "metadata.name", ""));
    tally_change(before, object, clock_wall_ms());
}

static void hear(void *context, enum cluster_event event, const json_t *object) {
    struct controller *controller = context;
    if (event == CLUSTER_APPLIED) {
        count_change(controller, object);
    }
    cache_update(controller->cache, event, object, queue_owner, controller);
    if (event != CLUSTER_APPLIED && event != CLUSTER_DELETED) {
        return;
    }
    queue_owner(controller, event, object);
    AUTO(text_freep) char *id = identity(object);
    if (event == CLUSTER_DELETED && json_object_get(controller->written, id)) {
        json_object_set_new(controller->written, id,
                            json_string(tree_text(object, "metadata.uid", "")));
    }
}

static int draw_jitter(struct controller *controller) {
    controller->random = controller->random * 6364136223846793005ULL + 1442695040888963407ULL;
    return (int)((controller->random >> 33) % (2 * QUEUE_JITTER_EVEN + 1));
}

/* The one place that turns a kind of error into what happens next. After a write that failed there
 * is always another look: the kind knows by then, and says so in the status. */
static void settle(struct controller *controller, const char *key, const struct error *err,
                   bool of_write) {
    int failures = queue_failures(controller->queue, key) + 1;
    int64_t retry_ms = -1;
    if (of_write || retried[err->kind]) {
        retry_ms =
            queue_add_failed(controller->queue, key, clock_monotonic_ms(), draw_jitter(controller));
    }
    controller->report(controller->report_context, key, err, retry_ms, failures);
}

/* A look and its writes went well. */
static void succeed(struct controller *controller, const char *key, int64_t again_ms) {
    queue_forget(controller->queue, key);
    if (again_ms > 0) {
        queue_add(controller->queue, key, clock_monotonic_ms() + again_ms);
    }
}

static void send_events(struct controller *controller, const json_t *events, const json_t *failed) {
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *one = json_array_get(events, i);
        if (!json_object_get(failed, tree_text(one, "of", ""))) {
            controller->cluster->ops->write(controller->cluster, CLUSTER_CREATE,
                                            json_object_get(one, "event"), NULL, NULL);
        }
    }
}

static void land(struct controller *controller, struct flight *flight) {
    tdelete(flight, &controller->flights, by_key);
    if (flight->err.kind) {
        settle(controller, flight->key, &flight->err, true);
    } else {
        succeed(controller, flight->key, flight->again_ms);
    }
    send_events(controller, flight->events, flight->failed);
    if (flight->is_due || (!flight->err.kind && flight->makes)) {
        queue_add(controller->queue, flight->key, clock_monotonic_ms());
    }
    flight_free(flight);
}

/* The cache gets what was stored ahead of its event, unless it was deleted in between. */
static void take_in(struct controller *controller, const json_t *object, const json_t *stored) {
    AUTO(text_freep) char *id = identity(object);
    const char *gone = json_string_value(json_object_get(controller->written, id));
    if (stored && json_object_get(controller->watched, tree_text(stored, "kind", "")) &&
        (!gone || strcmp(gone, tree_text(stored, "metadata.uid", "")) != 0)) {
        count_change(controller, stored);
        cache_put(controller->cache, stored);
    }
    json_object_del(controller->written, id);
}

static void note_failure(struct flight *flight, const struct write *write,
                         const struct error *err) {
    if (write->verb == CLUSTER_STATUS && err->kind == ERROR_NOT_FOUND) {
        return; /* the resource was deleted: its event says so */
    }
    if (!flight->err.kind || (!retried[flight->err.kind] && retried[err->kind])) {
        flight->err = *err;
        error_context(&flight->err, "%s %s", tree_text(write->object, "kind", ""),
                      tree_text(write->object, "metadata.name", ""));
    }
}

static void on_written(void *context, const json_t *stored, const struct error *err) {
    struct write *write = context;
    struct flight *flight = write->flight;
    struct controller *controller = flight->controller;
    const struct kind *kind = controller->kinds[flight->kind];
    take_in(controller, write->object, stored);
    if (kind->wrote) {
        const char *space = strchr(flight->key, ' '), *slash = strchr(flight->key, '/');
        AUTO(text_freep) char *namespace = x_strndup(space + 1, (size_t)(slash - space - 1));
        struct written written = {namespace, slash + 1, write->verb, write->object, stored, err};
        kind->wrote(controller->states[flight->kind], &written);
    }
    if (err) {
        const char *name = tree_text(write->object, "metadata.name", "");
        json_object_set_new(flight->failed, write->verb == CLUSTER_STATUS ? "" : name, json_true());
        note_failure(flight, write, err);
    }
    controller->pending--;
    if (--flight->pending == 0) {
        land(controller, flight);
    }
}

const char *reconcile_ask(struct reconcile *request, const char *url, const char *certificate_pem) {
    AUTO(text_freep) char *key = key_of(request->kind, request->namespace, request->name);
    request->asked = true;
    return questions_ask(request->questions, key, url, certificate_pem);
}

static void on_listed(void *context, const json_t *stored, const struct error *err) {
    struct listing *listing = context;
    struct controller *controller = listing->controller;
    const struct kind *kind = controller->kinds[listing->kind];
    (void)err; /* then stored is NULL */
    if (kind->listed) {
        const char *space = strchr(listing->key, ' '), *slash = strchr(listing->key, '/');
        AUTO(text_freep) char *namespace = x_strndup(space + 1, (size_t)(slash - space - 1));
        kind->listed(controller->states[listing->kind], namespace, slash + 1, stored);
    }
    queue_add(controller->queue, listing->key, clock_monotonic_ms());
    tdelete(listing, &controller->listings, by_listing);
    listing_free(listing);
}

bool reconcile_list(struct reconcile *request, const json_t *like, const char *fields) {
    struct controller *controller = request->controller;
    struct listing *listing = x_calloc(1, sizeof *listing);
    listing->controller = controller;
    listing->key = key_of(request->kind, request->namespace, request->name);
    find_kind(controller, request->kind, &listing->kind);
    if (tfind(listing, &controller->listings, by_listing)) {
        listing_free(listing);
        return false;
    }
    tsearch(listing, &controller->listings, by_listing);
    controller->cluster->ops->list(controller->cluster, like, fields, on_listed, listing);
    return true;
}

void reconcile_write(struct reconcile *request, enum cluster_verb verb, json_t *object_new) {
    json_array_append_new(request->writes,
                          json_pack("{s:i, s:o}", "verb", (int)verb, "object", object_new));
}

static void submit(struct controller *controller, size_t kind, const char *key,
                   const struct reconcile *request) {
    struct flight *flight = x_calloc(1, sizeof *flight);
    flight->controller = controller;
    flight->key = x_strdup(key);
    flight->kind = kind;
    flight->again_ms = request->again_ms;
    flight->events = json_incref(request->events);
    flight->failed = json_object();
    flight->pending = flight->write_count = json_array_size(request->writes);
    flight->writes = x_calloc(flight->write_count, sizeof *flight->writes);
    tsearch(flight, &controller->flights, by_key);
    controller->pending += flight->pending;
    for (size_t i = 0; i < flight->write_count; i++) {
        const json_t *asked = json_array_get(request->writes, i);
        json_t *object = json_incref(json_object_get(asked, "object"));
        enum cluster_verb verb = (enum cluster_verb)tree_integer(asked, "verb", 0);
        flight->writes[i] = (struct write){flight, verb, object};
        flight->makes |= verb == CLUSTER_CREATE || verb == CLUSTER_APPLY;
        AUTO(text_freep) char *id = identity(object);
        json_object_set_new(controller->written, id, json_null());
        controller->cluster->ops->write(controller->cluster, verb, object, on_written,
                                        &flight->writes[i]);
    }
}

static int64_t rush_ms(const struct controller *controller) {
    int64_t all_ms = (int64_t)controller->due * RUSH_JOB_MS;
    return controller->pending < WRITES_MAX / 2 ? 0 : MIN(MAX(all_ms, RUSH_MIN_MS), RUSH_MAX_MS);
}

static void look(struct controller *controller, const char *key) {
    struct flight *under_way = find_flight(controller, key);
    if (under_way) { /* a world older than its own writes would be looked at */
        under_way->is_due = true;
        return;
    }
    const char *space = strchr(key, ' '), *slash = strchr(key, '/');
    assert(space && slash);
    AUTO(text_freep) char *kind_name = x_strndup(key, (size_t)(space - key));
    AUTO(text_freep) char *namespace = x_strndup(space + 1, (size_t)(slash - space - 1));
    size_t index = 0;
    const struct kind *kind = find_kind(controller, kind_name, &index);
    assert(kind);
    AUTO(tree_freep)
    json_t *object = cache_find(controller->cache, kind_name, namespace, slash + 1);
    AUTO(tree_freep) json_t *writes = json_array();
    AUTO(tree_freep) json_t *events = json_array();
    struct reconcile request = {
        .cache = controller->cache,
        .kind = kind->name,
        .options = kind->options,
        .namespace = namespace,
        .name = slash + 1,
        .object = object,
        .wall_ms = clock_wall_ms(),
        .monotonic_ms = clock_monotonic_ms(),
        .rush_ms = rush_ms(controller),
        .writes = writes,
        .events = events,
        .questions = controller->questions,
        .controller = controller,
    };
    struct error err = {0};
    int result = kind->reconcile(controller->states[index], &request, &err);
    tally_look(kind->name, clock_monotonic_ms() - request.monotonic_ms, result < 0);
    if (!request.asked) {
        questions_forget(controller->questions, key);
    }
    if (result < 0) {
        settle(controller, key, &err, false);
    } else if (json_array_size(writes) > 0) {
        submit(controller, index, key, &request);
    } else {
        succeed(controller, key, request.again_ms);
        send_events(controller, events, NULL);
    }
}

/* Before everything is listed, what is there would look missing and be made twice. */
static bool may_look(const struct controller *controller) {
    return cache_is_complete(controller->cache) && controller->pending < WRITES_MAX;
}

int controller_fd(const struct controller *controller) {
    return controller->epoll_fd;
}

int controller_idle_ms(struct controller *controller) {
    int64_t next_ms = may_look(controller) ? queue_next_ms(controller->queue) : INT64_MAX;
    int64_t ask_ms = questions_next_ms(controller->questions);
    next_ms = MIN(next_ms, ask_ms);
    if (next_ms == INT64_MAX) {
        return INT_MAX;
    }
    int64_t left_ms = next_ms - clock_monotonic_ms();
    return (int)MAX(0, MIN(left_ms, INT_MAX));
}

/* After a rush, what it took goes back to the system. */
static void rest(struct controller *controller, int idle_ms) {
    if (controller->pending >= WRITES_MAX / 2) {
        controller->was_busy = true;
    } else if (controller->was_busy && controller->pending == 0 && idle_ms >= REST_MS) {
        controller->was_busy = false;
        malloc_trim(0);
    }
}

/* Counting walks over all of them: not after every event. */
static void count_due(struct controller *controller) {
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms - controller->counted_ms >= COUNT_EVERY_MS || controller->due < LOOKS_PER_STEP) {
        controller->due = queue_due(controller->queue, now_ms);
        controller->counted_ms = now_ms;
        tally_queue(controller->due);
    }
}

int controller_step(struct controller *controller, int timeout_ms, struct error *err) {
    struct cluster *cluster = controller->cluster;
    struct epoll_event ready[2];
    int idle_ms = controller_idle_ms(controller);
    rest(controller, idle_ms);
    idle_ms = MIN(timeout_ms, idle_ms);
    if (epoll_wait(controller->epoll_fd, ready, ARRAY_LEN(ready), idle_ms) < 0 && errno != EINTR) {
        return error_from_errno(err, errno, "cannot wait for the cluster");
    }
    if (cluster->ops->wait(cluster, 0, hear, controller, err) < 0 ||
        questions_step(controller->questions, err) < 0) {
        return -1;
    }
    for (int looks = 0; looks < LOOKS_PER_STEP && may_look(controller); looks++) {
        int64_t due_ms = queue_next_ms(controller->queue), now_ms = clock_monotonic_ms();
        AUTO(text_freep) char *key = queue_take(controller->queue, now_ms);
        if (!key) {
            break;
        }
        tally_wait(now_ms - due_ms);
        look(controller, key);
    }
    count_due(controller);
    return 0;
}
