/* write_failure.h: a recent write of a job that the cluster refused, as the job's plan sees it. */
#pragma once

#include "operator/kinds/job/object_key.h"

enum write_failure_why {
    WRITE_FAILURE_LEAVING, /* an earlier job's object of that name exists and is being deleted */
    WRITE_FAILURE_TAKEN,   /* an object of that name exists and belongs to something else */
    WRITE_FAILURE_HELD, /* a pod that must be the only one lost its label or owner, and may run */
    WRITE_FAILURE_UNKNOWN, /* as HELD; the API server did not answer whether that pod has ended */
    WRITE_FAILURE_DENIED,  /* not allowed at the moment: a quota, a policy, our permissions */
    WRITE_FAILURE_REFUSED, /* invalid for the cluster: a retry is useless; only of a creation */
    WRITE_FAILURE_MISSING, /* the cluster does not know the kind */
    WRITE_FAILURE_COUNT
};

struct write_failure {
    struct object_key object;
    bool is_change;   /* an existing object could not be changed */
    bool is_deletion; /* it could not be deleted; neither of the two: it could not be made */
    enum write_failure_why why;
    bool is_passing; /* the server or a webhook failed: an outage, and no answer about the object */
    const char *text; /* the cluster's words */
};

struct write_failures {
    struct write_failure *at; /* the oldest first */
    size_t count;
};

/* The reason of the condition, for a failure with why WRITE_FAILURE_DENIED: QuotaExceeded or
 * Denied, by the API server's message. */
const char *write_failure_denied_reason(const struct write_failure *failure);

/* Any Secret is the job's (object_key_same_part). NULL: none is known, or list is NULL. Borrowed.
 */
const struct write_failure *write_failure_find(const struct write_failures *list,
                                               struct object_key object, bool is_change);
/* The same of a deletion. */
const struct write_failure *write_failure_find_deletion(const struct write_failures *list,
                                                        struct object_key object);
