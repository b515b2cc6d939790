/* stale.h: removes result files of earlier generations (runs and reruns of the same output,
 * generation.h) that the present one has not replaced: of inputs that are gone, of items that now
 * fail, of an earlier spec; and of a run whose .windlass is gone. This is done before the
 * summary is written, so a complete output has no stale file. Only names that an earlier generation
 * may have written, and those of this generation's items, are removed. */
#pragma once

#include "agent/score/coordinator/kept.h"

/* outputs: the spec paths of this generation's files; bits: which of its items have a result, NULL:
 * its results are not files of items. Also those of this generation whose result does not count any
 * more (prepared->dropped). Blocks. */
NODISCARD int stale_remove(struct prepared_job *prepared, const struct job *job,
                           const json_t *outputs, const struct kept_bits *bits, struct error *err);
/* Removes what earlier generations have left for this one (lists, bits), when its own is stored. */
NODISCARD int stale_forget(struct prepared_job *prepared, struct error *err);
/* The output is incomplete from now on: removes what says that it is complete: result.json, and
 * (all: there are earlier generations) summary.json. */
NODISCARD int stale_remove_result(struct store *output, bool all, struct error *err);
/* Before the claim of an output that has no .windlass: notes the files that a result.json there
 * names, in .windlass/HOME/found, with lines as in outputs.jsonl, so that stale_remove removes
 * those that this run has not made again, as long as they are what that run wrote. May be repeated.
 * INVALID: it is the result of another run, and the job is not a restart; or of another kind of
 * job. Without a result.json existing files are treated as foreign and kept,
 * and prepared->has_strangers is set. Blocks. */
NODISCARD int stale_record_strangers(struct prepared_job *prepared, const struct job *job,
                                     struct error *err);
/* Of an output that has a .windlass. INVALID: another kind of job has written its result.json there
 * since: neither is complete. */
NODISCARD int stale_check_kind(const struct prepared_job *prepared, const struct job *job,
                               struct error *err);
/* For a coordinator that continues a claimed run: sets has_strangers by what the first one noted.
 */
NODISCARD int stale_load_strangers(struct prepared_job *prepared, struct error *err);
