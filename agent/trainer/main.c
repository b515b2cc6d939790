// SPDX-License-Identifier: Apache-2.0
/* build/windlass-trainer: one rank of a training. The only program that is linked with MPI. */
#include "agent/commands/launch_command.h"
#include "agent/commands/program.h"
#include "agent/data/decoder/decoder_child.h"
#include "agent/launch/rank/rank.h"
#include "agent/trainer/comm_command.h"
#include "agent/trainer/train_command.h"

#include <stddef.h>

static const struct program_command commands[] = {
    {"comm", comm_command, "check: whether sums over these ranks are right, and how fast"},
    {"train", train_command, "one rank of a training"},
    {"launch", launch_command, "a pod of a gang: registers, trains together with the others"},
    {"alive", alive_command, "checks that the agent of this pod still works: for a livenessProbe"},
    {"begin", begin_command, "copies what a trial of a population continues from into its outputs"},
    {"metric", metric_command, "reports a metric of this rank's training: loss 0.31 --step 1200"},
    {"rank", rank_main, "runs a rank: records its output, reports how it ended"},
    {NULL, NULL, NULL}, /* ends the table */
};

static const struct program program = {
    .name = "windlass-trainer",
    .decoder = decoder_child_pictures,
    .about = "the part of Windlass that trains, over Open MPI.",
    .notes =
        "windlass starts launch, with its job in the environment. mpirun starts train and comm,\n"
        "once for each rank:\n\n"
        "  mpirun -np 4 windlass-trainer comm check\n\n"
        "Exit codes: 0 succeeded, 1 the job failed, 2 usage or input, 3 this machine or\n"
        "another rank, 4 no message from the other ranks, 5 bad samples, 130 interrupted.\n",
    .commands = commands,
    .main_of_link = launch_command_of_link,
};

int main(int argc, char **argv) {
    return program_run(&program, argc, argv);
}
