/* operator_metrics.h: the controller's metrics, and their text for /metrics. They are global to the
 * process, like the log. Labels are kinds, reasons, verbs and statuses, and in two families the
 * namespace and the queue; never the name of a job or a user. Thread-safe: the controller's
 * thread counts, the HTTP server's thread (commands/health_server.h) reads.
 * docs/operate/metrics.md lists them. */
#pragma once

#include "lib/tree.h"

/* Counts what happened to an object of a watched kind between two states: a job that began, ended
 * or progressed, a pod that failed. before: the previous known state; NULL: the object existed at
 * the start. An object that is reported again without a change counts nothing. True: it is a job
 * that ended with this change. */
bool operator_metrics_change(const json_t *before, const json_t *after, int64_t wall_ms);
/* Counts how far a running job is, by the status that it should have now: its stored one is written
 * rarely. Of the thread of operator_metrics_change, which then counts only what comes beyond that,
 * and all tokens and money. A job that is gone is forgotten. */
void operator_metrics_figures(const json_t *object, const json_t *status);
void operator_metrics_forget(const json_t *object);

/* How long a key of the work queue waited after it was due; how long a reconcile pass took; how
 * many keys are due. */
void operator_metrics_wait(int64_t waited_ms);
void operator_metrics_reconcile(const char *kind, int64_t took_ms, bool failed);
void operator_metrics_queue(size_t depth);
/* Jobs that wait for their turn to try again what failed (control/retry_pace.h). */
void operator_metrics_retries(size_t waiting);

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

/* All metrics in Prometheus' text format; the caller frees it. */
char *operator_metrics_page(void);
