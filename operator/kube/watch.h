/* watch.h: reports all objects of one kind on an API server, and their changes: a list, then a
 * watch that starts at the list's resourceVersion. No change is lost: after an error the watch
 * resumes where it was, and if the server no longer has that version (410 Gone), the list is read
 * again (CLUSTER_LISTING to CLUSTER_LISTED). A server that can begins the watch with the objects
 * that exist, and no list is read. Else a list is read as a small first page and a large one; what
 * is longer, then as one answer from the server's cache, or, if that fails, in further pages.
 * One delay grows over all failures of list and watch (backoff.h); only a watch that lived
 * WATCH_HEALTHY_MS resets it. A kind that may be absent is absent when the server does not know it
 * (404), but one that was there only when that lasts: until then it is an error, as any other.
 * docs/client.md compares this with client-go. */
#pragma once

#include "operator/cluster.h"
#include "operator/kube/client.h"
#include "operator/kube/stream.h"

enum {
    WATCH_FIRST_PAGE = 20,     /* objects of the first page, which shows whether requests succeed */
    WATCH_PAGE = 500,          /* objects per request */
    WATCH_INITIAL_MS = 5000,   /* without a byte before the objects that exist are complete */
    WATCH_HEALTHY_MS = 20000,  /* a watch that ends earlier counts as a failure */
    WATCH_ABSENT_MS = 600000,  /* a kind that was there is gone after this time of 404 */
    WATCH_SILENCE_MS = 90000,  /* bookmarks arrive every minute: a silent stream is dead */
    WATCH_LIFE_MIN_S = 300,    /* the server ends a watch after this time */
    WATCH_LIFE_SPREAD_S = 300, /* plus up to this, so that watches do not end at the same time */
};

struct watch;

struct watch_options {
    const char *api_version, *kind;
    const char *namespace; /* NULL: all */
    const char *label;     /* only objects that have it; NULL: all */
    bool may_be_absent;    /* the cluster may lack the kind's definition: cluster.h */
    cluster_listener *listener;
    /* Whether the listener has that version of an object already, and need not get its event; NULL:
     * it gets all events. */
    bool (*knows)(void *context, const struct stream_identity *identity);
    void *context;
};

/* Starts to list. client and loop must outlive the watch; listener is called from loop_wait. Fails
 * with INVALID when the kind or the namespace is invalid. */
NODISCARD int watch_new(const struct watch_options *options, struct client *client,
                        struct loop *loop, struct watch **ret_watch, struct error *err);
void watch_free(struct watch *watch);

/* Why the watch does not get events at the moment; NULL: no error (it works, or the first list is
 * still being read). Borrowed. */
const struct error *watch_error(const struct watch *watch);
bool watch_is_answered(const struct watch *watch); /* the first page of a list has arrived */
bool watch_is_listed(const struct watch *watch);   /* a list is complete */
