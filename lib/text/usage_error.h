/* usage_error.h: whether a program ended because its command line or its code is wrong, so that a
 * restart would fail in the same way. Pure.
 *
 * An exit code alone does not show that: 2 means many things. The end of the output must say it,
 * too, in the words of argparse, getopt, click, Go's flag, Python or a shell; and the caller must
 * know that the program has not done anything yet. */
#pragma once

#include "lib/base.h"

/* The exit code of a worker whose program ended so (EX_USAGE of sysexits.h). */
enum { USAGE_ERROR_EXIT = 64 };

/* output: the last lines, separated by newlines or " | ". True for the codes 2 and 64 with words
 * about arguments, 126 and 127 with a shell's words about a command that cannot be run, and 1 with
 * the last line of a traceback of Python's that says that the code is wrong (SyntaxError,
 * NameError, ModuleNotFoundError). */
bool usage_error_is(int code, const char *output);
/* Whether a program that ends so may print this line: help, a traceback, or words as above. Other
 * programs may print it, too. */
bool usage_error_may_be(const char *line);
/* Whether the line begins as a program's help does: "usage: ", "Usage of ". */
bool usage_error_is_help(const char *line);
