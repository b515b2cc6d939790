/* lease.h: leader election over a Lease object: election.h with the requests. Moves on inside the
 * wait of the cluster whose loop it shares. */
#pragma once

#include "operator/kube/client.h"
#include "operator/kube/election.h"

struct lease;

enum lease_state {
    LEASE_STANDBY,
    LEASE_HELD,
    LEASE_LOST, /* it was held, and cannot be any more: write nothing, end */
};

struct lease_options {
    const char *namespace, *name;
    const char *identity; /* unique; NULL: the host's name and chance */
    /* Called when the state has changed; may be NULL. */
    void (*changed)(void *context, enum lease_state state);
    void *context;
};

/* Starts to try. client and loop must live on (kube_client, kube_loop). */
NODISCARD int lease_open(const struct lease_options *options, struct client *client,
                         struct loop *loop, struct lease **ret_lease, struct error *err);
void lease_free(struct lease *lease); /* without giving it back: the others wait for its time */

enum lease_state lease_state(const struct lease *lease);
const char *lease_holder(const struct lease *lease); /* as last seen; "" for none. Borrowed */
/* Why the Lease cannot be read or written at the moment; NULL: it can. Borrowed. */
const struct error *lease_trouble(const struct lease *lease);

/* Gives it back, so that another takes it at its next try, a second later at most. Call when the
 * last write is done. Blocks up to timeout_ms; what else the loop has under way moves on. */
void lease_give_back(struct lease *lease, int timeout_ms);
