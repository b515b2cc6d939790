/* compare.h: whether all ranks have the same bits: of each of many parts every rank gives a
 * checksum, and the first part in which one rank differs from the others is found. Memory or a
 * processor that computes wrong without an error is seen so. */
#pragma once

#include "agent/comm/comm.h"

enum { COMPARE_HOST_MAX = 64, COMPARE_PARTS_MAX = (1 << 20) / (int)sizeof(uint32_t) };

struct compare_found {
    size_t part; /* the first in which not all ranks are alike */
    int rank;    /* the first that differs from most; -1: as many are of one mind as of another */
    int alike;   /* how many have the value of most */
    char host[COMPARE_HOST_MAX]; /* of that rank: in a pod its name; "" if rank is -1 */
};

/* Parts [first, end) of rank-by-rank sums, all[ranks][count]. True: all are alike. Pure; host is
 * "". */
bool compare_find(const uint32_t *all, int ranks, size_t count, size_t first, size_t end,
                  struct compare_found *ret);
/* Every rank must call it with the same count, at most COMPARE_PARTS_MAX. *ret_all: the sums of all
 * ranks for compare_find; the caller frees it. */
NODISCARD int compare_gather(struct comm *comm, const uint32_t *sums, size_t count,
                             uint32_t **ret_all, struct error *err);
/* A checksum of what this processor can compute with: others may round otherwise. */
uint32_t compare_processor(void);
/* Fills in the host. Every rank must call it. */
NODISCARD int compare_host(struct comm *comm, struct compare_found *found, struct error *err);
