/* watch.h: all objects of one kind on an API server, reported as they change: a list, then a watch
 * from that point, and both again after a failure. After an error the watch resumes at its
 * position, or, where that is not possible (410 Gone), lists again between LISTING and LISTED, so
 * that no change is lost. A list is a small first page, then all objects from the server's memory,
 * or, if that fails, in pages. */
#pragma once

#include "operator/cluster.h"
#include "operator/kube/client.h"

enum {
    WATCH_FIRST_PAGE = 20,     /* objects of the first page, which shows whether requests succeed */
    WATCH_PAGE = 500,          /* objects per request */
    WATCH_SILENCE_MS = 90000,  /* bookmarks arrive every minute: a silent stream is dead */
    WATCH_LIFE_MIN_S = 300,    /* the server ends a watch after this time */
    WATCH_LIFE_SPREAD_S = 300, /* plus up to this, so that watches do not end at the same time */
};

struct watch;

struct watch_options {
    const char *api_version, *kind;
    const char *namespace; /* NULL: all */
    const char *label;     /* only objects that have it; NULL: all */
    bool may_be_absent;    /* cluster.h's watch */
    cluster_listener *listener;
    void *context;
};

/* Starts to list. client and loop must outlive the watch; listener is called from loop_wait. Fails
 * with INVALID when the kind or the namespace is invalid. */
NODISCARD int watch_new(const struct watch_options *options, struct client *client,
                        struct loop *loop, struct watch **ret_watch, struct error *err);
void watch_free(struct watch *watch);

/* Why the watch is behind at the moment; NULL: no error. Before the first list is complete the
 * watch is behind, possibly without an error. Borrowed. */
const struct error *watch_error(const struct watch *watch);
bool watch_is_answered(const struct watch *watch); /* the first page of a list has arrived */
bool watch_is_listed(const struct watch *watch);   /* a list is complete */
