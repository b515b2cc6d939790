// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/pod.h"
#include "agent/score/worker/worker.h"

int score_command(int argc, char **argv) {
    static const char about[] =
        "Takes mini-batches from the job's coordinator, scores them and writes the\n"
        "outputs. Started by windlass, which puts everything it needs into environment\n"
        "variables (WINDLASS_*, and one for each volume).";
    return pod_run(argc, argv, about, JOB_WORKER, worker_run);
}
