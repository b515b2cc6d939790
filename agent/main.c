// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/command.h"
#include "agent/commands/model.h"
#include "agent/commands/pod.h"
#include "lib/base.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct command commands[] = {
    {"coordinate", pod_coordinate,
     "lists the input, leases mini-batches to workers, joins the results"},
    {"score", pod_score, "takes leases and scores them: a worker"},
    {"model", model_command, "check, run, test and time ONNX models"},
    {NULL, NULL, NULL}, /* ends the table */
};

static int usage(FILE *to) {
    fprintf(to,
            "windlass-agent %s: the part of Windlass that does the work inside a pod.\n\n"
            "Usage: windlass-agent COMMAND [options]\n\nCommands:\n",
            WINDLASS_VERSION);
    for (const struct command *row = commands; row->name; row++) {
        fprintf(to, "  %-12s %s\n", row->name, row->about);
    }
    fprintf(to, "\n`windlass-agent COMMAND --help` shows the options of a command.\n"
                "coordinate and score are started by windlass, their job in the environment.\n"
                "model is for people: does this network run here, and how fast?\n\n"
                "  windlass-agent model check examples/style-transfer/data/model/starry.onnx\n\n"
                "Exit codes: 0 succeeded, 1 the job failed, 2 usage or input, 3 this machine,\n"
                "130 interrupted.\n");
    return to == stdout ? 0 : 2;
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    if (argc < 2) {
        return usage(stderr);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("windlass-agent %s\n", WINDLASS_VERSION);
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        return usage(stdout);
    }
    for (const struct command *row = commands; row->name; row++) {
        if (strcmp(argv[1], row->name) == 0) {
            return row->main(argc - 1, argv + 1);
        }
    }
    fprintf(stderr, "windlass-agent: %s: unknown command (windlass-agent --help lists them)\n",
            argv[1]);
    return 2;
}
