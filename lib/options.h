/* options.h: parses command-line flags by a table and prints --help from the same table. */
#pragma once

#include "lib/error.h"

enum option_kind {
    OPTION_FLAG,    /* --keep           target: bool * */
    OPTION_INTEGER, /* --workers 4      target: int64_t * */
    OPTION_TEXT,    /* --file job.yaml  target: const char ** (borrowed from argv) */
    OPTION_LIST,    /* may repeat       target: struct option_list * */
};

struct option_list {
    const char *values[64];
    size_t count;
};

struct option {
    const char *name; /* without the dashes; NULL ends the table */
    char letter;      /* -f, or 0 */
    enum option_kind kind;
    const char *value_name; /* shown in --help: FILE, N; NULL for a flag */
    const char *help;       /* one sentence; NULL: hidden from --help */
    void *target;
};

struct command_help {
    const char *usage;           /* "windlass run -f FILE [options]" */
    const char *about;           /* what it does: one or two paragraphs, lines broken */
    const char *examples;        /* lines to paste; NULL: none */
    size_t words_min, words_max; /* how many arguments that are not flags */
};

/* Parses argv[1..]. If argv[0] has two words ("kubectl windlass"), --help calls the program that.
 * Accepts "--name value", "--name=value" and "-f value"; "--" ends the flags. "-0.5" is an
 * argument, and so are "-inf" and "-nan" unless there is a flag -i or -n.
 * Arguments that are not flags go to ret_words (borrowed from argv).
 * Returns 0: go on; 1: printed the help, the command succeeds; -1: INVALID, naming the flag or the
 * surplus argument, or showing the usage when one is missing. */
NODISCARD int options_read(int argc, char **argv, const struct command_help *help,
                           const struct option *options, struct option_list *ret_words,
                           struct error *err);
