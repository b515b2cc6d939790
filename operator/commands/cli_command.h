/* cli_command.h: what most commands do first and last: read the options, run, report the error. */
#pragma once

#include "lib/options.h"

struct cli_command {
    const char *name; /* "status", for error messages */
    const struct command_help *help;
    const struct option *options; /* as for options_read */
    /* Called after the options were read. words: the arguments that are not options. *ret_code is
     * 0 before the call; on success it becomes the exit code. */
    int (*run)(void *context, const struct option_list *words, int *ret_code, struct error *err);
    void *context;
};

/* Returns the exit code; an error is printed to standard error. argv[0] is the command's name. */
int cli_command_run(const struct cli_command *command, int argc, char **argv);
/* A name for a job that is made of this file: "/a/My_Job.json" -> "my-job"; owned. */
char *cli_command_job_name(const char *path);
