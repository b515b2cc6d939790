/* pin.h: how a job keeps the spec that it began with. A job with a Service has it in the record
 * there (spec_snapshot.h), which costs no request. A job without one, or whose spec is too long for
 * it, has a ControllerRevision (accepted.h), which is created with its first objects, and read once
 * when the spec turns out to be another one.
 *
 * While the job is suspended, and no pod of it is left that is not leaving, some fields may be
 * changed (pin_rules): the new spec is stored as a ControllerRevision, under one of two names, then
 * status.specHash moves to it, then the record on the Service, and then only the job goes on. So
 * whenever the controller ends, the Service or one of the two revisions has the hash of the status,
 * and there are never more. Who changes the spec all the time makes requests more and more
 * rarely (retry_delay.h). */
#pragma once

#include "operator/control/controller.h"
#include "operator/kinds/job/reconcile/accepted.h"
#include "operator/kinds/job/reconcile/retry_delay.h"

/* Of a kind. */
struct pin_rules {
    const char *const *mutable_fields;   /* may change at any time (job_hash) */
    const char *const *suspended_fields; /* may change while suspended; NULL: none */
    /* Refuses such a change. before: the accepted spec; after: the object with the new one. */
    int (*check)(const json_t *before, const json_t *after, struct error *err);
};

/* How far the accepted spec is known, when the object has another one. */
enum pin_question { PIN_UNKNOWN, PIN_ASKED, PIN_ANSWERED };

/* What becomes of a spec that is to be stored as a revision. */
enum pin_store {
    PIN_WRITE,     /* it is created with the pass's other objects */
    PIN_IN_DOUBT,  /* its name exists */
    PIN_WHOSE,     /* its holder is asked for */
    PIN_REPLACE,   /* the holder is ours, with another spec: it is deleted first */
    PIN_REPLACING, /* its deletion is under way */
};

/* Of a change while the job is suspended. */
enum pin_change {
    PIN_UNCHANGED,
    PIN_WAITS,   /* until the pods are gone, or for its time */
    PIN_STORING, /* as a revision */
    PIN_STORED,  /* the status moves */
    PIN_REFUSED, /* it could not be stored */
};

/* Of a job, kept between passes. */
struct pin {
    const struct pin_rules *rules; /* borrowed */
    enum pin_question question;
    int slot;         /* which of its names is asked, and then, has it */
    int failures;     /* of a question, in a row */
    int64_t again_ms; /* after the last of them, monotonic */
    char *asked_hash; /* status.specHash of the question; owned */
    json_t *accepted; /* the spec that was found; owned; NULL: none */
    bool is_accepted; /* what pin_settle led to has that spec, whatever its hash is */
    char fields[ACCEPTED_FIELDS_MAX]; /* what was changed and is not accepted; "": nothing */
    json_t *revision;                 /* what is to be stored; owned; NULL: nothing */
    int revision_slot;
    char revision_hash[65];
    enum pin_store store;
    json_t *holder; /* for PIN_REPLACE; owned; NULL: none */
    enum pin_change change;
    char next_hash[65]; /* of the changed spec; "": none */
    int64_t since_ms;   /* when it began to be stored, monotonic */
    struct retry_delay_repeat changes;
    bool is_late;     /* resumed, and the last of many changes is not taken before its time */
    int moves_failed; /* of the record on the Service, in a row */
    int64_t move_ms;  /* when that may be written again, monotonic */
};

/* What exists of a job; all borrowed. */
struct pin_seen {
    const json_t *service; /* NULL: none, or the kind has none */
    const json_t *pods;
    const struct credentials *credentials; /* of this controller, not yet in use; NULL: none */
};

void pin_release(struct pin *pin);
/* Before the plan. False: the accepted spec is being asked for, and the pass should end. Otherwise
 * *ret_object (owned) is the object with the spec that counts, or NULL: the object's own does. */
NODISCARD bool pin_settle(struct reconcile *request, struct pin *pin, const struct pin_rules *rules,
                          const struct pin_seen *seen, json_t **ret_object);
void pin_found(struct pin *pin, const struct found *found);
/* After the plan: adds a revision to what is created, when a change is taken, or the first object
 * of the kind `first` is created, unless that is a Service with the spec on it. */
void pin_add(struct reconcile *request, struct pin *pin, const char *first, json_t *create);
/* Records how the write of a revision or a Service's record ended. */
void pin_note(struct pin *pin, const struct written *written);
