/* reach.h: whether the pods of a round reach each other, tried before anything runs: each listens
 * on a port that it was given by chance, as those of MPI are, and connects to the next pod of the
 * table and to member 0. So what a NetworkPolicy forbids has a name, and is no collective that
 * hangs. One thread; nothing blocks. */
#pragma once

#include "agent/launch/table.h"

enum {
    REACH_MS = 15000, /* for all to be reached: a policy may take its time to know a new pod */
    REACH_AGAIN_MS = 500,
    REACH_WORDS_MAX = 200,
};

enum reach_state { REACH_IDLE, REACH_BUSY, REACH_DONE, REACH_FAILED };

struct reach;

/* Listens at that address (IPv4 or IPv6). */
NODISCARD int reach_open(const char *address, struct reach **ret_reach, struct error *err);
void reach_free(struct reach *reach); /* NULL is fine, here and below: then nothing is tried */
int reach_port(const struct reach *reach);
/* What was being tried is given up. Rows without a port (`reach`) are not tried. */
void reach_begin(struct reach *reach, const struct table *table, int index, int64_t now_ms);
void reach_end(struct reach *reach);
/* Goes on; DONE and FAILED once each, then IDLE. FAILED: whom it did not reach, "IP:PORT: why". */
enum reach_state reach_look(struct reach *reach, int64_t now_ms, int *ret_index,
                            char ret_words[static REACH_WORDS_MAX]);
bool reach_is_busy(const struct reach *reach);
