/* command.h: a program of several commands (windlass-agent, windlass-shim): one row each, and what
 * the program itself says. */
#pragma once

struct command {
    const char *name;                   /* "model" */
    int (*main)(int argc, char **argv); /* argv[0] is the command's name; returns the exit code */
    const char *about;                  /* one line for --help */
};

struct program {
    const char *name;               /* "windlass-agent" */
    const char *about;              /* one sentence */
    const char *notes;              /* what --help says below the commands; whole lines */
    const struct command *commands; /* ends with a row without a name */
};

/* Runs the command that argv[1] names, or says what there is; returns the exit code. */
int program_run(const struct program *program, int argc, char **argv);
