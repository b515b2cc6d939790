/* operator_metrics.h: what the controller counts about its work, and /metrics, which tells it. One
 * line at each place where something happens; the numbers are the process's, as the log is. Labels
 * are kinds, reasons, verbs and statuses: never the name of a job, a namespace or a user.
 * Thread-safe: the controller's thread counts, the pages' thread reads. */
#pragma once

#include "lib/tree.h"

/* An object of a watched kind was seen, after a change: before is what was known of it until then.
 * Of a job is counted what began, ended or moved on between the two, of a pod that it failed. So
 * what is listed anew, told twice or known already (before is NULL: it was there when we came)
 * counts once. True: it is a job, and has ended with this change. */
bool operator_metrics_change(const json_t *before, const json_t *after, int64_t wall_ms);

/* A key was taken so long after it was due; a reconcile pass over a job of that kind took so long.
 */
void operator_metrics_wait(int64_t waited_ms);
void operator_metrics_reconcile(const char *kind, int64_t took_ms, bool failed);
void operator_metrics_queue(size_t depth);

/* A trial has ended: "completed", "stopped" or "failed". */
void operator_metrics_trial_ended(const char *outcome);
/* Trials that were made and have not ended. That algorithm thought of so many trials that were
 * made, one at least, and took so long. */
void operator_metrics_trials(int64_t running);
void operator_metrics_suggestions(const char *algorithm, size_t count, int64_t took_ns);

/* A request to the API server is answered: its verb as Kubernetes names it ("list", "watch",
 * "create", "update", "patch", "delete"), the HTTP status; 0: no answer came. */
void operator_metrics_request(const char *verb, int status, int64_t took_ms);
void operator_metrics_leader(bool leads);

/* The whole page in Prometheus' format; the caller frees. */
char *operator_metrics_page(void);
