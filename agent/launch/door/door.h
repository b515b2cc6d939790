/* door.h: carries the connections of MPI's launchers (mpirun, orted) between the pods of a gang,
 * encrypted. Mpirun and its daemons listen on loopback only (preload.c); a launcher's connection to
 * another pod goes through both pods' agents:
 *
 *     launcher -> 127.0.0.1, this agent -> TLS with a key made of the job's token -> the other
 *     pod's agent -> 127.0.0.1, the launcher that listens there
 *
 * So a program without the token reaches no launcher. A thread of its own serves all connections;
 * they end with the round. */
#pragma once

#include "lib/error.h"

enum {
    DOOR_PENDING_MAX = 64,   /* strangers that have not shown the key: the oldest is dropped */
    DOOR_PENDING_OF_ONE = 8, /* the same from one address, a pod's of the round, too */
    DOOR_STREAMS_MAX = 4096,
    DOOR_PENDING_MS = 5000, /* time limit for showing the key */
    DOOR_CONNECT_MS = 15000,
};

struct door;

/* A pod of the round. */
struct door_host {
    int index;
    int port; /* of its door; 0: it has none */
    char address[46];
};

/* address: of this pod, where other pods connect to; index: this pod's. */
NODISCARD int door_open(const char *address, const char *token, int index, struct door **ret_door,
                        struct error *err);
void door_free(struct door *door); /* accepts NULL, here and below */
/* The port for the other pods' table; 0: none. */
int door_port(const struct door *door);
/* The value of PRELOAD_VARIABLE for launchers that connect to other pods, a secret; NULL: none.
 * Borrowed. */
const char *door_variable(const struct door *door);
/* A round begins with these pods, or ends (count 0). Connections of the last round are closed. */
void door_set_hosts(struct door *door, const struct door_host *hosts, size_t count);
