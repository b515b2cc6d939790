// SPDX-License-Identifier: Apache-2.0
/* build/windlass-shim: what runs in a container of the user's image. Fully static, so that it needs
 * nothing of that image and loads nothing from it. */
#include "agent/commands/command.h"
#include "agent/commands/launch.h"
#include "agent/commands/pod.h"
#include "agent/launch/rank.h"
#include "lib/net/tls.h"

#include <signal.h>
#include <stddef.h>

static const struct command commands[] = {
    {"score", score_command, "takes leases and has a program of yours score them: a worker"},
    {"launch", launch_command, "a pod of a gang: registers, prepares, runs the command with all"},
    {"alive", alive_command, "does the agent of this pod still work? for a livenessProbe"},
    {"rank", rank_main, "stands before a rank: keeps what it says, tells how it ended"},
    {"metric", metric_command, "tells a figure of this rank's training: loss 0.31 --step 1200"},
    {NULL, NULL, NULL}, /* ends the table */
};

static const struct program program = {
    .name = "windlass-shim",
    .about = "the part of Windlass that runs in a container of any image.",
    .notes = "It is started by windlass, its job in the environment.\n"
             "Exit codes: 0 succeeded, 1 the job failed, 2 usage or input, 3 this machine,\n"
             "130 interrupted.\n",
    .commands = commands,
};

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    tls_ignore_configuration();
    launch_main *other = launch_link(argc > 0 ? argv[0] : NULL);
    if (other) {
        return other(argc, argv);
    }
    return program_run(&program, argc, argv);
}
