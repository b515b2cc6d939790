// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/watch.h"

#include "lib/time/clock.h"
#include "operator/kube/backoff.h"
#include "operator/kube/rest.h"
#include "operator/kube/stream.h"

#include <stdlib.h>
#include <string.h>

enum {
    SETTLED_MS = 1000,       /* a watch that lives this long shows that the server answers */
    ABSENT_EVERY_MS = 30000, /* checks whether the kind exists now */
};

struct watch {
    struct client *client;
    struct loop *loop;
    cluster_listener *listener;
    bool (*knows)(void *context, const struct stream_identity *identity);
    void *context;
    char *path;                       /* of the collection */
    char *other_path, *other_version; /* under an older apiVersion; NULL: there is none */
    bool is_older;                    /* `path` is that of the older apiVersion */
    bool is_other_asked;              /* since the last answer that was not 404 */
    char *label;                      /* NULL: no selector */
    bool may_be_absent;
    json_t *of_kind; /* {apiVersion, kind}, for LISTING and LISTED */
    struct client_call *call;
    struct loop_timer timer;   /* runs between calls only */
    struct loop_timer settled; /* runs while a watch is young */
    struct backoff backoff;
    int64_t opened_ms;      /* when the watch was opened: clock_monotonic_ms */
    char *resource_version; /* NULL: list again */
    char *next_page;        /* the continue token; NULL: the first page */
    char *page_version;     /* of the first page */
    int pages;              /* of the list so far */
    bool has_many;          /* more objects follow than fit into a page */
    bool is_paged;     /* the rest of a list is read in pages, because reading it at once failed */
    bool is_told;      /* LISTING was reported for the list that is being read */
    bool has_no_lists; /* the next list is not a watch that begins with the objects that exist */
    bool is_initial;   /* the watch sends the objects that exist; then changes */
    struct loop_timer initial; /* runs while is_initial */
    struct stream_items items;
    struct stream_lines lines;
    bool is_lost;                /* the position in the stream is lost: list again */
    bool has_error_event;        /* the server has ended the stream with an error */
    bool is_answered, is_listed; /* once at least */
    bool is_there;               /* the kind: the last complete answer was a list */
    bool is_missing;             /* 404 since missing_ms */
    int64_t missing_ms;
    struct error trouble;
};

static void notify(struct watch *watch, enum cluster_event event, const json_t *object) {
    watch->listener(watch->context, event, object);
}

static void next(void *context);

static void take_other_version(struct watch *watch) {
    char *path = watch->path;
    AUTO(text_freep) char *version = x_strdup(tree_text(watch->of_kind, "apiVersion", ""));
    watch->path = watch->other_path;
    watch->other_path = path;
    json_t *of_kind = json_copy(watch->of_kind); /* events hold the old one */
    json_object_set_new(of_kind, "apiVersion", json_string(watch->other_version));
    json_decref(watch->of_kind);
    watch->of_kind = of_kind;
    free(watch->other_version);
    watch->other_version = TAKE(version);
    watch->is_older = !watch->is_older;
}

/* A definition that was not upgraded serves the same objects under an older version, only. Asks for
 * the other version after a 404; false: that was tried already: the server lacks the kind. Then the
 * newer version is the first again. */
static bool asks_other(struct watch *watch) {
    if (watch->is_other_asked) {
        watch->is_other_asked = false;
        if (watch->is_older) {
            take_other_version(watch);
        }
        return false;
    }
    if (!watch->other_path) {
        return false;
    }
    take_other_version(watch);
    watch->is_other_asked = true;
    next(watch);
    return true;
}

static void pause_for(struct watch *watch, int delay_ms) {
    watch->timer.fire = next;
    watch->timer.context = watch;
    loop_set(watch->loop, &watch->timer, delay_ms);
}

static void fail(struct watch *watch, const struct error *err, int retry_after_s) {
    watch->trouble = *err;
    pause_for(watch, backoff_next(&watch->backoff, retry_after_s));
}

static void set_text(char **place, const char *text) {
    char *copy = text ? x_strdup(text) : NULL; /* text may be the value of *place */
    free(*place);
    *place = copy;
}

/* LISTING, once per list: a list in several requests may begin with any of them. */
static void notify_listing(struct watch *watch) {
    if (!watch->is_told) {
        watch->is_told = true;
        notify(watch, CLUSTER_LISTING, watch->of_kind);
    }
}

static void notify_listed(struct watch *watch, const char *version) {
    AUTO(tree_freep) json_t *event = json_copy(watch->of_kind);
    json_object_set_new(event, "metadata", json_pack("{s:s*}", "resourceVersion", version));
    watch->is_answered = watch->is_listed = watch->is_there = true;
    watch->is_paged = watch->is_told = watch->is_missing = false;
    watch->pages = 0;
    set_text(&watch->resource_version, version);
    notify(watch, CLUSTER_LISTED, event);
}

/* ---- list ---- */

static int on_item(void *context, const char *text, size_t size, struct error *err) {
    struct watch *watch = context;
    AUTO(tree_freep) json_t *object = NULL;
    if (stream_object_parse(text, size, &object, err) < 0) {
        return -1;
    }
    /* Items of a list have no kind and apiVersion. */
    json_object_update_missing(object, watch->of_kind);
    notify(watch, CLUSTER_APPLIED, object);
    return 0;
}

static int on_list_data(void *context, const char *data, size_t size, struct error *err) {
    struct watch *watch = context;
    notify_listing(watch);
    return stream_items_feed(&watch->items, data, size, on_item, watch, err);
}

static int take_page(struct watch *watch, struct error *err) {
    AUTO(tree_freep) json_t *envelope = NULL;
    if (stream_items_end(&watch->items, &envelope, err) < 0) {
        return -1;
    }
    const char *version = tree_text(envelope, "metadata.resourceVersion", "");
    const char *next_page = tree_text(envelope, "metadata.continue", "");
    if (!*version) {
        return error_set(err, ERROR_UNAVAILABLE, "a list without a resourceVersion");
    }
    watch->is_answered = true;
    if (!watch->next_page) {
        set_text(&watch->page_version, version);
    }
    watch->pages++;
    /* A list with a selector has no such number. */
    watch->has_many = tree_integer(envelope, "metadata.remainingItemCount", 0) > WATCH_PAGE;
    set_text(&watch->next_page, *next_page ? next_page : NULL);
    if (!*next_page) {
        notify_listed(watch, version);
    }
    return 0;
}

/* After a 404. A server that starts, or a proxy before it, answers so for seconds about kinds that
 * it has: what was there stays until that has lasted. */
static bool is_absent(struct watch *watch) {
    int64_t now_ms = clock_monotonic_ms();
    watch->missing_ms = watch->is_missing ? watch->missing_ms : now_ms;
    watch->is_missing = true;
    return watch->may_be_absent &&
           (!watch->is_there || now_ms - watch->missing_ms >= WATCH_ABSENT_MS);
}

/* The kind does not exist, and so it has no objects. */
static void take_absence(struct watch *watch) {
    watch->backoff = (struct backoff){0};
    error_clear(&watch->trouble);
    watch->is_answered = watch->is_listed = true;
    watch->is_there = watch->is_paged = watch->is_told = false;
    notify(watch, CLUSTER_ABSENT, watch->of_kind);
    pause_for(watch, ABSENT_EVERY_MS);
}

/* The server's cache has not seen that version yet: of a kind without changes it may not for
 * minutes. It says so after 3 s. */
static bool is_version_too_large(const struct client_answer *answer) {
    return answer->status == 504 &&
           (strcmp(tree_text(answer->tree, "details.causes[0].reason", ""),
                   "ResourceVersionTooLarge") == 0 ||
            strstr(tree_text(answer->tree, "message", ""), "Too large resource version"));
}

static void on_list_end(void *context, const struct client_answer *answer) {
    struct watch *watch = context;
    struct error err = {0};
    watch->call = NULL;
    if (answer->err) {
        err = *answer->err;
    } else if (take_page(watch, &err) < 0) {
        error_context(&err, "GET %s", watch->path);
    }
    stream_items_release(&watch->items);
    if (err.kind == ERROR_NOT_FOUND) {
        set_text(&watch->next_page, NULL);
        if (asks_other(watch)) {
            return;
        }
    }
    watch->is_other_asked = false;
    if (err.kind == ERROR_NOT_FOUND && is_absent(watch)) {
        take_absence(watch);
        return;
    }
    watch->is_missing &= err.kind == ERROR_NOT_FOUND;
    if (err.kind && watch->next_page && is_version_too_large(answer)) {
        /* The pages go on where they were, without a pause; the other list has reported nothing. */
        watch->is_paged = watch->is_told = true;
        next(watch);
        return;
    }
    if (err.kind) {
        watch->is_paged = watch->next_page && !watch->is_paged; /* switches to the other way */
        set_text(&watch->next_page, NULL); /* a list cannot continue in the middle */
        fail(watch, &err, answer->retry_after_s);
        return;
    }
    error_clear(&watch->trouble); /* the backoff stays: a watch shows whether the list was of use */
    next(watch);
}

/* Whether the next request reads a page. After two pages all objects are asked for at once, at a
 * version no older than the first page. The server answers such a list from its memory, but only
 * without a limit; it reads pages from etcd, at four times the cost (1.20: 0.5 instead of 0.1 ms a
 * job). But its memory may be older than the first page: so a list of two pages does not ask it. */
static bool reads_page(const struct watch *watch) {
    return watch->is_paged || (watch->pages < 2 && !watch->has_many);
}

static char *list_path(const struct watch *watch) {
    const char *label = watch->label ? "&labelSelector=" : "", *value = watch->label;
    value = value ? value : "";
    if (!watch->next_page) {
        return x_printf("%s?limit=%d%s%s", watch->path, WATCH_FIRST_PAGE, label, value);
    }
    if (reads_page(watch)) {
        return x_printf("%s?limit=%d&continue=%s%s%s", watch->path, WATCH_PAGE, watch->next_page,
                        label, value);
    }
    return x_printf("%s?resourceVersion=%s&resourceVersionMatch=NotOlderThan%s%s", watch->path,
                    watch->page_version, label, value);
}

static void list(struct watch *watch) {
    AUTO(text_freep) char *path = list_path(watch);
    stream_items_release(&watch->items);
    stream_items_init(&watch->items, CLIENT_OBJECT_MAX);
    if (!watch->next_page) {
        watch->pages = 0;
    }
    if (!watch->next_page || !reads_page(watch)) {
        watch->is_told = false; /* the answer is a list from its beginning */
    }
    struct client_request request = {.verb = "list",
                                     .path = path,
                                     .received = on_list_data,
                                     .timeout_ms = -1,
                                     .silence_ms = CLIENT_TIMEOUT_MS,
                                     .done = on_list_end,
                                     .context = watch};
    watch->call = client_start(watch->client, &request);
}

/* ---- watch ---- */

static void clear_trouble(void *context) {
    struct watch *watch = context;
    error_clear(&watch->trouble);
}

/* No server takes so long between two of the objects that it has; but one whose etcd reports no
 * progress may never say that these were all. */
static void give_up_initial(void *context) {
    struct watch *watch = context;
    client_cancel(watch->client, watch->call);
    watch->call = NULL;
    loop_unset(watch->loop, &watch->settled);
    stream_lines_release(&watch->lines);
    watch->is_initial = false;
    watch->has_no_lists = true;
    next(watch);
}

static void take_bookmark(struct watch *watch, const json_t *object) {
    const json_t *annotations = tree_get(object, "metadata.annotations");
    const char *ends = json_string_value(json_object_get(annotations, "k8s.io/initial-events-end"));
    if (watch->is_initial && ends && strcmp(ends, "true") == 0) {
        loop_unset(watch->loop, &watch->initial);
        watch->is_initial = false;
        notify_listed(watch, tree_text(object, "metadata.resourceVersion", ""));
    }
}

/* The answer to our own write had that version: most events of a job that begins. */
static bool skips(struct watch *watch, const char *text, size_t size) {
    struct stream_identity identity = {0};
    if (watch->knows && !watch->is_initial) {
        identity = stream_event_identity(text, size);
    }
    if (!identity.version || !watch->knows(watch->context, &identity)) {
        return false;
    }
    AUTO(text_freep) char *told = x_printf("%llu", (unsigned long long)identity.version);
    clear_trouble(watch);
    set_text(&watch->resource_version, told);
    return true;
}

static int on_line(void *context, const char *text, size_t size, struct error *err) {
    struct watch *watch = context;
    struct stream_event event;
    if (skips(watch, text, size)) {
        return 0;
    }
    if (stream_event_parse(text, size, &event, err) < 0) {
        return -1;
    }
    AUTO(tree_freep) json_t *object = event.object;
    if (event.type == STREAM_ERROR) {
        watch->has_error_event = true;
        return client_error((int)tree_integer(object, "code", 500), object, err);
    }
    clear_trouble(watch);
    if (watch->is_initial) {
        watch->is_answered = true;
        notify_listing(watch);
        loop_set(watch->loop, &watch->initial, WATCH_INITIAL_MS);
    } else {
        set_text(&watch->resource_version, event.resource_version);
    }
    if (event.type == STREAM_BOOKMARK) {
        take_bookmark(watch, object);
        return 0;
    }
    json_object_update_missing(object, watch->of_kind);
    notify(watch, event.type == STREAM_DELETED ? CLUSTER_DELETED : CLUSTER_APPLIED, object);
    return 0;
}

static int on_watch_data(void *context, const char *data, size_t size, struct error *err) {
    struct watch *watch = context;
    int result = stream_lines_feed(&watch->lines, data, size, on_line, watch, err);
    watch->is_lost |= result < 0 && !watch->has_error_event; /* what was lost is unknown */
    return result;
}

/* The objects that exist were not sent to their end: the next try reads a list. */
static bool was_initial(struct watch *watch) {
    bool was = watch->is_initial;
    loop_unset(watch->loop, &watch->initial);
    watch->is_initial = false;
    watch->has_no_lists |= was;
    return was;
}

static void on_watch_end(void *context, const struct client_answer *answer) {
    struct watch *watch = context;
    enum error_kind kind = answer->err ? answer->err->kind : ERROR_NONE;
    loop_unset(watch->loop, &watch->settled);
    watch->call = NULL;
    stream_lines_release(&watch->lines); /* drops an incomplete line, too */
    if (was_initial(watch) && (kind == ERROR_INVALID || kind == ERROR_NOT_FOUND)) {
        next(watch); /* a server without this, or without the kind */
        return;
    }
    bool was_short = clock_monotonic_ms() - watch->opened_ms < WATCH_HEALTHY_MS;
    if (!was_short) {
        watch->backoff = (struct backoff){0};
        watch->has_no_lists = false; /* it may be another server by now */
    }
    if (kind == ERROR_GONE || kind == ERROR_NOT_FOUND || watch->is_lost ||
        is_version_too_large(answer)) { /* 404: the definition has changed */
        set_text(&watch->resource_version, NULL);
    }
    if (kind != ERROR_NONE && kind != ERROR_GONE) {
        fail(watch, answer->err, answer->retry_after_s);
    } else if (was_short) { /* a server that ends every watch at once must not be flooded with
                               requests */
        pause_for(watch, backoff_next(&watch->backoff, 0));
    } else {
        next(watch);
    }
}

/* From a version, or, where there is none yet, with all objects that exist before the changes: a
 * bookmark ends them (watch-list streaming, Kubernetes 1.32). */
static char *follow_path(const struct watch *watch) {
    AUTO(text_freep)
    char *from = watch->is_initial
                     ? x_strdup("sendInitialEvents=true&resourceVersionMatch=NotOlderThan")
                     : x_printf("resourceVersion=%s", watch->resource_version);
    return x_printf("%s?watch=true&allowWatchBookmarks=true&%s&timeoutSeconds=%u%s%s", watch->path,
                    from, WATCH_LIFE_MIN_S + arc4random_uniform(WATCH_LIFE_SPREAD_S),
                    watch->label ? "&labelSelector=" : "", watch->label ? watch->label : "");
}

static void follow(struct watch *watch) {
    watch->is_initial = !watch->resource_version;
    watch->is_lost = watch->has_error_event = false;
    AUTO(text_freep) char *path = follow_path(watch);
    stream_lines_release(&watch->lines);
    stream_lines_init(&watch->lines, CLIENT_OBJECT_MAX);
    watch->opened_ms = clock_monotonic_ms();
    watch->settled = (struct loop_timer){.fire = clear_trouble, .context = watch};
    loop_set(watch->loop, &watch->settled, SETTLED_MS);
    if (watch->is_initial) {
        watch->is_told = false;
        watch->initial = (struct loop_timer){.fire = give_up_initial, .context = watch};
        loop_set(watch->loop, &watch->initial, WATCH_INITIAL_MS);
    }
    struct client_request request = {.verb = "watch",
                                     .path = path,
                                     .received = on_watch_data,
                                     .timeout_ms = -1,
                                     .silence_ms = WATCH_SILENCE_MS,
                                     .done = on_watch_end,
                                     .context = watch};
    watch->call = client_start(watch->client, &request);
}

static void next(void *context) {
    struct watch *watch = context;
    if (watch->resource_version || !(watch->has_no_lists || watch->next_page)) {
        follow(watch);
    } else {
        list(watch);
    }
}

/* "windlass.dev/job" as a selector in a query. */
static char *escape_label(const char *label) {
    const char *slash = strchr(label, '/');
    return slash ? x_printf("%.*s%%2F%s", (int)(slash - label), label, slash + 1) : x_strdup(label);
}

int watch_new(const struct watch_options *options, struct client *client, struct loop *loop,
              struct watch **ret_watch, struct error *err) {
    char *path = NULL;
    struct rest_place place = {.api_version = options->api_version,
                               .kind = options->kind,
                               .namespace = options->namespace};
    if (rest_path(&place, &path, err) < 0) {
        return error_context(err, "watch");
    }
    struct watch *watch = x_calloc(1, sizeof *watch);
    place.api_version = rest_older_version(options->api_version);
    if (place.api_version && rest_path(&place, &watch->other_path, err) == 0) {
        watch->other_version = x_strdup(place.api_version);
    }
    watch->client = client;
    watch->loop = loop;
    watch->listener = options->listener;
    watch->knows = options->knows;
    watch->context = options->context;
    watch->path = path;
    watch->may_be_absent = options->may_be_absent;
    watch->label = options->label ? escape_label(options->label) : NULL;
    watch->of_kind =
        json_pack("{s:s, s:s}", "apiVersion", options->api_version, "kind", options->kind);
    pause_for(watch, 0);
    *ret_watch = watch;
    return 0;
}

void watch_free(struct watch *watch) {
    if (!watch) {
        return;
    }
    loop_unset(watch->loop, &watch->timer);
    loop_unset(watch->loop, &watch->settled);
    loop_unset(watch->loop, &watch->initial);
    if (watch->call) {
        client_cancel(watch->client, watch->call);
    }
    stream_items_release(&watch->items);
    stream_lines_release(&watch->lines);
    json_decref(watch->of_kind);
    free(watch->path);
    free(watch->other_path);
    free(watch->other_version);
    free(watch->label);
    free(watch->resource_version);
    free(watch->next_page);
    free(watch->page_version);
    free(watch);
}

const struct error *watch_error(const struct watch *watch) {
    return watch->trouble.kind ? &watch->trouble : NULL;
}

bool watch_is_answered(const struct watch *watch) {
    return watch->is_answered;
}

bool watch_is_listed(const struct watch *watch) {
    return watch->is_listed;
}
