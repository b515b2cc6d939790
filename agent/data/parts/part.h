/* part.h: the results of one try as bytes: an object in the store, or still in the memory of the
 * worker. Later readers know size and CRC-32C from the commit. */
#pragma once

#include "agent/store/store.h"

enum { PART_NAME_MAX = 96 };

struct part {
    struct store *store;
    char name[PART_NAME_MAX]; /* of the object */
    const char *bytes;        /* borrowed; NULL: in the object */
    int64_t size_bytes;
    uint32_t crc;
};

/* The parts of a video, by cell: what its join reads. A part of several cells is at its first cell;
 * the others are empty. */
struct part_place {
    int64_t epoch, lease, size_bytes;
    int64_t cells; /* 0: nothing is there */
    uint32_t crc;
    bool is_there;
    bool is_broken; /* set by the join: missing, or differs from the commit */
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

/* Exactly so many bytes; INVALID where the part ends before. */
NODISCARD int part_read(const struct part *part, int64_t offset, void *data, size_t size,
                        struct error *err);
/* Compares it with the commit. *ret_broken: it is missing or differs; else the store failed. */
NODISCARD int part_check(const struct part *part, bool *ret_broken, struct error *err);
/* The same; a part smaller than room_bytes is read into room, which part then borrows. */
NODISCARD int part_load(struct part *part, char *room, size_t room_bytes, bool *ret_broken,
                        struct error *err);
