/* connectivity.h: checks, before the ranks start, that the pods of a round reach each other. Each
 * pod listens on a random port, as MPI does, and connects to the next pod of the table and to
 * member 0. A NetworkPolicy that blocks them is then reported by name instead of a hanging
 * collective. One thread; nothing blocks. */
#pragma once

#include "agent/launch/gang/gang_table.h"

enum {
    CONNECTIVITY_MS = 15000, /* to reach all: a policy may need some seconds to include a new pod */
    CONNECTIVITY_AGAIN_MS = 500,
    CONNECTIVITY_WORDS_MAX = 200,
};

enum connectivity_state {
    CONNECTIVITY_IDLE,
    CONNECTIVITY_BUSY,
    CONNECTIVITY_DONE,
    CONNECTIVITY_FAILED
};

struct connectivity;

/* Listens at that address (IPv4 or IPv6). */
NODISCARD int connectivity_open(const char *address, struct connectivity **ret_reach,
                                struct error *err);
void connectivity_free(struct connectivity *reach); /* NULL is fine, here and below: no check */
int connectivity_port(const struct connectivity *reach);
/* Starts a check and drops the one before. Rows without a port (`reach`) are skipped. */
void connectivity_begin(struct connectivity *reach, const struct gang_table *table, int index,
                        int64_t now_ms);
void connectivity_end(struct connectivity *reach);
/* Continues. DONE or FAILED is returned once, then IDLE. FAILED: the index of the unreachable pod,
 * and "IP:PORT: why". */
enum connectivity_state connectivity_poll(struct connectivity *reach, int64_t now_ms,
                                          int *ret_index,
                                          char ret_words[static CONNECTIVITY_WORDS_MAX]);
bool connectivity_is_busy(const struct connectivity *reach);
