// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/coordinate.h"

#include "agent/job.h"
#include "agent/score/coordinator.h"
#include "lib/options.h"

#include <stdio.h>

int coordinate_main(int argc, char **argv) {
    static const struct option options[] = {{NULL, 0, 0, NULL, NULL, NULL}};
    static const struct command_help help = {
        .usage = "windlass-agent coordinate",
        .about = "Lists a job's input, leases mini-batches to workers, joins their results and\n"
                 "writes the summary. Started by windlass, which puts everything it needs into\n"
                 "environment variables (WINDLASS_*, and one for each volume).",
    };
    struct option_list words = {0};
    struct error err = {0};
    struct job job = {0};
    bool wants_help = false;
    if (options_parse(argc, argv, options, &words, &wants_help, &err) == 0 && !wants_help &&
        words.count) {
        error_set(&err, ERROR_INVALID, "coordinate takes no argument, got '%s'", words.values[0]);
    }
    if (wants_help) {
        options_print_help(&help, options);
        return 0;
    }
    if (err.kind || job_read(JOB_COORDINATOR, &job, &err) < 0) {
        fprintf(stderr, "windlass-agent coordinate: %s\n", err.text);
        return error_exit_code(&err);
    }
    job_catch_signals();
    int code = coordinator_run(&job);
    job_release(&job);
    return code;
}
