/* program.h: a program with several commands (windlass-agent, windlass-shim): one row per command,
 * and --help and --version of the program. */
#pragma once

typedef int program_main(int argc, char **argv); /* returns the exit code */

struct program_command {
    const char *name;   /* "model" */
    program_main *main; /* argv[0] is the command's name */
    const char *about;  /* one line for --help */
};

struct program {
    const char *name;                       /* "windlass-agent" */
    const char *about;                      /* one sentence */
    const char *notes;                      /* printed by --help below the commands; whole lines */
    const struct program_command *commands; /* ends with a row without a name */
    program_main *decoder; /* the hidden command "decoder" (decoder.h); NULL: it decodes nothing */
    /* The main function for a link to the program whose name (argv[0]) says what to run; returns
     * NULL for other names. */
    program_main *(*main_of_link)(const char *argv0);
};

/* Runs the command that a link is named for, else the command that argv[1] names, else lists the
 * commands. Ignores SIGPIPE, so that a write to a closed pipe is only an error. Chooses where files
 * are decoded (decoder_choose). Returns the exit code. */
int program_run(const struct program *program, int argc, char **argv);
