/* sequence.h: runs a network over the steps of one item, such as the pieces of a recording, and
 * carries its states from step to step (feeds_have_states). One thread. */
#pragma once

#include "agent/engine/session.h"
#include "agent/score/feed/feeds.h"

struct sequence;

/* Both must outlive it. */
struct sequence *sequence_new(struct session *session, const struct feeds *feeds);
void sequence_free(struct sequence *sequence); /* accepts NULL */
/* Runs the taken item, of which at most `most` steps. ret_outputs: room for all outputs of the
 * network; their data is borrowed until the next call. An output is [1, steps, ...]: what each step
 * gave, without its own axis for the items; one that is a state is [1, ...]: its last value.
 * INVALID: an output that is not as its input, or has more values than can be held. */
NODISCARD int sequence_run(struct sequence *sequence, int64_t most, struct tensor *ret_outputs,
                           struct error *err);
