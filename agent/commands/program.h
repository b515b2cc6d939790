/* program.h: a program with several commands (windlass-agent, windlass-shim): one row per command,
 * and --help and --version of the program. */
#pragma once

struct program_command {
    const char *name;                   /* "model" */
    int (*main)(int argc, char **argv); /* argv[0] is the command's name; returns the exit code */
    const char *about;                  /* one line for --help */
};

struct program {
    const char *name;                       /* "windlass-agent" */
    const char *about;                      /* one sentence */
    const char *notes;                      /* printed by --help below the commands; whole lines */
    const struct program_command *commands; /* ends with a row without a name */
};

/* Runs the command that argv[1] names, or lists the commands; returns the exit code. */
int program_run(const struct program *program, int argc, char **argv);
