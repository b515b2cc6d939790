/* reporter.h: forwards a program's metrics to the agent of its pod: lines of its standard output
 * that match $WINDLASS_PATTERN, and lines appended to its JSON-lines file $WINDLASS_METRICS_FILE
 * (spec.metrics; metric_line.h). For rank.h. Calls wait until the agent has the metrics: none is
 * lost, and a program that is too fast waits. Lines appended to the file less than REPORTER_LOOK_MS
 * before the whole group is killed are not read. */
#pragma once

#include "lib/error.h"

enum { REPORTER_LOOK_MS = 200 /* between two looks at the file */ };

struct reporter;

/* rank: -1: the command of a launcher, which may print its ranks' lines again. NULL: no metrics are
 * wanted, or, with *err set, they cannot be read. Lines already in the file are an earlier
 * program's and are skipped. */
struct reporter *reporter_new(int rank, struct error *err);
/* Bytes of standard output. NULL is fine, here and below. */
void reporter_hear(struct reporter *reporter, const char *data, size_t size);
/* Whether there is a file to read. */
bool reporter_has_file(const struct reporter *reporter);
/* Reads the file, at most every REPORTER_LOOK_MS, since it is on a volume. A file that was
 * truncated or replaced is read from its start. A volume that hangs blocks the caller. */
void reporter_look(struct reporter *reporter);
/* The program has ended: reports what is left of both, including a last line without a newline. */
void reporter_free(struct reporter *reporter);
