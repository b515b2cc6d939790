// SPDX-License-Identifier: Apache-2.0
#include "lib/text/usage_error.h"

#include <string.h>
#include <strings.h>

/* Parts of lines; small and capital letters count as equal. */
static const char *const about_arguments[] = {
    "unrecognized argument",            /* argparse */
    "unrecognised argument",            /* Python 3.14 */
    "following arguments are required", /* argparse */
    "expected one argument",            /* argparse */
    "expected at least one argument",   /* argparse */
    ": invalid choice: ",               /* argparse */
    "invalid option -- ",               /* getopt */
    "unrecognized option",              /* getopt */
    "option requires an argument",      /* getopt */
    "requires an argument -- ",         /* getopt of BSD */
    "--help' for ",                     /* coreutils, click */
    "--help for ",                      /* the same without quotes */
    "no such option",                   /* click, optparse */
    "missing argument '",               /* click */
    "unknown option",                   /* bash, node */
    "flag provided but not defined",    /* Go */
    "can't open file '",                /* python's: the script is not there */
    "syntax error near unexpected",     /* bash */
    "syntax error: ",                   /* dash */
};

static const char *const about_commands[] = {
    "not found",      "no such file",      "permission denied",
    "cannot execute", "exec format error", "is a directory",
};

bool usage_error_is_help(const char *line) {
    return strncasecmp(line, "usage:", strlen("usage:")) == 0 ||
           strncasecmp(line, "usage of ", strlen("usage of ")) == 0;
}

/* Lines that Python ends a traceback with: the code itself is wrong. An ImportError is not here: a
 * library that this node lacks says that, too. */
static const char *const about_code[] = {
    "SyntaxError: ",         "IndentationError: ", "TabError: ",
    "ModuleNotFoundError: ", "NameError: ",        "UnboundLocalError: ",
};

static bool is_about_code(const char *line) {
    for (size_t i = 0; i < ARRAY_LEN(about_code); i++) {
        if (strncmp(line, about_code[i], strlen(about_code[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether `is_it` holds for the beginning of a line. */
static bool has_line(const char *output, bool (*is_it)(const char *line)) {
    for (const char *at = output; at; at = strpbrk(at, "\n|")) {
        at += strspn(at, "\n| ");
        if (is_it(at)) {
            return true;
        }
    }
    return false;
}

/* The last line with text. */
static const char *last_line(const char *output) {
    const char *last = output;
    for (const char *at = output; at; at = strpbrk(at, "\n|")) {
        at += strspn(at, "\n| ");
        last = *at ? at : last;
    }
    return last;
}

static bool has_one(const char *output, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strcasestr(output, words[i])) {
            return true;
        }
    }
    return false;
}

bool usage_error_is(int code, const char *output) {
    switch (code) {
    case 1:
        return is_about_code(last_line(output));
    case 2:
    case USAGE_ERROR_EXIT:
        return has_line(output, usage_error_is_help) ||
               has_one(output, about_arguments, ARRAY_LEN(about_arguments));
    case 126:
    case 127:
        return has_one(output, about_commands, ARRAY_LEN(about_commands));
    default:
        return false;
    }
}

bool usage_error_may_be(const char *line) {
    return usage_error_is_help(line) || is_about_code(line) ||
           text_starts(line, "Traceback (most recent call last)") ||
           has_one(line, about_arguments, ARRAY_LEN(about_arguments)) ||
           has_one(line, about_commands, ARRAY_LEN(about_commands));
}
