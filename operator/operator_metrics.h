/* operator_metrics.h: the controller's counters, and the page /metrics that shows them. The caller
 * adds one line at each place that counts. The counters are global to the process, like the log.
 * Labels are kinds, reasons, verbs and statuses, never the name of a job, a namespace or a user.
 * Thread-safe: the controller's thread counts, the pages' thread reads. */
#pragma once

#include "lib/tree.h"

/* An object of a watched kind was seen after a change; before is its previous known state (NULL:
 * none, it existed at the start). Of a job it counts what began, ended or moved on between the two
 * states, of a pod its failure. So an object that is listed again, reported twice or known already
 * counts once. True: it is a job, and has ended with this change. */
bool operator_metrics_change(const json_t *before, const json_t *after, int64_t wall_ms);

/* The time from when a key was due until it was taken; the duration of a reconcile pass over a job
 * of that kind. */
void operator_metrics_wait(int64_t waited_ms);
void operator_metrics_reconcile(const char *kind, int64_t took_ms, bool failed);
void operator_metrics_queue(size_t depth);

/* A trial has ended: "completed", "stopped" or "failed". */
void operator_metrics_trial_ended(const char *outcome);
/* running: trials that were made and have not ended. count (at least one): trials suggested by that
 * algorithm that were made; took_ns: the time that it took. */
void operator_metrics_trials(int64_t running);
void operator_metrics_suggestions(const char *algorithm, size_t count, int64_t took_ns);

/* A request to the API server has ended: its verb as Kubernetes names it ("list", "watch",
 * "create", "update", "patch", "delete"), and the HTTP status; 0: no answer. */
void operator_metrics_request(const char *verb, int status, int64_t took_ms);
void operator_metrics_leader(bool leads);

/* The whole page in Prometheus' format; the caller frees. */
char *operator_metrics_page(void);
