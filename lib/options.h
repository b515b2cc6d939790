/* options.h: command-line flags from one table, and the --help text from the same table. */
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
    const char *name; /* without the dashes; rows end with name == NULL */
    char letter;      /* -f, or 0 */
    enum option_kind kind;
    const char *value_name; /* shown in --help: FILE, N; NULL for a flag */
    const char *help;       /* one sentence; NULL: --help does not list the option */
    void *target;
};

struct command_help {
    const char *usage;           /* "windlass run -f FILE [options]" */
    const char *about;           /* what it does, a paragraph or two, its lines broken */
    const char *examples;        /* lines that work when pasted; NULL if none */
    size_t words_min, words_max; /* arguments that are no flags */
};

/* Reads argv[1..]. An argv[0] of two words ("kubectl windlass") is what --help calls the program.
 * "--name value", "--name=value" and "-f value" are accepted, "--" ends the flags,
 * "-0.5" is a word, "-inf" and "-nan" are where there is no flag -i or -n.
 * Words that are no flags go to ret_words (borrowed, at most ret_words->values' room).
 * 0: go on; 1: --help or -h was asked for and is printed, the command ends well; -1: ERROR_INVALID
 * and a line that names the flag, the word too many, or shows the usage when one is missing. */
NODISCARD int options_read(int argc, char **argv, const struct command_help *help,
                           const struct option *options, struct option_list *ret_words,
                           struct error *err);
