// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/pod.h"

#include "agent/job.h"
#include "agent/score/coordinator.h"
#include "agent/score/worker.h"
#include "lib/options.h"

#include <stdio.h>

static int run_pod(int argc, char **argv, const struct command_help *help, enum job_role role) {
    static const struct option options[] = {{.name = NULL}};
    struct option_list words = {0};
    struct error err = {0};
    struct job job = {0};
    int result = options_read(argc, argv, help, options, &words, &err);
    if (result > 0) {
        return 0;
    }
    if (result < 0 || job_read(role, &job, &err) < 0) {
        fprintf(stderr, "windlass-agent %s: %s\n", argv[0], err.text);
        return error_exit_code(&err);
    }
    job_catch_signals();
    int code = role == JOB_COORDINATOR ? coordinator_run(&job) : worker_run(&job);
    job_release(&job);
    return code;
}

int pod_coordinate(int argc, char **argv) {
    static const struct command_help help = {
        .usage = "windlass-agent coordinate",
        .about = "Lists a job's input, leases mini-batches to workers, joins their results and\n"
                 "writes the summary. Started by windlass, which puts everything it needs into\n"
                 "environment variables (WINDLASS_*, and one for each volume).",
    };
    return run_pod(argc, argv, &help, JOB_COORDINATOR);
}

int pod_score(int argc, char **argv) {
    static const struct command_help help = {
        .usage = "windlass-agent score",
        .about = "Takes mini-batches from the job's coordinator, scores them and writes the\n"
                 "outputs. Started by windlass, which puts everything it needs into environment\n"
                 "variables (WINDLASS_*, and one for each volume).",
    };
    return run_pod(argc, argv, &help, JOB_WORKER);
}
