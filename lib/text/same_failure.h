/* same_failure.h: whether two failures of a program are the same, so that it would fail so again.
 * Pure.
 *
 * The last line of the output says how a program failed, so two failures are the same if exit code
 * and last line are. What differs in that line between two runs of the same program does not count:
 * dates and times, durations, addresses of memory and machines, ids, numbers of processes. Other
 * numbers do: "stopped at step 200" is not "stopped at step 100". */
#pragma once

#include "lib/base.h"

/* A program that ends with it asks for another start (EX_TEMPFAIL of sysexits.h). */
enum { SAME_FAILURE_LATER = 75 };

/* Whether the exit code means a signal: 128 + its number. */
bool same_failure_is_signal(int code);
/* The last line that has a letter or a digit; output: the last lines, separated by newlines or
 * " | ". ret_size: its bytes; 0: there is none. */
const char *same_failure_line(const char *output, size_t *ret_size);
/* Whether a program that ended with this code after this output, and before with the same code
 * after `before`, would end so again. False for signals and SAME_FAILURE_LATER; for an output about
 * a signal, a connection or a time limit, as another start may find these otherwise; and for the
 * closing words of a launcher (mpirun, torchrun), which do not say why what it started has failed.
 */
bool same_failure_is(int code, const char *before, const char *output);
