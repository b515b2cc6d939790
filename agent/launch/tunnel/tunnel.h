/* tunnel.h: a pod's port for the other pods of its gang. It shows them that they reach this pod
 * (connectivity.h), and carries the connections of MPI's launchers (mpirun, orted), encrypted.
 * Mpirun and its daemons listen on loopback only (preload.c); a launcher's connection to another
 * pod goes through both pods' agents:
 *
 *     launcher -> 127.0.0.1, this agent -> TLS with a key made of the job's token -> the other
 *     pod's agent -> 127.0.0.1, the launcher that listens there
 *
 * So a program without the token reaches no launcher. A thread of its own serves all connections;
 * they end with the round. */
#pragma once

#include "lib/error.h"

enum {
    TUNNEL_PENDING_MAX = 64,   /* unauthenticated connections; one more drops the oldest */
    TUNNEL_PENDING_OF_ONE = 8, /* the same from one address, a pod's of the round, too */
    TUNNEL_STREAMS_MAX = 4096,
    TUNNEL_PENDING_MS = 5000, /* time limit for showing the key */
    TUNNEL_CONNECT_MS = 15000,
};

struct tunnel;

/* A pod of the round. */
struct tunnel_host {
    int index;
    int port; /* of its tunnel; 0: it has none */
    char address[46];
};

/* address: of this pod, where other pods connect to; index: this pod's; has_launchers: this pod's
 * may connect to those of others. */
NODISCARD int tunnel_open(const char *address, const char *token, int index, bool has_launchers,
                          struct tunnel **ret_tunnel, struct error *err);
void tunnel_free(struct tunnel *tunnel); /* accepts NULL, here and below */
/* The port for the other pods' table; 0: none. */
int tunnel_port(const struct tunnel *tunnel);
/* The value of PRELOAD_VARIABLE for launchers that connect to other pods, a secret; NULL: none.
 * Borrowed. */
const char *tunnel_variable(const struct tunnel *tunnel);
/* A round begins with these pods, or ends (count 0). Connections of the last round are closed.
 * Without pods no one gets through, not even with the key. */
void tunnel_set_hosts(struct tunnel *tunnel, const struct tunnel_host *hosts, size_t count);
