/* adoption.h: objects of a job that have lost their owner. Somebody removed their ownerReferences,
 * but they have the job's label and its uid as an annotation, so they are taken back before
 * anything is planned: a job that planned without its Service would begin again, and without a pod
 * it would run a second one beside it.
 *
 * Each such object is read once, judged (control/claim.h), and changed as it was read, by its uid
 * and version. Until that has ended the job waits: it neither creates nor deletes. If the cluster
 * refuses the change, or after ADOPTION_TRIES failed tries, the job goes on, and waits for this
 * object no more: it tries again after about ten minutes, doubling up to some five hours. Before
 * that it may meet the object when it wants to use its name (holders.h). A try after another, and
 * the adoption of what had its owner back lately, have to wait: about 1 s, doubling up to one and
 * two minutes, and then for their turn (retry_pace.h). So somebody who removes the references again
 * and again causes no storm of requests. */
#pragma once

#include "operator/control/claim.h"
#include "operator/control/controller.h"
#include "operator/kinds/job/reconcile/retry_delay.h"
#include "operator/kinds/job/write_failure.h"

struct credentials;

enum { ADOPTION_TRIES = 5 };

enum adoption_stage {
    ADOPTION_SEEN,   /* the cache shows it without an owner */
    ADOPTION_ASKED,  /* the cluster is asked how it is now */
    ADOPTION_FOUND,  /* `there` is the answer */
    ADOPTION_TAKING, /* the change was asked for */
    ADOPTION_OURS,   /* it has its owner again */
    ADOPTION_LATER,  /* it could not be changed: the job does not wait for the next try */
    ADOPTION_LEFT,   /* gone, or not ours: it is not looked at again */
};

struct adoption_row {
    struct object_key object; /* owned, as all texts and trees */
    char *api_version, *uid;
    enum adoption_stage stage;
    json_t *there;
    bool is_late;             /* the job waits for it no more */
    int tries;                /* failed, since it was seen without an owner */
    struct retry_delay delay; /* by failed tries, and by adoptions lately */
    int64_t adopted_ms;       /* or that somebody else gave it its owner back; monotonic */
};

/* Of one job; zero at first. */
struct adoption {
    struct adoption_row *at;
    size_t count;
    uint64_t mark; /* cache_lost */
};

void adoption_release(struct adoption *adoption);

/* Before each pass, before the cache is read. kinds: what the job owns and the controller watches;
 * ends with NULL. made: of this controller, not yet in use; NULL: none. May ask for writes
 * (CLUSTER_MERGE) and one question. True: the job has to wait; the end of the question, of the
 * write or of the delay leads to another pass. */
bool adoption_settle(struct reconcile *request, struct adoption *adoption, const char *const *kinds,
                     const struct credentials *made);
/* An answer to a question; one that another module asked is ignored. */
void adoption_found(struct adoption *adoption, const struct found *found);
/* Records how a change ended; one of another module is ignored. */
void adoption_note(struct adoption *adoption, const struct written *written);

/* As claim_judge, but an object without a controller that names a Secret is only adopted if it is
 * the job's: the one of the status, of this controller, or, as long as there is neither, of another
 * object that the job owns. Else it was not made for what the job does now, whatever it says. */
enum claim adoption_judge(const struct reconcile *request, const json_t *there,
                          const json_t *wanted, const struct credentials *made);
