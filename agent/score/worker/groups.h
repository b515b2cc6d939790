/* groups.h: runs items through a network in groups: small items of one size form a group, and while
 * one group is in the network (on a GPU: including its copies there and back) the next is
 * collected. Results come in the order of the items. */
#pragma once

#include "agent/data/input/input.h"
#include "agent/engine/session.h"
#include "agent/score/feed/feeds.h"
#include "agent/score/post/post.h"

struct groups;

/* All pointers are borrowed. */
struct groups_options {
    struct session *session;
    struct feeds *feeds;
    struct post *post;
};

/* Gets the results, in the order of the items that were added. */
struct groups_target {
    /* made: may be taken over (*made = {0}); head and name are borrowed until the call returns. */
    int (*add)(void *context, struct post_result *made, struct error *err);
    void *context;
};

struct groups *groups_new(const struct groups_options *options);
void groups_free(struct groups *groups); /* before the session; accepts NULL */

/* Adds the item that the feeds have taken; head: of its row (media.h), copied; may be NULL. A full
 * group is run, and finished results are given out. If a group of several items fails with
 * EXHAUSTED, it is repeated with half as many items, also for later groups, and this is logged. */
NODISCARD int groups_add(struct groups *groups, const struct groups_target *target,
                         const struct item *item, const char *head, struct error *err);
/* Runs the remaining items, and gives out their results. */
NODISCARD int groups_finish(struct groups *groups, const struct groups_target *target,
                            struct error *err);
/* Drops the remaining items, after waiting for the group that runs. */
void groups_drop(struct groups *groups);
