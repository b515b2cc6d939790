// SPDX-License-Identifier: Apache-2.0
/* windlass-agent: the first word selects a command (a table); the rest are its arguments. */
#include "agent/commands/install.h"
#include "agent/commands/launch_command.h"
#include "agent/commands/model.h"
#include "agent/commands/pod_command.h"
#include "agent/commands/program.h"
#include "agent/commands/register.h"
#include "agent/commands/serve_command.h"
#include "agent/commands/verification.h"
#include "agent/data/decoder/decoder_child.h"

#include <stddef.h>

static const struct program_command commands[] = {
    {"coordinate", coordinate_command,
     "lists the input, leases mini-batches to workers, joins the results"},
    {"score", score_command, "takes leases and scores them: a worker"},
    {"serve", serve_command, "runs the model server of a worker, as long as the worker lives"},
    {"launch", launch_command,
     "a pod of a gang: registers, prepares, runs the command together with the others"},
    {"alive", alive_command, "checks that the agent of this pod still works: for a livenessProbe"},
    {"begin", begin_command, "copies what a trial of a population continues from into its outputs"},
    {"metric", metric_command, "reports a metric of this rank's training: loss 0.31 --step 1200"},
    {"watch", watch_command, "waits until a trigger appears or the input changes"},
    {"register", register_command, "copies the best model of a Sweep into a registry"},
    {"install", install_command, "copies windlass-shim into a folder, for containers of any image"},
    {"verify", verification_command,
     "compares an output with its result.json, for windlass verify"},
    {"model", model_command, "checks, runs, tests, times and makes ONNX models"},
    {NULL, NULL, NULL}, /* ends the table */
};

static const struct program program = {
    .name = "windlass-agent",
    .about = "the part of Windlass that does the work inside a pod.",
    .notes = "windlass starts coordinate, score, serve, launch, watch, register and install, with "
             "the job\n"
             "in environment variables. model is for people: does this network run here, and how "
             "fast?\n\n"
             "  windlass-agent model check examples/style-transfer/data/model/starry.onnx\n\n"
             "Exit codes: 0 succeeded, 1 the job failed, 2 usage or input, 3 this machine,\n"
             "130 interrupted.\n",
    .commands = commands,
    .decoder = decoder_child_media,
    .main_of_link = launch_command_of_link,
};

int main(int argc, char **argv) {
    return program_run(&program, argc, argv);
}
