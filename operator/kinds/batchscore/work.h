/* work.h: what of a BatchScore's spec the agent reads, and the hash that names a run. Pure. */
#pragma once

#include "operator/kinds/batchscore/spec.h"

extern const char *const work_modes[]; /* output.mode by enum output_mode */

/* WINDLASS_SPEC, owned by the caller: input, scorer, output, retry, errorThreshold,
 * miniBatchErrorThreshold, logs and trigger as they stand in the spec, every default filled in, but
 *   miniBatchSize   items, or "auto"; not there for a table with partitionKeys
 *   miniBatchBytes  in its place for a table whose size is not "auto" */
json_t *work_of(const json_t *spec);

/* RUN: 16 hexadecimal digits of SHA-256 over what decides results and how they are cut: input,
 * scorer (less processesPerWorker, initTimeoutSeconds and precision: FP32), mini-batch size,
 * output, and what the volumes are that these name. So a job that is applied again, with more
 * workers or tries, is the same run, and two jobs whose volume `in` is another claim are two.
 * folders: batchscore_options'.
 */
void work_run(const struct batchscore_spec *spec, const json_t *folders, char ret_run[static 17]);
