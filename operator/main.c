// SPDX-License-Identifier: Apache-2.0
/* windlass: one word chooses a command; everything else is the command's. */
#include "lib/base.h"
#include "operator/commands/check.h"
#include "operator/commands/controller.h"
#include "operator/commands/events.h"
#include "operator/commands/explain.h"
#include "operator/commands/run.h"
#include "operator/commands/status.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct command {
    const char *name, *about;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"run", "do the work of a manifest on this machine", run_command},
    {"check", "is a manifest one that a cluster would take?", check_command},
    {"status", "how far the jobs of a cluster are, and what keeps them", status_command},
    {"events", "what happened to a job of a cluster and its pods", events_command},
    {"controller", "run the jobs of a Kubernetes cluster (what the chart starts)",
     controller_command},
    {"explain", "every field of the resource, with defaults and bounds", explain_command},
};

static void print_help(FILE *stream) {
    fprintf(stream,
            "Usage: windlass COMMAND [options]\n\n"
            "Windlass runs deep-learning batch work: a manifest says what to score with which\n"
            "network and where the results go; worker processes (pods on a cluster) do it in\n"
            "parallel. The same manifest holds on this machine and on a cluster.\n\n"
            "Commands:\n");
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        fprintf(stream, "  %-12s %s\n", commands[i].name, commands[i].about);
    }
    fprintf(stream, "\nwindlass COMMAND --help   explains a command\n"
                    "windlass --version        prints the version\n\n"
                    "Exit codes: 0 succeeded, 1 the job failed, 2 manifest or usage,\n"
                    "3 this machine or the cluster, 130 interrupted.\n\n"
                    "Start here:\n"
                    "  windlass run -f examples/style-transfer/batchscore.yaml\n");
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN); /* a write to a closed pipe is an error, not our end */
    setlocale(LC_CTYPE, "");
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word) {
        print_help(stderr);
        return 2;
    }
    if (strcmp(word, "--version") == 0) {
        printf("windlass %s\n", WINDLASS_VERSION);
        return 0;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_help(stdout);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (strcmp(word, commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    fprintf(stderr, "windlass: %s: unknown command (windlass --help lists them)\n", word);
    return 2;
}
