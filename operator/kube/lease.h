/* lease.h: leader election over a Lease object: election.h with its requests. It proceeds inside
 * the wait of the cluster whose loop it shares. */
#pragma once

#include "operator/kube/client.h"
#include "operator/kube/election.h"

struct lease;

enum lease_state {
    LEASE_STANDBY,
    LEASE_HELD,
    LEASE_LOST, /* it was held and is lost permanently: the process must write nothing more and end
                 */
};

struct lease_options {
    const char *namespace, *name;
    const char *identity; /* unique; NULL: the host's name and a random part */
    /* Called when the state has changed; may be NULL. */
    void (*changed)(void *context, enum lease_state state);
    void *context;
};

/* Starts to compete. client and loop must outlive the lease (kube_client, kube_loop). */
NODISCARD int lease_open(const struct lease_options *options, struct client *client,
                         struct loop *loop, struct lease **ret_lease, struct error *err);
void lease_free(struct lease *lease); /* without giving it back: others wait until it expires */

enum lease_state lease_state(const struct lease *lease);
const char *lease_holder(const struct lease *lease); /* as last seen; "" for none. Borrowed */
/* Why the Lease cannot be read or written at the moment; NULL: it can. Borrowed. */
const struct error *lease_trouble(const struct lease *lease);

/* Releases the Lease, so that another replica gets it at its next try, at most a second later. Call
 * it after the last write is done. Blocks up to timeout_ms; the loop's other work proceeds
 * meanwhile. */
void lease_give_back(struct lease *lease, int timeout_ms);
