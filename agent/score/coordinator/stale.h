/* stale.h: files of earlier generations (generation.h) that the present one has not written again:
 * results of inputs that are gone, that have no result any more, or of a spec of then. They are
 * removed before the summary is written, so that an output that is called done has none. Only files
 * that an earlier generation may have written are touched. */
#pragma once

#include "agent/score/coordinator/kept.h"

/* outputs: the spec paths of this generation's files; bits: which of its items have a result, NULL:
 * its results are not files of items. Does nothing in the first generation. Blocks. */
NODISCARD int stale_remove(struct prepared_job *prepared, const struct job *job,
                           const json_t *outputs, const struct kept_bits *bits, struct error *err);
/* Removes what earlier generations have left for this one (lists, bits), when its own is stored. */
NODISCARD int stale_forget(struct prepared_job *prepared, struct error *err);
/* The output is not whole from now on: removes what says that it is: result.json, and (all: there
 * are earlier generations) summary.json. */
NODISCARD int stale_unsay(struct store *output, bool all, struct error *err);
