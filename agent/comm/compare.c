// SPDX-License-Identifier: Apache-2.0
#include "agent/comm/compare.h"

#include "lib/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How many ranks have the same sum of the part as this one. */
static int count_alike(const uint32_t *all, int ranks, size_t count, size_t part, int rank) {
    int alike = 0;
    for (int i = 0; i < ranks; i++) {
        alike += all[(size_t)i * count + part] == all[(size_t)rank * count + part];
    }
    return alike;
}

/* Of a part in which not all are alike. */
static void judge(const uint32_t *all, int ranks, size_t count, size_t part,
                  struct compare_found *ret) {
    int most = 0, groups = 0; /* the largest group, and the ranks in groups of that size */
    for (int i = 0; i < ranks; i++) {
        most = MAX(most, count_alike(all, ranks, count, part, i));
    }
    for (int i = 0; i < ranks; i++) {
        groups += count_alike(all, ranks, count, part, i) == most;
    }
    *ret = (struct compare_found){.part = part, .rank = -1, .alike = most};
    for (int i = 0; groups == most && i < ranks && ret->rank < 0; i++) {
        ret->rank = count_alike(all, ranks, count, part, i) < most ? i : -1;
    }
}

bool compare_find(const uint32_t *all, int ranks, size_t count, size_t first, size_t end,
                  struct compare_found *ret) {
    for (size_t part = first; part < end; part++) {
        if (count_alike(all, ranks, count, part, 0) < ranks) {
            judge(all, ranks, count, part, ret);
            return false;
        }
    }
    return true;
}

int compare_gather(struct comm *comm, const uint32_t *sums, size_t count, uint32_t **ret_all,
                   struct error *err) {
    *ret_all = x_calloc((size_t)comm->size * count, sizeof **ret_all);
    return comm_gather(comm, sums, count * sizeof *sums, *ret_all, err);
}

/* Its instructions, as Linux lists them, and which of them our kernels take. */
uint32_t compare_processor(void) {
    const char *chosen = getenv("WINDLASS_CPU_ISA");
    uint32_t sum = digest_crc32c(0, chosen ? chosen : "", chosen ? strlen(chosen) : 0);
    FILE *file = fopen("/proc/cpuinfo", "re");
    char *line = NULL;
    size_t room = 0;
    while (file && getline(&line, &room, file) > 0) {
        if (text_starts(line, "flags") || text_starts(line, "Features")) {
            sum = digest_crc32c(sum, line, strlen(line));
            break;
        }
    }
    free(line);
    if (file) {
        fclose(file);
    }
    return sum;
}

int compare_host(struct comm *comm, struct compare_found *found, struct error *err) {
    char mine[COMPARE_HOST_MAX] = "";
    char(*all)[COMPARE_HOST_MAX] = x_calloc((size_t)comm->size, sizeof *all);
    gethostname(mine, sizeof mine - 1);
    int result = comm_gather(comm, mine, sizeof mine, all, err);
    if (result == 0 && found->rank >= 0) {
        memcpy(found->host, all[found->rank], sizeof found->host);
        found->host[sizeof found->host - 1] = '\0';
    }
    free(all);
    return result;
}
