/* part.h: the results of one try as bytes: an object in the store, or memory of the worker. Later
 * readers take size and CRC-32C from the commit. */
#pragma once

#include "agent/store/store.h"

enum { PART_NAME_MAX = 96 };

struct part {
    struct store *store;
    char name[PART_NAME_MAX]; /* the object's */
    const char *bytes;        /* borrowed; NULL: the bytes are in the object */
    int64_t size_bytes;
    uint32_t crc;
};

/* Where a committed result of a video is, for the join. A part may cover several cells (ledger.h):
 * its first cell has the place, the others have cells = 0. */
struct part_place {
    int64_t epoch, lease, size_bytes;
    int64_t cells; /* number in the part; 0: no part begins at this cell */
    uint32_t crc;
    bool is_there;   /* committed, as an object */
    bool is_partial; /* some of its items have failed */
    bool is_failed;  /* the mini-batch has failed, so it has no part */
    bool is_broken;  /* set by the join: missing, or differs from the commit */
};
struct parts {
    struct store *store; /* the output */
    const char *run;
    int64_t count;
    struct part_place *places; /* [count], by cell */
};

/* ".windlass/RUN/try/EPOCH-LEASE" */
void part_name(const char *run, int64_t epoch, int64_t lease, char name[static PART_NAME_MAX]);
struct part parts_at(const struct parts *parts, int64_t index);

/* Reads exactly size bytes; INVALID if the part is shorter. */
NODISCARD int part_read(const struct part *part, int64_t offset, void *data, size_t size,
                        struct error *err);
/* Compares the part with the commit. On failure *ret_broken says that it is missing or differs;
 * otherwise the store failed. */
NODISCARD int part_check(const struct part *part, bool *ret_broken, struct error *err);
/* Like part_check, and reads a part smaller than room_bytes into room, which part then borrows. */
NODISCARD int part_load(struct part *part, char *room, size_t room_bytes, bool *ret_broken,
                        struct error *err);
