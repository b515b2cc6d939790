/* run_result.h: writes OUTPUT/result.json (agent/result/result_file.h) and, with a signing key, its
 * signed statement (envelope.h), when a job has succeeded: last, after everything that they name.
 * For the coordinator. */
#pragma once

#include "agent/score/coordinator/prepared.h"
#include "agent/score/coordinator/summary.h"
#include "lib/signature.h"

struct run_result {
    const struct job *job;
    const struct prepared_job *prepared; /* with what assemble has left there */
    const struct summary *summary;       /* as it was written */
};

/* Adds "excluded": files of the job below its output that it does not make, such as logs, which
 * grow while processes still run, or the list of the input. */
void run_result_add_apart(const struct job *job, json_t *result);
/* GONE: summary.json is another coordinator's, which has ended this run: nothing was written. Else
 * the store's error: result.json does not exist then. */
/* Signed with prepared->key, if there is one. */
NODISCARD int run_result_write(const struct run_result *result, struct error *err);
