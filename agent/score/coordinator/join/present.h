/* present.h: whether the files of a run in mode PerFile are in its output, with their sizes, before
 * it is called done: others can write there, too, and a worker published them long ago. What is
 * gone or has another size is published once more. */
#pragma once

#include "agent/score/coordinator/prepared.h"

/* Looks at all files of OUTPUT/outputs.jsonl. INVALID: results of an earlier run, which are not in
 * the commits of this one, are gone (the error names one), or, as from journal_publish_all, results
 * are missing or changed in the store. */
NODISCARD int present_ensure(struct prepared_job *prepared, struct error *err);
