/* recreation.h: the pause before a pod is made for a place (its role and index) from which others
 * were taken away: somebody deleted or evicted them while they lived, or they vanished. After the
 * second in a row it is 1 s, doubling up to a minute, and after the tenth 90 s, so that who deletes
 * pods as fast as they come causes few requests; ten minutes without a loss end it. Pods that the
 * controller deletes, and those that have ended otherwise, do not count: the plan knows when to
 * replace them. A job that is suspended and resumed again and again, because two of those who set
 * it do not agree, waits in the same way. So does one whose Service is deleted again and again: its
 * Secret goes with it, so all that it has is made anew. */
#pragma once

#include "operator/control/controller.h"
#include "operator/kinds/job/reconcile/retry_delay.h"

enum {
    RECREATION_FORGET_MS = 600000,
    RECREATION_EVENT = 4, /* losses in a row of one place, or of Services, that make an Event */
};

/* Of one job; zero at first. */
struct recreation {
    json_t *places;  /* {PLACE: [LOSSES, LAST, NOT BEFORE]}, monotonic times; owned; NULL: none */
    json_t *resting; /* {PLACE: true} of those whose next pod has to wait, in this pass; owned */
    bool was_suspended;
    int resumptions;       /* in a row */
    int64_t resumed_ms;    /* the last of them */
    int64_t not_before_ms; /* of all pods */
    bool had_service;
    struct retry_delay_repeat services; /* made anew */
};

void recreation_release(struct recreation *recreation);
/* In each pass. lost: {PLACE: POD NAME} of this pass (pods_seen.h), or NULL. */
void recreation_note(struct reconcile *request, struct recreation *recreation, const json_t *lost);
/* After the plan: takes the pods that have to wait off what is to be created; another pass follows
 * when the first of them may be made. */
void recreation_hold(struct reconcile *request, const struct recreation *recreation,
                     json_t *create);
/* Before the plan: how long the job's Service, which was taken away again, or lost its
 * annotations, must not be made anew. 0: it may be. */
NODISCARD int64_t recreation_service_hold_ms(struct reconcile *request,
                                             struct recreation *recreation, const json_t *services);
/* The controller has deleted that object. */
void recreation_note_deleted(struct recreation *recreation, const json_t *object);
