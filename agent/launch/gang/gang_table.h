/* gang_table.h: the members of a round, which the hub sends to all before it starts one; ranks,
 * hosts and addresses follow from it. Plain data, pure. */
#pragma once

#include "lib/buffer.h"

struct gang_table_row {
    int index;        /* of the pod */
    int slots;        /* ranks that it takes */
    int port;         /* a free port for the user's program */
    int reach;        /* port of the connectivity check (connectivity.h); 0: none */
    char address[46]; /* of the pod, IPv4 or IPv6 */
};

struct gang_table {
    int64_t round;
    size_t count;
    struct gang_table_row *rows; /* by rising index; the first one is member 0 */
};

void gang_table_release(struct gang_table *table);

/* Place of that pod, 0 to count - 1; -1: not in the table. */
int gang_table_place(const struct gang_table *table, int index);
/* The rank of that slot (0 to slots - 1) of the pod: slots of those before it, and slot; -1: none.
 */
int gang_table_rank(const struct gang_table *table, int index, int slot);
/* All slots. */
int gang_table_ranks(const struct gang_table *table);
/* "ADDRESS slots=N" lines, the first one member 0's; pods of one address (`windlass run`) share a
 * line. for_hydra: "ADDRESS:N", as MPICH and Intel MPI have them. */
NODISCARD int gang_table_hostfile(const struct gang_table *table, bool for_hydra,
                                  struct buffer *text, struct error *err);
/* The addresses in the same order, with commas. With ports: ADDRESS:PORT, a pod each. */
NODISCARD int gang_table_hosts(const struct gang_table *table, bool with_ports, struct buffer *text,
                               struct error *err);
/* The row of the pod with that address (also as [ADDRESS]); NULL: none. */
const struct gang_table_row *gang_table_find_host(const struct gang_table *table, const char *host);
