/* work.h: the agent's part of a BatchScore's spec, and the hash that names a run. Pure. */
#pragma once

#include "operator/kinds/batchscore/spec.h"

extern const char *const batchscore_output_modes[]; /* output.mode by enum output_mode */

/* WINDLASS_SPEC, owned by the caller: input, scorer, output, retry, errorThreshold,
 * miniBatchErrorThreshold, logs and trigger from the spec, with all defaults filled in, except:
 *   miniBatchSize   items, or "auto"; absent for a table with partitionKeys
 *   miniBatchBytes  replaces it for a table whose size is not "auto"; 0: a row
 *   code            where a program's code is (code.h); absent if its words name no volume
 */
json_t *batchscore_work(const json_t *spec);

/* RUN: 16 hexadecimal digits of SHA-256 over everything that decides the results: input, scorer
 * (without processesPerWorker, initTimeoutSeconds and precision: FP32), output, and the identities
 * of the volumes that these use. So a job that is applied again, with more workers or tries, is the
 * same run, and two jobs whose volume `in` is a different claim are two runs. folders: the volumes'
 * folders on this machine, or NULL. */
void batchscore_work_run(const struct batchscore_spec *spec, const json_t *folders,
                         char ret_run[static 17]);
