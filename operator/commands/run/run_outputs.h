/* run_outputs.h: whether what a run has left is still there. */
#pragma once

#include "lib/tree.h"

/* Whether each output of the job has its result.json (docs/results.md), of this job, and each file
 * that it names, with its size. Of a command whose status says why there is none, its folders; of
 * a job that makes jobs, the folders of these. job: as its run saw it last; folders: {volume: its
 * folder}. */
bool run_outputs_are_whole(const json_t *object, const json_t *job, const json_t *folders);
