/* groups.h: runs items through a network in groups: small items of one size form a group, and while
 * one group is in the network (on a GPU: including its copies there and back) the next is
 * collected. Results come in the order of the items. */
#pragma once

#include "agent/data/input/sink.h"
#include "agent/engine/session.h"
#include "agent/score/feed/preprocess.h"
#include "agent/score/feed/slices.h"
#include "agent/score/post/post.h"

enum {
    GROUPS_MOST = 256,         /* maximum of items in one run of the network ... */
    GROUPS_MOST_PICTURES = 16, /* ... and of pictures */
};

struct groups;

/* All pointers are borrowed. Inputs are the model's; dims[0] is the same for all, at most
 * GROUPS_MOST. */
struct groups_options {
    struct session *session;
    const struct preprocess *preprocess;
    struct post *post;
    const struct slices_input *inputs; /* the session's; a network for pictures has one input */
    bool has_bytes;                    /* the session was opened with pixels_in */
};

struct groups *groups_new(const struct groups_options *options);
void groups_free(struct groups *groups); /* before the session; accepts NULL */

/* Adds one item. A full group is run, and finished results are written. If a group of several items
 * fails with EXHAUSTED, it is repeated with half as many items, also for later groups, and this is
 * logged. */
NODISCARD int groups_add_picture(struct groups *groups, struct sink *sink,
                                 const struct picture *picture, const char *name,
                                 struct error *err);
/* slices: one for each input. */
NODISCARD int groups_add_slices(struct groups *groups, struct sink *sink,
                                const struct npy_slice *slices, const char *name,
                                struct error *err);
/* Runs and writes the remaining items. */
NODISCARD int groups_finish(struct groups *groups, struct sink *sink, struct error *err);
/* Drops the remaining items, after waiting for the group that runs. */
void groups_drop(struct groups *groups);
