// SPDX-License-Identifier: Apache-2.0
/* `windlass-agent score`: a worker of a BatchScore. */
#include "agent/commands/pod_command.h"
#include "agent/commands/serve_command.h"
#include "agent/score/coordinator/tidy.h"
#include "agent/score/worker/worker.h"

#include <stdio.h>

static int score(const struct job *job) {
    int64_t epoch = -1;
    int exit_code = worker_run(job, &epoch);
    if (epoch >= 0) {
        tidy_run_left(job, epoch);
    }
    return exit_code;
}

int score_command(int argc, char **argv) {
    static const char about[] =
        "Takes mini-batches from the job's coordinator, scores them and writes the\n"
        "outputs. Started by windlass, with its job in environment variables (WINDLASS_*,\n"
        "and one for each volume).";
    struct error err = {0};
    if (serve_command_announce(&err) < 0) {
        fprintf(stderr, "score: %s\n", err.text);
        return error_exit_code(&err);
    }
    return pod_command_run(argc, argv, about, JOB_WORKER, score);
}
