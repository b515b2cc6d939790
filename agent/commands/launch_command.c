// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/launch_command.h"

#include "agent/job.h"
#include "agent/launch/gang/gang_progress.h"
#include "agent/launch/gang/launch.h"
#include "agent/launch/pod/agent_socket.h"
#include "agent/launch/pod/copy_folder.h"
#include "agent/launch/rank/metric_socket.h"
#include "agent/launch/rank/rank.h"
#include "agent/launch/rank/rsh.h"
#include "lib/file.h"
#include "lib/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

program_main *launch_command_of_link(const char *argv0) {
    const char *name = argv0 ? file_basename(argv0) : "";
    if (strcmp(name, "rank") == 0) {
        return rank_main;
    }
    return strcmp(name, "ssh") == 0 || strcmp(name, "rsh") == 0 ? rsh_main : NULL;
}

int launch_command(int argc, char **argv) {
    static const struct option options[] = {{.name = NULL}};
    AUTO(text_freep) char *usage = x_printf("%s launch", program_invocation_short_name);
    AUTO(text_freep) char *last_words = NULL;
    struct command_help help = {.usage = usage,
                                .about =
                                    "A pod of a gang: registers with the first worker, prepares, "
                                    "and runs the command\nwhen all pods are ready. Its job is "
                                    "in the environment (docs/disttrain.md)."};
    struct option_list words = {0};
    struct error err = {0};
    struct launch_job job;
    prctl(PR_SET_DUMPABLE, 0); /* as in pod_command.c: the user's programs run as the same user */
    int result = options_read(argc, argv, &help, options, &words, &err);
    if (result > 0) {
        return 0;
    }
    if (result < 0 || launch_job_read(&job, &err) < 0) {
        fprintf(stderr, "%s: %s\n", usage, err.text);
        return error_exit_code(&err);
    }
    int code = launch_run(&job, &last_words);
    if (last_words) {
        AUTO(text_freep)
        char *cut = gang_progress_cut(last_words, CONTRACT_TERMINATION_MESSAGE_MAX);
        job_write_termination_message(cut);
    }
    launch_job_release(&job);
    return code;
}

int alive_command(int argc, char **argv) {
    static const struct option options[] = {{.name = NULL}};
    AUTO(text_freep) char *usage = x_printf("%s alive", program_invocation_short_name);
    AUTO(text_freep) char *words = NULL;
    struct command_help help = {
        .usage = usage,
        .about = "Checks that the agent of this pod still works. For a livenessProbe."};
    struct option_list list = {0};
    struct error err = {0};
    struct agent_request request = {.kind = AGENT_REQUEST_ALIVE};
    const char *folder = getenv("WINDLASS_FOLDER");
    AUTO(text_freep)
    char *path = x_printf("%s/run/agent", folder && *folder ? folder : "/windlass");
    int code = 1, result = options_read(argc, argv, &help, options, &list, &err);
    if (result > 0) {
        return 0;
    }
    if (result < 0) {
        fprintf(stderr, "%s: %s\n", usage, err.text);
        return error_exit_code(&err);
    }
    if (agent_socket_ask(path, &request, &code, &words, &err) < 0) {
        fprintf(stderr, "%s: %s: %s\n", usage, path, err.text);
        return 1;
    }
    if (code != 0) {
        fprintf(stderr, "%s: %s\n", usage, words);
    }
    return code != 0;
}

/* NAME VALUE --step N, or NAME VALUE N. */
static int report(const struct option_list *words, int64_t step, struct error *err) {
    char *end = NULL;
    double value = strtod(words->values[1], &end);
    if (end == words->values[1] || *end) {
        return error_set(err, ERROR_INVALID, "VALUE is \"%.80s\", expected a number",
                         words->values[1]);
    }
    if (words->count > 2) {
        step = strtoll(words->values[2], &end, 10);
        if (end == words->values[2] || *end || step < 0) {
            return error_set(err, ERROR_INVALID, "the step is \"%.80s\", expected 0 or more",
                             words->values[2]);
        }
    } else if (step < -1) {
        return error_set(err, ERROR_INVALID, "the step is %lld, expected 0 or more",
                         (long long)step);
    }
    if (!metric_is_name(words->values[0])) {
        return error_set(err, ERROR_INVALID,
                         "NAME is \"%.80s\", expected at most %d letters, digits, _ . - / @ =",
                         words->values[0], METRIC_NAME_MAX);
    }
    return metric_report(words->values[0], value, step, err);
}

int metric_command(int argc, char **argv) {
    int64_t step = -1;
    const struct option options[] = {
        {"step", 0, OPTION_INTEGER, "N", "The step of the training.", &step}, {.name = NULL}};
    AUTO(text_freep)
    char *usage = x_printf("%s metric NAME VALUE [--step N]", program_invocation_short_name);
    struct command_help help = {
        .usage = usage,
        .about =
            "Reports a metric of this rank's training, and waits until the pod's agent has it,\n"
            "so that none is lost. The job's objective is named by its spec.metrics; its status\n"
            "also shows epoch, loss, accuracy, samplesPerSecond and checkpoint of rank 0.\n"
            "Outside a pod of a DistTrain it does nothing.",
        .words_min = 2,
        .words_max = 3};
    struct option_list words = {0};
    struct error err = {0};
    int result = options_read(argc, argv, &help, options, &words, &err);
    if (result > 0) {
        return 0;
    }
    if (result < 0 || report(&words, step, &err) < 0) {
        fprintf(stderr, "%s: %s\n", usage, err.text);
        return error_exit_code(&err);
    }
    return 0;
}

#define PARENT_PREFIX "AZ_BATCHAI_INPUT_PARENT_"

/* Only one pod copies: the gang starts its ranks when all are prepared. */
static int begin(struct error *err) {
    const char *index = getenv("WINDLASS_INDEX");
    for (char **variable = environ; *variable && index && strcmp(index, "0") == 0; variable++) {
        const char *value = strchr(*variable, '=');
        if (!value || !text_starts(*variable, PARENT_PREFIX)) {
            continue;
        }
        size_t length = (size_t)(value - *variable) - strlen(PARENT_PREFIX);
        AUTO(text_freep)
        char *name =
            x_printf("AZ_BATCHAI_OUTPUT_%.*s", (int)length, *variable + strlen(PARENT_PREFIX));
        const char *to = getenv(name);
        if (!to) {
            return error_set(err, ERROR_INVALID, "%s is not set: unknown output id", name);
        }
        if (copy_folder_once(value + 1, to, err) < 0) {
            return error_context(err, "copying the parent trial's output");
        }
    }
    return 0;
}

int begin_command(int argc, char **argv) {
    static const struct option options[] = {{.name = NULL}};
    AUTO(text_freep)
    char *usage = x_printf("%s begin [-- COMMAND...]", program_invocation_short_name);
    struct command_help help = {
        .usage = usage,
        .about =
            "Copies the parent trial's files into the outputs of a trial that continues from it: "
            "for\n"
            "each output ID the files of the input PARENT_ID. With -- COMMAND it then runs that\n"
            "command in its place. A Sweep of kind PopulationBased sets it as spec.prepare."};
    struct option_list words = {0};
    struct error err = {0};
    int own = 1;
    while (own < argc && strcmp(argv[own], "--") != 0) {
        own++;
    }
    int result = options_read(own, argv, &help, options, &words, &err);
    if (result > 0) {
        return 0;
    }
    if (result < 0 || begin(&err) < 0) {
        fprintf(stderr, "%s: %s\n", usage, err.text);
        return error_exit_code(&err);
    }
    if (own + 1 >= argc) {
        return 0;
    }
    execvp(argv[own + 1], argv + own + 1);
    fprintf(stderr, "%s: %s: %s\n", usage, argv[own + 1], strerror(errno));
    return errno == ENOENT ? 127 : 126;
}
