/* feeds.h: what gives each input of a network its values, by spec.scorer.onnx.inputs; an input
 * without an entry is fed by default: with a tokenizer those with the names of its inputs by the
 * tokens of the text (token_roles.h), else the first that takes pictures by the item's picture, of
 * a table by columns, of arrays by the slice. For scorer_onnx; one thread. */
#pragma once

#include "agent/engine/session.h"
#include "agent/score/feed/feed.h"

enum {
    FEEDS_MOST = 256,         /* maximum of items in one run of the network ... */
    FEEDS_MOST_PICTURES = 16, /* ... and of pictures */
    FEEDS_MOST_FIXED = 1024,  /* of a network with a fixed number of items, but pictures */
    /* Of all texts of a run; one text may have more. More do not fit a processor's caches ... */
    FEEDS_MOST_TOKENS = 1024,
    FEEDS_MOST_TOKENS_STREAMS = 8192, /* ... and a GPU wants them */
    FEEDS_STEPS_AXIS = 1,             /* of the values of an input in steps */
};

struct feeds;

struct feeds_options {
    const json_t *spec;
    const struct session *session; /* both outlive the feeds */
    enum item_type item;           /* of the items that will be taken */
    bool has_bytes;                /* the session was opened with pixels_in */
};

/* INVALID, naming field and input: an entry for an input that the network does not have, an input
 * that nothing feeds, a source that does not fit its input, or items that have no axis in the
 * network. */
NODISCARD int feeds_new(const struct feeds_options *options, struct feeds **ret_feeds,
                        struct error *err);
void feeds_free(struct feeds *feeds); /* accepts NULL */

size_t feeds_count(const struct feeds *feeds); /* of the network's inputs */
/* The network's fixed number of items; -1: any number. */
int64_t feeds_fixed(const struct feeds *feeds);
/* Whether an item is a sequence of steps, because an input is a state: an output of the step
 * before. Then each run of the network has one step of one item. */
bool feeds_have_states(const struct feeds *feeds);
/* Whether the item has values of its own for each step of this input: with a state, one that is
 * neither a state nor a constant. It is measured and filled for all steps of the item at once, [1,
 * steps, ...], though the network's input is [1, ...]; all of them have as many steps, at least
 * one. */
bool feeds_in_steps(const struct feeds *feeds, size_t index);
/* The output of the network whose value is input `index` in the next step; -1: it is not a state.
 */
int feeds_state(const struct feeds *feeds, size_t index);
/* Before and after a run: a network that takes one picture [3, h, w] has no axis for the items. Its
 * inputs are measured with one all the same; this takes it away from `inputs`, all of them, and
 * gives it to `outputs`. Other networks: nothing is changed. */
void feeds_strip(const struct feeds *feeds, struct tensor *inputs);
void feeds_restore(const struct feeds *feeds, struct tensor *outputs);
/* Adds the files that the values depend on (scorer.h). */
void feeds_files(const struct feeds *feeds, json_t *files);
/* The names of the columns of a table that the values are taken from; the caller owns them. */
json_t *feeds_columns(const struct feeds *feeds);

/* Takes an item, for which the following functions are then called; it is borrowed until the next
 * call. INVALID: it does not fit the network. */
NODISCARD int feeds_take(struct feeds *feeds, const struct item *item, struct error *err);
/* The maximum of items in one run, if none has more tokens than the taken one. */
int64_t feeds_most(const struct feeds *feeds);
/* Whether the network's types hold the taken item's values; INVALID names one that they do not. */
NODISCARD int feeds_check(const struct feeds *feeds, struct error *err);
/* feed_kind.measure, fill and pads of input `index`. */
NODISCARD int feeds_measure(const struct feeds *feeds, size_t index, struct tensor *ret_values,
                            bool *ret_is_shared, struct error *err);
void feeds_fill(const struct feeds *feeds, size_t index, const struct shape *shape, void *values);
bool feeds_pads(const struct feeds *feeds, size_t index);
/* Of the taken text; zeros: there is none. */
struct feed_span feeds_span(const struct feeds *feeds);
/* Of the taken picture; zeros: there is none. */
struct preprocess_size feeds_size(const struct feeds *feeds);
