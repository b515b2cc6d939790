// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/launch.h"

#include "agent/job.h"
#include "agent/launch/life.h"
#include "lib/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int launch_command(int argc, char **argv) {
    static const struct option options[] = {{.name = NULL}};
    AUTO(text_freep) char *usage = x_printf("%s launch", program_invocation_short_name);
    AUTO(text_freep) char *last_words = NULL;
    struct command_help help = {.usage = usage,
                                .about = "A pod of a gang: registers with the others, prepares, "
                                         "and runs the command when all are\nthere. Its job stands "
                                         "in the environment (docs/disttrain.md)."};
    struct option_list words = {0};
    struct error err = {0};
    struct launch_job job;
    int result = options_read(argc, argv, &help, options, &words, &err);
    if (result > 0) {
        return 0;
    }
    if (result < 0 || launch_job_read(&job, &err) < 0) {
        fprintf(stderr, "%s: %s\n", usage, err.text);
        return error_exit_code(&err);
    }
    int code = life_run(&job, &last_words);
    if (last_words) {
        job_last_words(last_words);
    }
    launch_job_release(&job);
    return code;
}
