/* gang_table.h: the table of a round: its members, their slots, addresses and ports. The hub sends
 * it to all members before the round starts; ranks, hostfiles and addresses follow from it. Plain
 * data, pure. */
#pragma once

#include "lib/buffer.h"

struct gang_table_row {
    int index;             /* of the pod */
    int slots;             /* ranks of this pod */
    int port;              /* a free port of this pod, for the user's program */
    int connectivity_port; /* where it can be reached, if at all (connectivity.h); 0: nowhere */
    int tunnel_port;       /* where launchers of other pods come in (tunnel.h); 0: none */
    char address[46];      /* of the pod, IPv4 or IPv6 */
};

struct gang_table {
    int64_t round;
    size_t count;
    struct gang_table_row *rows; /* by ascending index; the first one is member 0. Owned */
};

void gang_table_release(struct gang_table *table);

/* The position of that pod's row, 0 to count - 1; -1: not in the table. */
int gang_table_place(const struct gang_table *table, int index);
/* The rank of a slot (0 to slots - 1) of a pod: all slots of the pods before it, plus slot. -1:
 * the table has no such pod or slot. */
int gang_table_rank(const struct gang_table *table, int index, int slot);
/* The number of ranks: the sum of all slots. */
int gang_table_ranks(const struct gang_table *table);
/* Appends one line "ADDRESS slots=N" per address, member 0's first. Pods that share an address
 * (`windlass run`) share a line. for_hydra: "ADDRESS:N", for MPICH and Intel MPI. EXHAUSTED: the
 * buffer is full. */
NODISCARD int gang_table_hostfile(const struct gang_table *table, bool for_hydra,
                                  struct buffer *text, struct error *err);
/* Appends the addresses of the hostfile, separated by commas; with_ports: ADDRESS:PORT of each
 * pod. EXHAUSTED: the buffer is full. */
NODISCARD int gang_table_hosts(const struct gang_table *table, bool with_ports, struct buffer *text,
                               struct error *err);
/* The row of the pod with that address (also as [ADDRESS]); NULL: none. */
const struct gang_table_row *gang_table_find_host(const struct gang_table *table, const char *host);
