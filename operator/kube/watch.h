/* watch.h: everything of one kind on an API server, told as it changes: a list, then a watch from
 * there, and both again whenever they break. What went wrong is never lost: the watch resumes where
 * it was, or, where that is not possible (410 Gone), lists anew between LISTING and LISTED. A list
 * is a first page, then all of it out of the server's memory, or, if that fails, in pages. */
#pragma once

#include "operator/cluster.h"
#include "operator/kube/client.h"

enum {
    WATCH_FIRST_PAGE = 20,     /* objects of the first page: it tells whether all is well */
    WATCH_PAGE = 500,          /* objects asked for at a time */
    WATCH_SILENCE_MS = 90000,  /* bookmarks come every minute: the stream is dead */
    WATCH_LIFE_MIN_S = 300,    /* the server ends a watch after this, */
    WATCH_LIFE_SPREAD_S = 300, /* spread so that not all end at once */
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

/* Starts to list. client and loop must live on; listener is called out of loop_wait. Fails with
 * INVALID when the kind or the namespace cannot be. */
NODISCARD int watch_new(const struct watch_options *options, struct client *client,
                        struct loop *loop, struct watch **ret_watch, struct error *err);
void watch_free(struct watch *watch);

/* Why it is behind at the moment: NULL while all is well (which it is not before the first list is
 * complete, but then there need be no error). Borrowed. */
const struct error *watch_trouble(const struct watch *watch);
bool watch_is_answered(const struct watch *watch); /* the first page of a list came */
bool watch_is_listed(const struct watch *watch);   /* a list is complete */
