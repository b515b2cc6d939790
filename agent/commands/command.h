/* command.h: a subcommand of windlass-agent is one row of the table in agent/main.c. */
#pragma once

struct command {
    const char *name;                   /* "model" */
    int (*main)(int argc, char **argv); /* argv[0] is the command's name; returns the exit code */
    const char *about;                  /* one line for --help */
};
