/* reporter.h: finds a program's metrics and reports them to the agent of its pod: lines of its
 * standard output that match $WINDLASS_PATTERN (empty: in the usual forms, metric_scan.h), and
 * lines appended to its JSON-lines file $WINDLASS_METRICS_FILE (spec.metrics; metric_line.h). Used
 * by `rank` (rank.h). Calls block until the agent has the metrics, so none is lost, and a program
 * that is too fast waits. Exception: lines appended to the file in the last REPORTER_POLL_MS before
 * the whole group is killed. */
#pragma once

#include "lib/error.h"

enum { REPORTER_POLL_MS = 200 /* between two reads of the file */ };

struct reporter;

/* rank: -1: the command that starts the ranks, which may print its ranks' lines again. Lines that
 * are already in the file are skipped: an earlier program wrote them. NULL: no metrics are wanted
 * or, with *err set, they cannot be read. */
struct reporter *reporter_new(int rank, struct error *err);
/* Searches a piece of standard output. reporter may be NULL, here and below. */
void reporter_add_output(struct reporter *reporter, const char *data, size_t size);
bool reporter_has_file(const struct reporter *reporter);
/* Reads the new lines of the file, at most every REPORTER_POLL_MS, because it is on a volume. A
 * file that was truncated or replaced is read from its start. Blocks while the volume hangs. */
void reporter_read_file(struct reporter *reporter);
/* Reports the rest of both, including a last line without a newline, and frees. */
void reporter_free(struct reporter *reporter);
