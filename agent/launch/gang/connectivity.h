/* connectivity.h: checks, before the ranks start, that the pods of a round can reach each other.
 * Each pod has a tunnel (tunnel.h), which listens on a random port, as MPI does, and connects to
 * those of the next pod of the table and of member 0. So a NetworkPolicy that blocks them is
 * reported with the pods' names, instead of a collective that hangs. The key is not shown: that the
 * kernel answers is enough. Not thread-safe; nothing blocks. */
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

struct connectivity *connectivity_new(void);
void connectivity_free(struct connectivity *connectivity); /* accepts NULL */
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
