/* tally.h: what the controller counts about its work, and /metrics, which tells it. One line at
 * each place where something happens; the numbers are the process's, as the log is. Labels are
 * kinds, reasons, verbs and statuses: never the name of a job, a namespace or a user. Thread-safe:
 * the controller's thread counts, the pages' thread reads. */
#pragma once

#include "lib/tree.h"

/* A job's status was written: before is the object as it was, after the one that is stored. What
 * has begun, ended or moved on between the two is counted, so a status that is written again, or
 * by another replica, counts once. */
void tally_job(const json_t *before, const json_t *after, int64_t wall_ms);
/* A pod ended otherwise than well, or was lost. why: the reason, as a word: "Evicted",
 * "OOMKilled", "Error", "NodeLost". */
void tally_pod_failure(const char *why);

/* A look at one job of that kind: how long its key was due before, how long the look took. */
void tally_look(const char *kind, int64_t waited_ms, int64_t took_ms, bool failed);
void tally_queue(size_t depth);

/* A request to the API server is answered: its verb as Kubernetes names it ("list", "watch",
 * "create", "patch", "delete"), the HTTP status; 0: no answer came. */
void tally_request(const char *verb, int status, int64_t took_ms);
void tally_leader(bool leads);

/* The whole page in Prometheus' format; the caller frees. */
char *tally_page(void);
