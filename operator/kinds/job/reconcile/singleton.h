/* singleton.h: pods that must be the only one of their place: a coordinator, the first pod of a
 * gang. When the job no longer sees such a pod, it was deleted, or its labels were changed and it
 * may still run. So before its successor is made the cluster is asked for it by its name. If it is
 * there and has not ended, it is held: nothing takes its place, and the plan says so
 * (job_observed.held). It is asked for again after 1 s, doubling up to a minute, and when it is its
 * turn (retry_pace.h). After SINGLETON_TRIES failed questions the old pod is assumed to be
 * running: nothing takes its place either, and the job goes on with everything else and says
 * why. */
#pragma once

#include "operator/control/controller.h"
#include "operator/kinds/job/reconcile/retry_delay.h"
#include "operator/kinds/job/write_failure.h"

enum { SINGLETON_TRIES = 3 };

/* Of one job; zero at first. */
struct singleton {
    char *name, *uid; /* of the last one that may still run; owned; name NULL: there is none; uid
                         NULL: known by its name alone */
    bool is_begun;
    bool is_seen; /* the job sees it */
    bool is_asked, is_held;
    struct retry_delay delay;      /* by answers in a row that did not say that it is gone */
    char *error;                   /* of the last question; owned; NULL: it did not fail */
    struct write_failure reported; /* what singleton_held returns */
};

void singleton_release(struct singleton *singleton);
/* In each pass, before the plan. pods: what the job sees. last: the name of such a pod that a
 * status has, for a controller that has just started; NULL: none. */
void singleton_note(struct singleton *singleton, const json_t *pods,
                    bool (*is_hub)(const json_t *pod), const char *last);
/* NULL: none is held, or may be. Borrowed, until the next answer. */
const struct write_failure *singleton_held(struct singleton *singleton);
/* After the plan: removes such pods from `create`, unless the pod before them is known to have
 * ended. False: that pod is being asked for, and the answer leads to another pass; the plan is not
 * carried out. */
bool singleton_filter(struct reconcile *request, struct singleton *singleton, json_t *create);
/* An answer to a question; one that another module asked is ignored. owner_uid: the job's. */
void singleton_found(struct singleton *singleton, const struct found *found, const char *owner_uid);
