/* elector.h: leader election among the replicas of the controller, with a Lease object. It sends
 * the requests that election.h decides on. All its work is done in the loop_wait of the loop that
 * it shares with the cluster (kube_loop). */
#pragma once

#include "operator/kube/client.h"
#include "operator/kube/election.h"

struct elector;

enum elector_state {
    ELECTOR_STANDBY, /* another replica leads, or none yet */
    ELECTOR_LEADER,  /* we hold the Lease */
    ELECTOR_LOST,    /* we held it and lost it: the process must send no more writes, and exit */
};

struct elector_options {
    const char *namespace, *name; /* of the Lease */
    const char *identity;         /* unique; NULL: the host's name and a random part */
    /* Called when the state has changed; may be NULL. */
    void (*changed)(void *context, enum elector_state state);
    void *context;
};

/* Joins the election. client and loop must outlive the elector (kube_client, kube_loop). */
NODISCARD int elector_open(const struct elector_options *options, struct client *client,
                           struct loop *loop, struct elector **ret_elector, struct error *err);
/* Does not release the Lease: others must wait until it expires. */
void elector_free(struct elector *elector);

enum elector_state elector_read_state(const struct elector *elector);
/* The identity of the leader as last seen; "" for none. Borrowed. */
const char *elector_holder(const struct elector *elector);
/* Why the Lease cannot be read or written at the moment; NULL: it can. Borrowed. */
const struct error *elector_error(const struct elector *elector);

/* Releases the Lease, so that another replica can take it at once instead of after its expiry. Call
 * it when the last write has ended. Blocks up to timeout_ms; the loop's other work goes on
 * meanwhile. */
void elector_step_down(struct elector *elector, int timeout_ms);
