// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/score.h"

#include "agent/job.h"
#include "agent/score/worker.h"
#include "lib/options.h"

#include <stdio.h>

int score_main(int argc, char **argv) {
    static const struct option options[] = {{NULL, 0, 0, NULL, NULL, NULL}};
    static const struct command_help help = {
        .usage = "windlass-agent score",
        .about = "Takes mini-batches from the job's coordinator, scores them and writes the\n"
                 "outputs. Started by windlass, which puts everything it needs into environment\n"
                 "variables (WINDLASS_*, and one for each volume).",
    };
    struct option_list words = {0};
    struct error err = {0};
    struct job job = {0};
    bool wants_help = false;
    if (options_parse(argc, argv, options, &words, &wants_help, &err) == 0 && !wants_help &&
        words.count) {
        error_set(&err, ERROR_INVALID, "score takes no argument, got '%s'", words.values[0]);
    }
    if (wants_help) {
        options_print_help(&help, options);
        return 0;
    }
    if (err.kind || job_read(JOB_WORKER, &job, &err) < 0) {
        fprintf(stderr, "windlass-agent score: %s\n", err.text);
        return error_exit_code(&err);
    }
    job_catch_signals();
    int code = worker_run(&job);
    job_release(&job);
    return code;
}
