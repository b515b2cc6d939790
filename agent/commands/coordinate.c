// SPDX-License-Identifier: Apache-2.0
/* `windlass-agent coordinate`: the coordinator of a BatchScore. */
#include "agent/commands/pod_command.h"
#include "agent/score/coordinator/coordinator.h"

int coordinate_command(int argc, char **argv) {
    static const char about[] =
        "Lists a job's input, leases mini-batches to workers, joins their results and\n"
        "writes the summary. Started by windlass, with its job in environment variables\n"
        "(WINDLASS_*, and one for each volume).";
    return pod_command_run(argc, argv, about, JOB_COORDINATOR, coordinator_run);
}
