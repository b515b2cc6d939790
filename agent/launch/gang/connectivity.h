/* connectivity.h: whether the pods of a round reach each other, tried before anything runs: each
 * listens on a port that it was given by chance, as those of MPI are, and connects to the next pod
 * of the table and to member 0. So what a NetworkPolicy forbids has a name, and is no collective
 * that hangs. One thread; nothing blocks. */
#pragma once

#include "agent/launch/gang/gang_table.h"

enum {
    CONNECTIVITY_MS =
        15000, /* for all to be reached: a policy may take its time to know a new pod */
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
void connectivity_free(
    struct connectivity *reach); /* NULL is fine, here and below: then nothing is tried */
int connectivity_port(const struct connectivity *reach);
/* What was being tried is given up. Rows without a port (`reach`) are not tried. */
void connectivity_begin(struct connectivity *reach, const struct gang_table *table, int index,
                        int64_t now_ms);
void connectivity_end(struct connectivity *reach);
/* Goes on; DONE and FAILED once each, then IDLE. FAILED: whom it did not reach, "IP:PORT: why". */
enum connectivity_state connectivity_poll(struct connectivity *reach, int64_t now_ms,
                                          int *ret_index,
                                          char ret_words[static CONNECTIVITY_WORDS_MAX]);
bool connectivity_is_busy(const struct connectivity *reach);
