/* refusals.h: recent write failures of a job, and the pause of creations after a refusal,
 * kept between passes. */
#pragma once

#include "lib/error.h"
#include "operator/control/controller.h"
#include "operator/kinds/job/write_failure.h"

struct refusal {
    struct object_key object; /* owned */
    bool is_change;
    enum error_kind kind;
    char *text;       /* owned */
    int64_t since_ms; /* monotonic */
};

struct refusals {
    struct refusal *at; /* the oldest first */
    size_t count;
    int denied;              /* of creations, in a row; 0: creations do not pause */
    int64_t paused_until_ms; /* monotonic */
};

void refusals_release(struct refusals *record);
/* Records how a creation, or an apply, ended. */
void refusals_note(struct refusals *record, const struct written *written);
/* Records how the change of an existing object ended. Only a change that is not allowed is kept;
 * other failures, such as a deletion meanwhile, are not. */
void refusals_note_change(struct refusals *record, const struct written *written);
/* The form that a plan needs: borrowed from the record, but for the array, which the caller frees.
 */
struct write_failures refusals_of(const struct reconcile *request, const struct refusals *record);
