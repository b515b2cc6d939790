// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/kube.h"

#include "lib/fair_queue.h"
#include "lib/time/clock.h"
#include "operator/kube/backoff.h"
#include "operator/kube/rest.h"
#include "operator/kube/watch.h"
#include "operator/kube/write.h"
#include "operator/kube/write_pace.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* One write: queued, under way, or between two tries; then it does not block others. */
struct write {
    struct kube *kube;
    struct write *next, **link; /* in kube->writes */
    struct write *next_held;    /* in kube->held, from the first that was held */
    bool is_held;
    char *namespace;
    enum cluster_verb verb;
    struct write_request request;
    json_t *object;           /* if the answer will be brief */
    struct client_call *call; /* while the write is under way */
    struct loop_timer timer;
    struct backoff backoff;
    int tries;
    bool is_asked_again;  /* if it fails: its object is reconciled again */
    bool is_counted;      /* write_pace.h */
    struct error refusal; /* the error of an invalid write, which has no request */
    cluster_done *done;
    void *context;
};

enum {
    ANSWERED_MAX = 4096,
    TIRED_MAX = 1024,
};

struct kube {
    struct cluster base;
    /* At the remainder of the version: versions grow by one or a few. */
    struct answered {
        uint64_t version, object; /* object: hash of its uid */
    } answered[ANSWERED_MAX];
    bool skips_answered;
    uint64_t tired[TIRED_MAX]; /* at the remainder of the hash of a request; 0: none */
    struct config *config;
    struct loop *loop;
    struct client *client;
    char *namespace; /* NULL: all */
    struct watch *watches[KUBE_WATCHES_MAX];
    size_t watch_count;
    struct write *writes;
    struct fair_queue *fair; /* by namespace: the queue, and the writes under way */
    struct write_pace *pace; /* what the server bears */
    struct loop_timer start; /* starts queued writes */
    struct write *held;      /* by the pace: looked at together, not each by its own timer */
    struct write **held_end;
    struct loop_timer release;  /* looks at them */
    cluster_listener *listener; /* of the current wait */
    void *listener_context;
    bool has_reported; /* something was reported in this wait */
};

static struct kube *kube_of(const struct cluster *cluster) {
    return (struct kube *)(uintptr_t)cluster; /* base is the first member */
}

/* A list may be older than an answer that came before it: the events after it are reported. */
static void on_event(void *context, enum cluster_event event, const json_t *object) {
    struct kube *kube = context;
    kube->has_reported = true;
    if (event == CLUSTER_LISTING) {
        memset(kube->answered, 0, sizeof kube->answered);
    }
    if (kube->listener) {
        kube->listener(kube->listener_context, event, object);
    }
}

/* FNV-1a. */
static uint64_t hash_of(const char *text, size_t size) {
    uint64_t hash = 0xcbf29ce484222325ULL;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3ULL;
    }
    return hash;
}

static void note_answered(struct kube *kube, const json_t *stored) {
    uint64_t version = strtoull(tree_text(stored, "metadata.resourceVersion", ""), NULL, 10);
    const char *uid = tree_text(stored, "metadata.uid", "");
    kube->answered[version % ANSWERED_MAX] = (struct answered){version, hash_of(uid, strlen(uid))};
}

static bool knows(void *context, const struct stream_identity *identity) {
    const struct kube *kube = context;
    const struct answered *answered = &kube->answered[identity->version % ANSWERED_MAX];
    return answered->version == identity->version &&
           answered->object == hash_of(identity->uid, identity->uid_size);
}

static int kube_watch(struct cluster *cluster, const char *api_version, const char *kind,
                      const char *label, bool may_be_absent, struct error *err) {
    struct kube *kube = kube_of(cluster);
    assert(kube->watch_count < KUBE_WATCHES_MAX);
    struct watch_options options = {.api_version = api_version,
                                    .kind = kind,
                                    .namespace = kube->namespace,
                                    .label = label,
                                    .may_be_absent = may_be_absent,
                                    .listener = on_event,
                                    .knows = kube->skips_answered ? knows : NULL,
                                    .context = kube};
    if (watch_new(&options, kube->client, kube->loop, &kube->watches[kube->watch_count], err) < 0) {
        return -1;
    }
    kube->watch_count++;
    return 0;
}

/* ---- writes ---- */

/* Releases a held write that is freed; those that are looked at are taken off before. */
static void let_go(struct write *write) {
    struct kube *kube = write->kube;
    struct write **at = &kube->held;
    if (!write->is_held) {
        return;
    }
    while (*at != write) {
        at = &(*at)->next_held;
    }
    *at = write->next_held;
    if (kube->held_end == &write->next_held) {
        kube->held_end = at;
    }
    write->is_held = false;
}

static void write_free(struct write *write) {
    let_go(write);
    *write->link = write->next;
    if (write->next) {
        write->next->link = write->link;
    }
    loop_unset(write->kube->loop, &write->timer);
    if (write->call) {
        client_cancel(write->kube->client, write->call);
    }
    write_request_release(&write->request);
    json_decref(write->object);
    free(write->namespace);
    free(write);
}

static void write_finish(struct write *write, const json_t *stored, const struct error *err) {
    struct kube *kube = write->kube;
    cluster_done *done = write->done;
    void *context = write->context;
    kube->has_reported = true;
    write_free(write);
    if (done) {
        done(context, stored, err);
    }
}

static void hold(struct write *write) {
    struct kube *kube = write->kube;
    write->is_held = true;
    write->next_held = NULL;
    *kube->held_end = write;
    kube->held_end = &write->next_held;
}

/* Queues it or holds it. Returns when a held one may go: in ms; below 0: once another write of its
 * namespace has ended; 0: it was queued. */
static int64_t queue_or_hold(struct write *write) {
    struct kube *kube = write->kube;
    int64_t hold_ms = 0;
    if (!write->refusal.kind) {
        hold_ms = write_pace_hold_ms(kube->pace, write->namespace, clock_monotonic_ms(),
                                     &write->is_counted);
    }
    if (hold_ms) {
        hold(write);
        return hold_ms;
    }
    fair_queue_push(kube->fair, write->namespace, write);
    loop_set(kube->loop, &kube->start, 0);
    return 0;
}

/* No later than it is set already. */
static void release_within(struct kube *kube, int64_t delay_ms) {
    if (!kube->release.link || kube->release.due_ms > clock_monotonic_ms() + delay_ms) {
        loop_set(kube->loop, &kube->release, delay_ms);
    }
}

static bool has_held(const struct kube *kube, const char *namespace) {
    const struct write *held = kube->held;
    while (held && strcmp(held->namespace, namespace) != 0) {
        held = held->next_held;
    }
    return held != NULL;
}

/* Behind those of its namespace that are held: whatever lets them go looks at it, too. */
static void write_enqueue(void *context) {
    struct write *write = context;
    struct kube *kube = write->kube;
    if (!write->refusal.kind && has_held(kube, write->namespace)) {
        hold(write);
        return;
    }
    int64_t hold_ms = queue_or_hold(write);
    if (hold_ms > 0) {
        release_within(kube, hold_ms);
    }
}

/* Hundreds of writes may be held: all are looked at when a write has ended, or when the next probe
 * is due. */
static void release_held(void *context) {
    struct kube *kube = context;
    struct write *held = kube->held;
    int64_t next_ms = INT64_MAX;
    kube->held = NULL;
    kube->held_end = &kube->held;
    for (struct write *next; held; held = next) {
        next = held->next_held;
        held->is_held = false;
        int64_t hold_ms = queue_or_hold(held);
        next_ms = hold_ms > 0 ? MIN(next_ms, hold_ms) : next_ms;
    }
    if (next_ms < INT64_MAX) {
        release_within(kube, next_ms);
    }
}

/* The server asks all of us for less, is too slow, or is not there. A 500 is about this write. */
static bool is_overloaded(const struct client_answer *answer) {
    return answer->status == 429 || answer->status == 503 || answer->status == 504 ||
           (answer->err && !answer->status);
}

/* A webhook fails, a kind's conversion, or etcd is full: repeating at once cures it seldom, and the
 * controller has a longer wait for each object. What nothing asks again is lost with its last try,
 * so it gets several, unless the server says that they are useless. */
static bool is_lasting(const struct write *write, const struct client_answer *answer) {
    const char *says = answer->err ? answer->err->text : "";
    return answer->status == 500 && !answer->retry_after_s &&
           (write->is_asked_again || strstr(says, "webhook") ||
            strstr(says, "database space exceeded"));
}

/* What is before an API server may answer in its place, with 200 and other JSON. A list without
 * items would say that nothing is there. */
static bool is_asked_for(const struct write *write, const json_t *tree) {
    if (!write->request.method) {
        return json_object_get(tree, "items") != NULL;
    }
    return write->verb == CLUSTER_DELETE || *tree_text(tree, "metadata.name", "");
}

/* Of a request to which a write has failed with all its tries, the place in `tired`: creations of
 * that kind in that namespace, or writes to that object. The controller asks again, with a growing
 * delay of its own; until one succeeds each is tried once, or eight tries a minute would be for
 * ever. */
static uint64_t *tired_of(const struct write *write, uint64_t *ret_hash) {
    AUTO(text_freep)
    char *request = x_printf("%s %s", write->request.method ? write->request.method : "",
                             write->request.path ? write->request.path : "");
    *ret_hash = hash_of(request, strlen(request)) | 1;
    return &write->kube->tired[*ret_hash / 2 % TIRED_MAX];
}

static int most_tries(const struct write *write, const struct client_answer *answer) {
    uint64_t hash;
    const uint64_t *place = tired_of(write, &hash);
    return is_lasting(write, answer) || (write->is_asked_again && *place == hash)
               ? KUBE_REFUSED_TRIES_MAX
               : KUBE_WRITE_TRIES_MAX;
}

/* verdict: of the last try. */
static void note_tired(const struct write *write, enum write_verdict verdict) {
    uint64_t hash;
    uint64_t *place = tired_of(write, &hash);
    if (verdict == WRITE_AGAIN) {
        *place = hash;
    } else if (*place == hash && verdict == WRITE_DONE) {
        *place = 0;
    }
}

static void on_answer(struct write *write, const struct client_answer *answer) {
    struct kube *kube = write->kube;
    struct error err = {0};
    write->call = NULL;
    fair_queue_end(kube->fair, write->namespace);
    struct write_pace_end end = {.namespace = write->namespace,
                                 .is_counted = write->is_counted,
                                 .is_refused = is_overloaded(answer),
                                 .retry_after_s = answer->retry_after_s};
    write_pace_note_end(kube->pace, &end, clock_monotonic_ms());
    write->is_counted = false;
    if (fair_queue_size(kube->fair) > 0) {
        loop_set(kube->loop, &kube->start, 0);
    }
    if (kube->held) {
        loop_set(kube->loop, &kube->release, 0);
    }
    enum write_verdict verdict = write_judge(write->verb, answer, &err);
    if (verdict == WRITE_AGAIN && write->tries < most_tries(write, answer)) {
        int delay_ms = backoff_next(&write->backoff, answer->retry_after_s);
        loop_set(kube->loop, &write->timer, delay_ms);
        return;
    }
    note_tired(write, verdict);
    if (verdict == WRITE_DONE) {
        AUTO(tree_freep) json_t *stored = NULL;
        if (write->verb != CLUSTER_DELETE) {
            stored = write_stored(write->object, answer->tree);
            /* The version of a list is of all objects. */
            if (write->done && write->request.method) {
                note_answered(kube, stored);
            }
        }
        write_finish(write, stored, NULL);
    } else {
        write_finish(write, NULL, &err);
    }
}

static void on_written(void *context, const struct client_answer *answer) {
    struct write *write = context;
    struct client_answer seen = *answer;
    struct error other = {0};
    if (!answer->err && !is_asked_for(write, answer->tree)) {
        error_set(
            &other, ERROR_UNAVAILABLE,
            "%s %.*s: the answer is JSON, but not %s: is there a proxy before the API server?",
            write->request.verb, (int)strcspn(write->request.path, "?"), write->request.path,
            write->request.method ? "an object" : "a list");
        seen.err = &other;
    }
    on_answer(write, &seen);
}

static void write_try(struct write *write) {
    if (write->refusal.kind) {
        struct error err = write->refusal;
        write_finish(write, NULL, &err);
        return;
    }
    write->tries++;
    struct client_request request = {.verb = write->request.verb,
                                     .method = write->request.method,
                                     .path = write->request.path,
                                     .content_type = write->request.content_type,
                                     .body = write->request.body,
                                     .is_brief = write->request.is_brief,
                                     .done = on_written,
                                     .context = write};
    fair_queue_begin(write->kube->fair, write->namespace);
    write_pace_begin(write->kube->pace);
    write->call = client_start(write->kube->client, &request);
}

static void start_writes(void *context) {
    struct kube *kube = context;
    while (fair_queue_is_ready(kube->fair)) {
        int64_t wait_ms = write_pace_wait_ms(kube->pace, clock_monotonic_ms());
        if (wait_ms > 0) {
            loop_set(kube->loop, &kube->start, wait_ms);
        }
        if (wait_ms) {
            return; /* below 0: the end of a write comes here again */
        }
        write_try(fair_queue_take(kube->fair));
    }
}

static struct write *write_new(struct kube *kube, const json_t *object, enum cluster_verb verb,
                               cluster_done *done, void *context) {
    struct write *write = x_calloc(1, sizeof *write);
    write->kube = kube;
    write->namespace = x_strdup(tree_text(object, "metadata.namespace", "default"));
    write->verb = verb;
    write->done = done;
    write->context = context;
    write->timer.fire = write_enqueue;
    write->timer.context = write;
    write->next = kube->writes;
    write->link = &kube->writes;
    if (write->next) {
        write->next->link = &write->next;
    }
    kube->writes = write;
    return write;
}

static void kube_write(struct cluster *cluster, enum cluster_verb verb, const json_t *object,
                       cluster_done *done, void *context) {
    struct write *write = write_new(kube_of(cluster), object, verb, done, context);
    if (write_prepare(verb, object, &write->request, &write->refusal) < 0) {
        assert(write->refusal.kind);
    }
    write->object = write->request.is_brief ? json_incref((json_t *)object) : NULL;
    write->is_asked_again = done && strcmp(tree_text(object, "kind", ""), "Event") != 0;
    write_enqueue(write);
}

/* ---- lists ---- */

/* "a=b,c=d" as a value of a query. The caller frees it. */
static char *escape_query(const char *text) {
    static const char digits[] = "0123456789ABCDEF";
    char *escaped = x_malloc(3 * strlen(text) + 1), *to = escaped;
    for (; *text; text++) {
        if (strchr("=,!", *text)) {
            *to++ = '%';
            *to++ = digits[(unsigned char)*text >> 4];
            *to++ = digits[*text & 15];
        } else {
            *to++ = *text;
        }
    }
    *to = 0;
    return escaped;
}

/* Handled like a write that can be repeated. */
static void kube_list(struct cluster *cluster, const json_t *like, const char *fields,
                      cluster_done *done, void *context) {
    struct kube *kube = kube_of(cluster);
    struct rest_place place = {.api_version = tree_text(like, "apiVersion", ""),
                               .kind = tree_text(like, "kind", ""),
                               .namespace = tree_text(like, "metadata.namespace", "default")};
    struct write *write = write_new(kube, like, CLUSTER_APPLY, done, context);
    AUTO(text_freep) char *path = NULL;
    AUTO(text_freep) char *escaped = escape_query(fields);
    if (rest_path(&place, &path, &write->refusal) == 0) {
        write->request = (struct write_request){
            .verb = "list",
            .path = x_printf("%s?limit=%d&fieldSelector=%s", path, KUBE_LIST_MAX, escaped)};
    }
    write_enqueue(write);
}

/* ---- the rest of the interface ---- */

static int kube_wait(struct cluster *cluster, int timeout_ms, cluster_listener *listener,
                     void *context, struct error *err) {
    struct kube *kube = kube_of(cluster);
    int64_t end_ms = timeout_ms < 0 ? INT64_MAX : clock_monotonic_ms() + timeout_ms;
    kube->listener = listener;
    kube->listener_context = context;
    kube->has_reported = false;
    int result = 0, left_ms = timeout_ms;
    do {
        result = loop_wait(kube->loop, left_ms, err);
        if (timeout_ms > 0) {
            left_ms = (int)MAX(end_ms - clock_monotonic_ms(), 0);
        }
    } while (result == 0 && !kube->has_reported && left_ms);
    kube->listener = NULL;
    return MIN(result, 0);
}

static int kube_wait_fd(struct cluster *cluster) {
    return loop_fd(kube_of(cluster)->loop);
}

static void kube_free(struct cluster *cluster) {
    struct kube *kube = kube_of(cluster);
    if (!kube) {
        return;
    }
    fair_queue_free(kube->fair);
    write_pace_free(kube->pace);
    while (kube->writes) {
        write_free(kube->writes);
    }
    for (size_t i = 0; i < kube->watch_count; i++) {
        watch_free(kube->watches[i]);
    }
    client_free(kube->client);
    loop_free(kube->loop);
    config_free(kube->config);
    free(kube->namespace);
    free(kube);
}

static const struct cluster_ops kube_ops = {.watch = kube_watch,
                                            .figures_ms = KUBE_FIGURES_MS,
                                            .write = kube_write,
                                            .list = kube_list,
                                            .wait = kube_wait,
                                            .wait_fd = kube_wait_fd,
                                            .free = kube_free};

int kube_open(const struct kube_options *options, struct cluster **ret_cluster, struct error *err) {
    struct kube *kube = x_calloc(1, sizeof *kube);
    kube->base.ops = &kube_ops;
    kube->fair = fair_queue_new(KUBE_WRITES_MAX);
    kube->pace = write_pace_new(KUBE_WRITES_MAX);
    kube->namespace = x_strdup(options->namespace);
    kube->skips_answered = options->skips_answered;
    kube->start.fire = start_writes;
    kube->start.context = kube;
    kube->held_end = &kube->held;
    kube->release.fire = release_held;
    kube->release.context = kube;
    if (config_load(&options->config, &kube->config, err) < 0 || loop_open(&kube->loop, err) < 0 ||
        client_open(kube->config, kube->loop, &kube->client, err) < 0) {
        kube_free(&kube->base);
        return -1;
    }
    *ret_cluster = &kube->base;
    return 0;
}

const struct config *kube_config(const struct cluster *cluster) {
    return kube_of(cluster)->config;
}

struct client *kube_client(struct cluster *cluster) {
    return kube_of(cluster)->client;
}

struct loop *kube_loop(struct cluster *cluster) {
    return kube_of(cluster)->loop;
}

const struct error *kube_error(const struct cluster *cluster) {
    const struct kube *kube = kube_of(cluster);
    const struct error *trouble = NULL;
    for (size_t i = 0; i < kube->watch_count && !trouble; i++) {
        trouble = watch_error(kube->watches[i]);
    }
    return trouble;
}

static bool all_watches(const struct kube *kube, bool (*is)(const struct watch *watch)) {
    bool all = true;
    for (size_t i = 0; i < kube->watch_count; i++) {
        all &= is(kube->watches[i]);
    }
    return all;
}

bool kube_is_answered(const struct cluster *cluster) {
    return all_watches(kube_of(cluster), watch_is_answered);
}

bool kube_is_listed(const struct cluster *cluster) {
    return all_watches(kube_of(cluster), watch_is_listed);
}
