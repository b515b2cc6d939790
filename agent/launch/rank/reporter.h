/* reporter.h: what stands beside a program and tells the agent of its pod the metrics that it says:
 * lines of its standard output by $WINDLASS_PATTERN, and those that are added to its JSON-lines
 * file, $WINDLASS_METRICS_FILE (spec.metrics; metric_line.h). For rank.h. Calls wait until the
 * agent has what was said, so that nothing that was read is lost and a program that is too fast
 * waits, too. What was added to the file less than REPORTER_LOOK_MS before all of the group are
 * killed is not read by anybody. */
#pragma once

#include "lib/error.h"

enum { REPORTER_LOOK_MS = 200 /* between two looks at the file */ };

struct reporter;

/* rank: -1: the command of a launcher, whose ranks' lines may come out of it again. NULL where
 * there is nothing to look for, or (*err is set) it cannot be. What is in the file already was said
 * by an earlier program: only what comes is new. */
struct reporter *reporter_new(int rank, struct error *err);
/* Bytes of standard output. NULL is fine, here and below. */
void reporter_hear(struct reporter *reporter, const char *data, size_t size);
/* Whether there is a file to look at. */
bool reporter_has_file(const struct reporter *reporter);
/* Looks at it, REPORTER_LOOK_MS after the last look at the earliest: the file is on a volume. One
 * that was shortened, or is another one now, is read from its start. A volume that hangs holds the
 * caller up. */
void reporter_look(struct reporter *reporter);
/* The program has ended: what is left of both, a last line without an end, too. */
void reporter_free(struct reporter *reporter);
