/* pin.h: how a job keeps the spec that it began with (accepted.h): the ControllerRevision is
 * created with the job's first objects, and read once when the spec turns out to be another one. */
#pragma once

#include "operator/control/controller.h"
#include "operator/kinds/job/reconcile/accepted.h"

/* Of a job, kept between passes. */
struct pin {
    json_t *revision; /* to be created, until it is stored; owned; NULL: none */
    int64_t begun_ms; /* when it was first to be created, monotonic */
    bool is_asked, is_answered;
    int64_t again_ms;                 /* after a failed question, monotonic */
    char *asked_hash;                 /* status.specHash of the question; owned */
    json_t *accepted;                 /* the spec that was found; owned; NULL: none */
    char fields[ACCEPTED_FIELDS_MAX]; /* what was changed and is not accepted; "": nothing */
};

void pin_release(struct pin *pin);
/* Before the plan. False: the accepted spec is being asked for, and the pass should end. Otherwise
 * *ret_object (owned) is the object with the spec that counts, or NULL: the object's own does. */
NODISCARD bool pin_settle(struct reconcile *request, struct pin *pin,
                          const char *const *mutable_fields, json_t **ret_object);
void pin_found(struct pin *pin, const struct found *found);
/* After the plan: adds the revision to what is created, when the first object of the kind `first`
 * is. */
void pin_add(struct reconcile *request, struct pin *pin, const char *const *mutable_fields,
             const char *first, json_t *create);
/* Records how the creation of the revision ended. */
void pin_note(struct pin *pin, const struct written *written);
/* The status that says that the Secret is stored: the pods, which are created in the same pass, say
 * it as well. It is left to the pass after them, for at most a second, so that a job costs no more
 * writes than without a revision. (The first status is not: it shows whether the definition has all
 * fields, before there are pods.) */
bool pin_postpones(const struct reconcile *request, const struct pin *pin, const json_t *status);
