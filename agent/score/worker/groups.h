/* groups.h: items on their way through a network: small ones of one size go together, and while one
 * group is in the network (on a GPU: on its way there and back, too) the next is collected. Results
 * come in the order of the items. */
#pragma once

#include "agent/data/input/sink.h"
#include "agent/engine/session.h"
#include "agent/score/worker/postprocess.h"
#include "agent/score/worker/preprocess.h"
#include "agent/score/worker/slices.h"

enum {
    GROUPS_MOST = 256,         /* items in one run of the network ... */
    GROUPS_MOST_PICTURES = 16, /* ... of pictures */
};

struct groups;

/* All is borrowed. Inputs as the model has them; dims[0], of all the same, at most GROUPS_MOST. */
struct groups_options {
    struct session *session;
    const struct preprocess *preprocess;
    const struct postprocess *postprocess;
    const struct slices_input *inputs; /* the session's; pictures are of networks with one */
    bool has_bytes;                    /* the session was opened with bytes_in */
};

struct groups *groups_new(const struct groups_options *options);
void groups_free(struct groups *groups); /* before the session; NULL is fine */

/* One more item: what is full is run, and what is done is written. EXHAUSTED alone never fails a
 * group of several: half as many go at once from then on, and the log says so. */
NODISCARD int groups_add_picture(struct groups *groups, struct sink *sink,
                                 const struct picture *picture, const char *name,
                                 struct error *err);
/* slices: one for each input. */
NODISCARD int groups_add_slices(struct groups *groups, struct sink *sink,
                                const struct npy_slice *slices, const char *name,
                                struct error *err);
/* Runs and writes all that is left. */
NODISCARD int groups_finish(struct groups *groups, struct sink *sink, struct error *err);
/* Forgets what is left, waiting for what runs. */
void groups_drop(struct groups *groups);

/* The output that has the results: the first one of floats, as a classifier of ai.onnx.ml gives its
 * label before its scores. */
const struct tensor *groups_scores(const struct session *session, const struct tensor *outputs);
