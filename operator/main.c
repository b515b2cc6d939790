// SPDX-License-Identifier: Apache-2.0
/* windlass: the first word selects a command; the rest are the command's arguments. */
#include "lib/base.h"
#include "lib/text/nearest.h"
#include "operator/commands/batch/batch.h"
#include "operator/commands/check.h"
#include "operator/commands/completion.h"
#include "operator/commands/controller.h"
#include "operator/commands/events.h"
#include "operator/commands/explain.h"
#include "operator/commands/import.h"
#include "operator/commands/init.h"
#include "operator/commands/jobs/change.h"
#include "operator/commands/jobs/diff.h"
#include "operator/commands/jobs/top.h"
#include "operator/commands/jobs/wait.h"
#include "operator/commands/logs.h"
#include "operator/commands/output/integrity.h"
#include "operator/commands/run/run.h"
#include "operator/commands/score/score.h"
#include "operator/commands/status/job_list.h"
#include "operator/commands/status/status.h"
#include "operator/commands/train/train.h"
#include "operator/commands/ui/ui.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct command {
    const char *name, *about;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"init", "print a manifest with comments to begin with", init_command},
    {"run", "run a job on this machine", run_command},
    {"score", "run a network on pictures, a video or a table, without a manifest",
     score_without_manifest},
    {"train", "train a network on a folder, a table or arrays, without a manifest",
     train_without_manifest},
    {"sweep", "repeat a training with other values of some fields", train_many_without_manifest},
    {"batch", "send a file of requests to a model server", batch_command},
    {"verify", "check that an output is complete, unchanged, and who signed it", integrity_command},
    {"check", "check a manifest, as a cluster would", check_command},
    {"list", "list the runs of this machine, or the jobs of a cluster", job_list_command},
    {"status", "show the progress of jobs, and why pods do not run", status_command},
    {"ui", "show jobs in the browser", ui_command},
    {"logs", "print the logs of a job's pods", logs_command},
    {"wait", "wait until a job has ended", wait_command},
    {"top", "show what the processes or pods of jobs use", top_command},
    {"diff", "show what a manifest would change", diff_command},
    {"cancel", "end jobs; what was finished stays", change_cancel},
    {"suspend", "end the processes or pods of jobs for a while", change_suspend},
    {"resume", "continue jobs that were suspended, interrupted or failed", change_resume},
    {"rerun", "run jobs again from the beginning", change_rerun},
    {"delete", "end and forget jobs", change_delete},
    {"events", "print the events of a job and its pods", events_command},
    {"controller", "run the controller of a Kubernetes cluster (the chart starts it)",
     controller_command},
    {"explain", "print every field of the resources, with defaults and bounds", explain_command},
    {"completion", "print the script that completes commands in a shell", completion_command},
    {"import", "make a manifest of a job of Kubeflow, Katib, Ray, Kubernetes or Azure",
     import_command},
};

/* The program's name as a plug-in of kubectl. */
static char plugin_name[] = "kubectl windlass";

static bool is_plugin(const char *path) {
    const char *slash = path ? strrchr(path, '/') : NULL;
    return path && strcmp(slash ? slash + 1 : path, "kubectl-windlass") == 0;
}

static void print_help(FILE *stream, const char *program) {
    fprintf(
        stream,
        "Usage: %s COMMAND [options]\n\n"
        "Windlass runs deep-learning batch work. A manifest says what to score, with which\n"
        "network, and where the results go; or what to train. Worker processes (pods on a\n"
        "cluster) do it in parallel. The same manifest works on this machine and on a cluster.\n\n"
        "Commands:\n",
        program);
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        fprintf(stream, "  %-12s %s\n", commands[i].name, commands[i].about);
    }
    fprintf(stream,
            "\n%s COMMAND --help   explains a command\n"
            "%s --version        prints the version\n\n"
            "Exit codes: 0 succeeded, 1 the job failed, 2 manifest or usage,\n"
            "3 this machine or the cluster, 130 interrupted.\n\n"
            "Start here:\n"
            "  %s run -f examples/style-transfer/batchscore.yaml\n",
            program, program, program);
}

static int refuse(const char *word, const char *program) {
    const char *names[ARRAY_LEN(commands)];
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        names[i] = commands[i].name;
    }
    const char *near = nearest_word(names, ARRAY_LEN(names), word);
    fprintf(stderr, "windlass: %s: unknown command%s%s%s (%s --help lists them)\n", word,
            near ? "; did you mean " : "", near ? near : "", near ? "?" : "", program);
    return 2;
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN); /* a write to a closed pipe is only an error */
    setlocale(LC_CTYPE, "");
    const char *program = is_plugin(argv[0]) ? plugin_name : "windlass";
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word) {
        print_help(stderr, program);
        return 2;
    }
    if (strcmp(word, "--version") == 0) {
        printf("windlass %s\n", WINDLASS_VERSION);
        return 0;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_help(stdout, program);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (strcmp(word, commands[i].name) == 0) {
            if (is_plugin(argv[0])) {
                argv[1] = plugin_name;
            }
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    return refuse(word, program);
}
