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
    const char *help;       /* one sentence */
    void *target;
};

struct command_help {
    const char *usage;    /* "windlass run -f FILE [options]" */
    const char *about;    /* what it does, a paragraph or two */
    const char *examples; /* lines that work when pasted; NULL if none */
};

/* Reads argv[1..]. "--name value", "--name=value" and "-f value" are accepted, "--" ends the flags.
 * Words that are no flags go to ret_words (borrowed, at most ret_words->values' room).
 * *ret_help is set when --help or -h was asked for: the caller prints and exits 0.
 * Fails with ERROR_INVALID and a line that names the flag. */
NODISCARD int options_parse(int argc, char **argv, const struct option *options,
                            struct option_list *ret_words, bool *ret_help, struct error *err);

void options_print_help(const struct command_help *help, const struct option *options);
