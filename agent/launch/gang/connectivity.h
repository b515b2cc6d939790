/* connectivity.h: checks, before the ranks start, that the pods of a round can reach each other.
 * Each pod listens on a random port, as MPI does, and connects to the next pod of the table and to
 * member 0. So a NetworkPolicy that blocks them is reported with the pods' names, instead of a
 * collective that hangs. A thread of its own accepts connections of other pods, and of strangers,
 * and closes them; they are not read. Not thread-safe; nothing blocks. */
#pragma once

#include "agent/launch/gang/gang_table.h"

enum {
    CONNECTIVITY_MS = 15000,     /* time limit: a policy may need seconds to include a new pod */
    CONNECTIVITY_AGAIN_MS = 500, /* between two attempts to connect */
    CONNECTIVITY_DETAIL_MAX = 200,
};

enum connectivity_state {
    CONNECTIVITY_IDLE, /* no check is under way */
    CONNECTIVITY_BUSY,
    CONNECTIVITY_DONE, /* all were reached */
    CONNECTIVITY_FAILED
};

struct connectivity;

/* Listens at that address (IPv4 or IPv6). */
NODISCARD int connectivity_open(const char *address, struct connectivity **ret_connectivity,
                                struct error *err);
/* The check may be NULL, here and below: then there is none, and the state is IDLE. */
void connectivity_free(struct connectivity *connectivity);
/* The port to put into the pod's row of the table; 0: none. */
int connectivity_port(const struct connectivity *connectivity);
/* Starts a check by this table for the pod of that index, and drops the one before. Rows without a
 * connectivity_port are skipped. */
void connectivity_begin(struct connectivity *connectivity, const struct gang_table *table,
                        int index, int64_t now_ms);
void connectivity_end(struct connectivity *connectivity);
/* Continues. DONE or FAILED is returned once, then IDLE. FAILED: *ret_index is the pod that was not
 * reached, ret_detail "IP:PORT: why". */
enum connectivity_state connectivity_poll(struct connectivity *connectivity, int64_t now_ms,
                                          int *ret_index,
                                          char ret_detail[static CONNECTIVITY_DETAIL_MAX]);
bool connectivity_is_busy(const struct connectivity *connectivity);
