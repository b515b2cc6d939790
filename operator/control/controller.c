// SPDX-License-Identifier: Apache-2.0
#include "operator/control/controller.h"

#include "lib/fair_queue.h"
#include "lib/time/clock.h"
#include "operator/control/awaited.h"
#include "operator/control/event_recorder.h"
#include "operator/control/gone.h"
#include "operator/control/kind_watch.h"
#include "operator/control/poller.h"
#include "operator/control/queries.h"
#include "operator/control/queue.h"
#include "operator/control/requeue.h"
#include "operator/control/retry_pace.h"
#include "operator/control/write_batch.h"
#include "operator/object.h"
#include "operator/operator_metrics.h"
#include "operator/resource_key.h"

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
    RECONCILES_PER_STEP = 64,
    TRIM_IDLE_MS = 50,
    OVERLOAD_WRITES = 64,
    WRITES_MAX = 512, /* under way: of one namespace 128, so that a namespace in which every request
                         hangs delays only its own jobs; above it no pass begins */
    COUNT_EVERY_MS = 100,
    OVERLOAD_JOB_MS =
        5, /* approximate cost of a job for the API server: the delay per waiting job */
    OVERLOAD_MIN_MS = 1000,
    OVERLOAD_MAX_MS = 60000,
    FIGURES_PER_SECOND = 33, /* writes of figures alone: each of 1,000 jobs every 30 s */
};

struct controller {
    struct cluster *cluster;
    const struct kind *kinds[KINDS_MAX + 1]; /* ends with NULL */
    void *states[KINDS_MAX];
    size_t kind_count;
    struct cache *cache;
    struct queue *queue;     /* keys as text: resource_key.h, as in the maps below */
    json_t *watched;         /* kind -> true */
    void *batches;           /* tsearch tree by key */
    size_t pending;          /* writes under way */
    struct fair_queue *fair; /* the same by namespace, and the keys that wait for room */
    json_t *parked;          /* key -> itself, an item of fair */
    struct gone *gone;       /* while they are written */
    struct awaited *awaited; /* by key */
    struct requeue requeue;
    struct queries *queries;
    struct retry_pace *pace; /* by key */
    struct poller *poller;
    struct event_recorder *recorder;
    int epoll_fd; /* the descriptors of the cluster and the poller */
    uint64_t random;
    bool was_busy; /* memory of many passes was not released yet */
    size_t due;    /* keys that wait for a reconcile pass, counted at counted_ms */
    int64_t counted_ms;
    controller_report *report;
    void *report_context;
};

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

static int by_key(const void *a, const void *b) {
    return strcmp(((const struct write_batch *)a)->key, ((const struct write_batch *)b)->key);
}

static struct write_batch *find_batch(const struct controller *controller, const char *key) {
    const struct write_batch like = {.key = (char *)key};
    void *found = tfind(&like, &controller->batches, by_key);
    return found ? *(struct write_batch **)found : NULL;
}

static void on_poll_answer(void *context, const char *key) {
    struct controller *controller = context;
    queue_add(controller->queue, key, clock_monotonic_ms());
}

static int open_fds(struct controller *controller, struct error *err) {
    struct epoll_event readable = {.events = EPOLLIN};
    int fds[] = {controller->cluster->ops->wait_fd(controller->cluster),
                 poller_fd(controller->poller)};
    controller->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        if (controller->epoll_fd < 0 ||
            epoll_ctl(controller->epoll_fd, EPOLL_CTL_ADD, fds[i], &readable) < 0) {
            return error_from_errno(err, errno, "cannot watch the cluster");
        }
    }
    return 0;
}

static void on_answer(void *context, const struct query *query, const json_t *list,
                      const json_t *object, const struct error *err);

int controller_new(struct cluster *cluster, const struct kind *const *kinds,
                   controller_report *report, void *report_context,
                   struct controller **ret_controller, struct error *err) {
    struct controller *controller = x_calloc(1, sizeof *controller);
    controller->cluster = cluster;
    controller->cache = cache_new();
    controller->queue = queue_new();
    controller->recorder = event_recorder_new(cluster);
    controller->watched = json_object();
    controller->gone = gone_new();
    controller->awaited = awaited_new();
    controller->requeue =
        (struct requeue){controller->queue, controller->awaited, controller->kinds};
    controller->queries = queries_new(cluster, on_answer, controller);
    controller->pace = retry_pace_new();
    controller->fair = fair_queue_new(WRITES_MAX);
    controller->parked = json_object();
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
    if (poller_open(on_poll_answer, controller, &controller->poller, err) < 0 ||
        open_fds(controller, err) < 0 ||
        kind_watch_all(cluster, controller->cache, kinds, controller->watched, err) < 0) {
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
    poller_free(controller->poller);
    event_recorder_free(controller->recorder);
    fd_closep(&controller->epoll_fd);
    cache_free(controller->cache);
    queue_free(controller->queue);
    tdestroy(controller->batches, write_batch_free);
    json_decref(controller->watched);
    gone_free(controller->gone);
    awaited_free(controller->awaited);
    queries_free(controller->queries);
    retry_pace_free(controller->pace);
    fair_queue_free(controller->fair);
    json_decref(controller->parked);
    free(controller);
}

const struct cache *controller_cache(const struct controller *controller) {
    return controller->cache;
}

size_t controller_pending(const struct controller *controller) {
    return controller ? controller->pending : 0;
}

/* An event reports it, or a list lacks it. */
static void on_deleted(void *context, enum cluster_event event UNUSED, const json_t *object) {
    struct controller *controller = context;
    requeue_all(&controller->requeue, object, /* but= */ NULL);
    /* a quota may have room now */
    retry_pace_wake(controller->pace, tree_text(object, "metadata.namespace", "default"));
    queries_note_deleted(controller->queries, object);
    gone_note(controller->gone, object);
    operator_metrics_forget(object);
}

/* What the cache has of the object; the caller owns it. */
static json_t *find_before(const struct controller *controller, const json_t *object) {
    return cache_find(controller->cache, tree_text(object, "kind", ""),
                      tree_text(object, "metadata.namespace", "default"),
                      tree_text(object, "metadata.name", ""));
}

/* Counts the change before the cache stores it. */
static void count_change(const struct controller *controller, const json_t *before,
                         const json_t *object) {
    if (!operator_metrics_change(before, object, clock_wall_ms())) {
        return;
    }
    for (size_t i = 0; i < controller->kind_count; i++) {
        if (controller->kinds[i]->job_ended) {
            controller->kinds[i]->job_ended(object);
        }
    }
}

static void on_cluster_event(void *context, enum cluster_event event, const json_t *object) {
    struct controller *controller = context;
    if (event == CLUSTER_APPLIED && cache_has_version(controller->cache, object)) {
        return; /* mostly our own write: its batch reconciles again when it is done */
    }
    AUTO(tree_freep) json_t *before = find_before(controller, object);
    if (event == CLUSTER_APPLIED) {
        count_change(controller, before, object);
    }
    requeue_lost_owners(&controller->requeue, before, object);
    cache_update(controller->cache, event, object, on_deleted, controller);
    if (event == CLUSTER_APPLIED) {
        requeue_all(&controller->requeue, object, /* but= */ NULL);
    } else if (event == CLUSTER_DELETED) {
        on_deleted(controller, event, object);
    }
}

static int draw_jitter(struct controller *controller) {
    controller->random = controller->random * 6364136223846793005ULL + 1442695040888963407ULL;
    return (int)((controller->random >> 33) % (2 * QUEUE_JITTER_EVEN + 1));
}

/* The only place that maps a kind of error to the next step. A failed write is always followed by
 * another pass, because the kind then reports it in the status. */
static void retry_later(struct controller *controller, const char *key, const struct error *err,
                        bool of_write) {
    int failures = queue_failures(controller->queue, key) + 1;
    int64_t retry_ms = -1;
    if (of_write || write_batch_is_retried(err->kind)) {
        retry_ms =
            queue_add_failed(controller->queue, key, clock_monotonic_ms(), draw_jitter(controller));
    }
    controller->report(controller->report_context, key, err, retry_ms, failures);
}

/* A pass and its writes succeeded. */
static void succeed(struct controller *controller, const char *key, int64_t again_ms) {
    queue_forget(controller->queue, key);
    if (again_ms > 0) {
        queue_add(controller->queue, key, clock_monotonic_ms() + again_ms);
    }
}

static void send_events(struct controller *controller, const char *key, const json_t *events,
                        const json_t *failed) {
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *one = json_array_get(events, i);
        if (!json_object_get(failed, tree_text(one, "of", ""))) {
            int64_t now_ms = clock_monotonic_ms();
            event_recorder_send(controller->recorder, json_object_get(one, "event"), now_ms);
            retry_pace_charge(controller->pace, key, now_ms);
        }
    }
}

static void on_batch_end(void *context, struct write_batch *batch) {
    struct controller *controller = context;
    tdelete(batch, &controller->batches, by_key);
    operator_metrics_reconcile(controller->kinds[batch->kind]->name, batch->took_ms,
                               batch->err.kind != ERROR_NONE);
    if (batch->err.kind) {
        retry_later(controller, batch->key, &batch->err, true);
    } else {
        succeed(controller, batch->key, batch->again_ms);
    }
    bool is_well = !batch->err.kind && !batch->is_cut;
    if (batch->is_retry) {
        retry_pace_ended(controller->pace, batch->key, is_well ? RETRY_SUCCEEDED : RETRY_FAILED);
    }
    send_events(controller, batch->key, batch->events, batch->failed);
    if (batch->is_due || (!batch->err.kind && batch->changes) || (batch->is_retry && is_well)) {
        queue_add(controller->queue, batch->key, clock_monotonic_ms());
    }
    write_batch_free(batch);
}

/* Stores the written object in the cache before its event arrives, unless it was deleted in
 * between. */
static void cache_stored(struct controller *controller, const json_t *object,
                         const json_t *stored) {
    bool is_gone = gone_end(controller->gone, object, stored);
    if (stored && !is_gone && json_object_get(controller->watched, tree_text(stored, "kind", "")) &&
        !cache_has_version(controller->cache, stored)) {
        AUTO(tree_freep) json_t *before = find_before(controller, stored);
        count_change(controller, before, stored);
        cache_put(controller->cache, stored);
    }
}

static void on_start(void *context, const struct write_batch_item *write) {
    struct controller *controller = context;
    gone_begin(controller->gone, write->object);
    fair_queue_begin(controller->fair, write->batch->namespace);
    controller->pending++;
    if (write->batch->is_retry && write == write->batch->writes) {
        return; /* the try itself */
    }
    retry_pace_charge(controller->pace, write->batch->key, clock_monotonic_ms());
}

static void on_end(void *context, const struct write_batch_item *write, const json_t *stored,
                   const struct error *err) {
    struct controller *controller = context;
    struct write_batch *batch = write->batch;
    const struct kind *kind = controller->kinds[batch->kind];
    fair_queue_end(controller->fair, batch->namespace);
    controller->pending--;
    cache_stored(controller, write->object, stored);
    requeue_all(&controller->requeue, stored, batch->key); /* its event will be ignored as known */
    if (kind->wrote) {
        AUTO(resource_key_release) struct resource_key key = resource_key_parse(batch->key);
        struct written written = {key.namespace, key.name, write->verb, write->object, stored, err};
        kind->wrote(controller->states[batch->kind], &written);
    }
    write_batch_note_end(write, stored, err);
}

static const struct write_batch_listener listener = {
    .started = on_start, .ended = on_end, .finished = on_batch_end};

static void on_answer(void *context, const struct query *query, const json_t *list,
                      const json_t *object, const struct error *err) {
    struct controller *controller = context;
    const struct kind *kind = controller->kinds[query->kind];
    void *state = controller->states[query->kind];
    AUTO(resource_key_release) struct resource_key key = resource_key_parse(query->key);
    if (query->like && kind->found) {
        struct found found = {key.namespace, key.name, query->like, object, err};
        kind->found(state, &found);
    } else if (!query->like && kind->listed) { /* on errors list is NULL */
        kind->listed(state, key.namespace, key.name, list);
    }
    queue_add(controller->queue, query->key, clock_monotonic_ms());
}

static void submit(struct controller *controller, size_t kind, const char *key,
                   const struct reconcile *request, int64_t took_ms) {
    struct write_batch *batch = write_batch_new(key, request->namespace, request->writes);
    batch->kind = kind;
    batch->watched = controller->watched;
    batch->again_ms = request->again_ms;
    batch->took_ms = took_ms;
    batch->is_retry = request->is_retry;
    batch->events = json_incref(request->events);
    tsearch(batch, &controller->batches, by_key);
    bool is_slow = request->starts_slowly || queue_failures(controller->queue, key) > 0;
    write_batch_start(batch, controller->cluster, is_slow ? 1 : WRITE_BATCH_WINDOW, &listener,
                      controller);
}

/* How overloaded the namespace is. A hanging webhook in another namespace does not count. */
static int64_t overload_ms(const struct controller *controller, const char *namespace) {
    int64_t all_ms = (int64_t)controller->due * OVERLOAD_JOB_MS;
    return fair_queue_running(controller->fair, namespace) < OVERLOAD_WRITES
               ? 0
               : MIN(MAX(all_ms, OVERLOAD_MIN_MS), OVERLOAD_MAX_MS);
}

/* The figures of all jobs together are written FIGURES_PER_SECOND times a second at most. */
static int64_t figures_ms(const struct controller *controller) {
    int64_t all_ms = (int64_t)poller_count(controller->poller) * 1000 / FIGURES_PER_SECOND;
    return MAX(controller->cluster->ops->figures_ms, all_ms);
}

/* A try without a write was a question, which has not failed. A pass that failed sends no write. */
static void end_wishes(struct controller *controller, const struct reconcile *request,
                       const char *key, bool has_failed) {
    retry_pace_passed(controller->pace, key);
    if (!request->object) {
        retry_pace_forget(controller->pace, key);
    } else if (request->is_retry && (has_failed || json_array_size(request->writes) == 0)) {
        retry_pace_ended(controller->pace, key, RETRY_UNKNOWN);
    }
}

static void reconcile_one(struct controller *controller, const char *key) {
    struct write_batch *under_way = find_batch(controller, key);
    if (under_way) { /* the cache is older than the writes under way */
        under_way->is_due = true;
        return;
    }
    AUTO(resource_key_release) struct resource_key of = resource_key_parse(key);
    size_t index = 0;
    const struct kind *kind = find_kind(controller, of.kind, &index);
    assert(kind);
    AUTO(tree_freep) json_t *object = cache_find(controller->cache, of.kind, of.namespace, of.name);
    AUTO(tree_freep) json_t *writes = json_array();
    AUTO(tree_freep) json_t *events = json_array();
    AUTO(tree_freep) json_t *learned = json_array();
    struct reconcile request = {
        .cache = controller->cache,
        .kind = kind->name,
        .options = kind->options,
        .schema = kind->schema,
        .namespace = of.namespace,
        .name = of.name,
        .object = object,
        .wall_ms = clock_wall_ms(),
        .monotonic_ms = clock_monotonic_ms(),
        .overload_ms = overload_ms(controller, of.namespace),
        .figures_ms = figures_ms(controller),
        .failures = queue_failures(controller->queue, key),
        .writes = writes,
        .events = events,
        .learned = learned,
        .poller = controller->poller,
        .queries = controller->queries,
        .pace = controller->pace,
        .kind_index = index,
        .kinds = controller->kinds,
        .awaited = controller->awaited,
    };
    struct error err = {0};
    int result = kind->reconcile(controller->states[index], &request, &err);
    int64_t took_ms = clock_monotonic_ms() - request.monotonic_ms;
    if (request.is_postponed) {
        queue_add(controller->queue, key, request.monotonic_ms + request.again_ms);
        return;
    }
    if (!request.is_waiting) {
        awaited_forget(controller->awaited, key);
    }
    for (size_t i = 0; i < json_array_size(learned); i++) {
        requeue_all(&controller->requeue, json_array_get(learned, i), key);
    }
    if (!request.is_polling) {
        poller_stop(controller->poller, key);
    }
    end_wishes(controller, &request, key, result < 0);
    if (result == 0 && json_array_size(writes) > 0) {
        submit(controller, index, key, &request, took_ms);
        return;
    }
    operator_metrics_reconcile(kind->name, took_ms, result < 0);
    if (result < 0) {
        retry_later(controller, key, &err, false);
    } else {
        succeed(controller, key, request.again_ms);
        send_events(controller, key, events, NULL);
    }
}

/* Before everything is listed, existing objects would look missing and be created twice. */
static bool may_reconcile(const struct controller *controller) {
    return cache_is_complete(controller->cache) && controller->pending < WRITES_MAX;
}

/* A key whose namespace has no room waits in a queue. */
static bool park(struct controller *controller, const char *key) {
    AUTO(resource_key_release) struct resource_key of = resource_key_parse(key);
    if (json_object_get(controller->parked, key)) {
        return true;
    }
    if (fair_queue_has_room(controller->fair, of.namespace)) {
        return false;
    }
    json_t *item = json_string(key);
    json_object_set_new(controller->parked, key, item);
    fair_queue_push(controller->fair, of.namespace, item);
    return true;
}

/* The next key that is due and whose namespace has room; NULL: none. The caller frees it. */
static char *take_key(struct controller *controller) {
    const json_t *item = fair_queue_take(controller->fair);
    char *key = item ? x_strdup(json_string_value(item)) : NULL;
    if (key) {
        json_object_del(controller->parked, key);
        return key;
    }
    int64_t due_ms = queue_next_ms(controller->queue), now_ms = clock_monotonic_ms();
    while ((key = queue_take(controller->queue, now_ms))) {
        operator_metrics_wait(now_ms - due_ms);
        if (!park(controller, key)) {
            return key;
        }
        free(key);
        due_ms = queue_next_ms(controller->queue);
    }
    return NULL;
}

int controller_fd(const struct controller *controller) {
    return controller->epoll_fd;
}

int controller_idle_ms(struct controller *controller) {
    int64_t next_ms = may_reconcile(controller) ? queue_next_ms(controller->queue) : INT64_MAX;
    int64_t ask_ms = poller_next_ms(controller->poller);
    if (may_reconcile(controller)) {
        next_ms = MIN(next_ms, retry_pace_next_ms(controller->pace, clock_monotonic_ms()));
    }
    next_ms = MIN(MIN(next_ms, ask_ms), event_recorder_next_ms(controller->recorder));
    if (may_reconcile(controller) && fair_queue_is_ready(controller->fair)) {
        return 0;
    }
    if (next_ms == INT64_MAX) {
        return INT_MAX;
    }
    int64_t left_ms = next_ms - clock_monotonic_ms();
    return (int)MAX(0, MIN(left_ms, INT_MAX));
}

/* Returns memory to the system after many passes. */
static void trim_memory(struct controller *controller, int idle_ms) {
    if (controller->pending == 0 && idle_ms > 0) {
        cache_forget_trees(controller->cache);
    }
    if (controller->pending >= OVERLOAD_WRITES) {
        controller->was_busy = true;
    } else if (controller->was_busy && controller->pending == 0 && idle_ms >= TRIM_IDLE_MS) {
        controller->was_busy = false;
        malloc_trim(0);
    }
}

/* Counts rarely, because counting visits all keys. */
static void count_due(struct controller *controller) {
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms - controller->counted_ms >= COUNT_EVERY_MS ||
        controller->due < RECONCILES_PER_STEP) {
        controller->due = queue_due(controller->queue, now_ms) + fair_queue_size(controller->fair);
        controller->counted_ms = now_ms;
        operator_metrics_queue(controller->due);
        operator_metrics_retries(retry_pace_count(controller->pace));
    }
}

static void queue_retries(struct controller *controller) {
    int64_t now_ms = clock_monotonic_ms();
    const char *key;
    while (may_reconcile(controller) && (key = retry_pace_take(controller->pace, now_ms))) {
        queue_add(controller->queue, key, now_ms);
    }
}

int controller_step(struct controller *controller, int timeout_ms, struct error *err) {
    struct cluster *cluster = controller->cluster;
    struct epoll_event ready[2];
    int idle_ms = controller_idle_ms(controller);
    trim_memory(controller, idle_ms);
    idle_ms = MIN(timeout_ms, idle_ms);
    if (epoll_wait(controller->epoll_fd, ready, ARRAY_LEN(ready), idle_ms) < 0 && errno != EINTR) {
        return error_from_errno(err, errno, "cannot wait for the cluster");
    }
    if (cluster->ops->wait(cluster, 0, on_cluster_event, controller, err) < 0 ||
        poller_step(controller->poller, err) < 0) {
        return -1;
    }
    queue_retries(controller);
    for (int passes = 0; passes < RECONCILES_PER_STEP && may_reconcile(controller); passes++) {
        AUTO(text_freep) char *key = take_key(controller);
        if (!key) {
            break;
        }
        reconcile_one(controller, key);
    }
    event_recorder_step(controller->recorder, clock_monotonic_ms());
    count_due(controller);
    return 0;
}
