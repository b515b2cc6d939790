// SPDX-License-Identifier: Apache-2.0
/* build/windlass-trainer: one rank of a training. The only program that is linked with MPI. */
#include "agent/commands/command.h"
#include "agent/trainer/comm_command.h"
#include "agent/trainer/train_command.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>

/* Named, since docs/disttrain.md promises them, and refused, since they are not built. */
static int not_built(int argc, char **argv) {
    (void)argc;
    fprintf(stderr,
            "windlass-trainer %s: this release starts no gangs yet; mpirun does: "
            "mpirun -np 4 windlass-trainer train\n",
            argv[0]);
    return 2;
}

static const struct command commands[] = {
    {"comm", comm_command, "check: do these ranks add up, and how fast?"},
    {"train", train_command, "one rank of a training"},
    {"launch", not_built, "not built yet: starts the ranks of a gang"},
    {NULL, NULL, NULL}, /* ends the table */
};

static const struct program program = {
    .name = "windlass-trainer",
    .about = "the part of Windlass that trains, over Open MPI.",
    .notes = "mpirun starts it, once for each rank:\n\n"
             "  mpirun -np 4 windlass-trainer comm check\n\n"
             "Exit codes: 0 succeeded, 1 the job failed, 2 usage or input, 3 this machine or\n"
             "another rank, 130 interrupted.\n",
    .commands = commands,
};

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    return program_run(&program, argc, argv);
}
