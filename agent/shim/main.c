// SPDX-License-Identifier: Apache-2.0
/* build/windlass-shim: runs in containers of the user's image. Fully static: it needs nothing from
 * that image and loads nothing from it. */
#include "agent/commands/launch_command.h"
#include "agent/commands/pod_command.h"
#include "agent/commands/program.h"
#include "agent/commands/serve_command.h"
#include "agent/data/decoder/decoder.h"
#include "agent/data/decoder/decoder_child.h"
#include "agent/launch/rank/rank.h"
#include "lib/net/tls.h"

#include <stdio.h>
#include <string.h>

/* Pages of packed Parquet alone (decoder.h), for this command alone: others' environments stay as
 * they are. */
static int score(int argc, char **argv) {
    struct error err = {0};
    if (decoder_choose("/proc/self/exe", &err) < 0) {
        fprintf(stderr, "windlass-shim: %s\n", err.text);
        return 2;
    }
    return score_command(argc, argv);
}

static const struct program_command commands[] = {
    {"score", score, "a worker: takes leases and scores them with your program"},
    {"serve", serve_command, "runs the model server of a worker, as long as the worker lives"},
    {"launch", launch_command,
     "a pod of a gang: registers, prepares, runs the command together with the others"},
    {"alive", alive_command, "checks that the agent of this pod still works: for a livenessProbe"},
    {"rank", rank_main, "runs a rank: records its output, reports how it ended"},
    {"begin", begin_command, "copies what a trial of a population continues from into its outputs"},
    {"metric", metric_command, "reports a metric of this rank's training: loss 0.31 --step 1200"},
    {NULL, NULL, NULL}, /* ends the table */
};

static const struct program program = {
    .name = "windlass-shim",
    .about = "the part of Windlass that runs in a container of any image.",
    .notes = "Started by windlass, with the job in environment variables.\n"
             "Exit codes: 0 succeeded, 1 the job failed, 2 usage or input, 3 this machine,\n"
             "130 interrupted.\n",
    .commands = commands,
    .main_of_link = launch_command_of_link,
};

int main(int argc, char **argv) {
    tls_ignore_configuration();
    if (argc > 1 && strcmp(argv[1], "decoder") == 0) {
        return decoder_child_pictures(argc, argv);
    }
    return program_run(&program, argc, argv);
}
