/* background_service.h: keeps the coordinator's server answering, from a separate thread, while the
 * thread that usually serves does long work: before the listing, and for report and cleaning up,
 * when the dispatcher is idle. A coordinator that does not answer its livenessProbe is killed.
 * (background_task.h is the opposite: the work is in the separate thread.) */
#pragma once

#include "agent/score/coordinator/summary.h"
#include "lib/net/server.h"

struct background_service;

/* Until background_service_free the caller uses neither server nor dispatcher; the dispatcher is
 * paused, or knows no job yet. If no thread can be started, no one serves meanwhile. */
struct background_service *background_service_new(struct server *server);
void background_service_free(struct background_service *service);

/* With the server served meanwhile: */

/* How an earlier coordinator has ended this job (summary_read_message); NULL: it has not, or a
 * volume is dead, and *err says so. The caller owns it. We serve by now: a volume that answers late
 * does not make us look dead. */
json_t *background_service_look_back(struct server *server, const struct job *job, int *ret_code,
                                     struct error *err);
/* tidy_run, tidy_run_ended (tidy.h). */
void background_service_tidy(struct server *server, const struct job *job, struct store *output,
                             bool was_killed);
void background_service_tidy_ended(struct server *server, const struct job *job);
