// SPDX-License-Identifier: Apache-2.0
#include "operator/local/gpus.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct local_gpus {
    size_t count;
    char *names[GPUS_MAX]; /* an index or an id, as in CUDA_VISIBLE_DEVICES */
    const void *holders[GPUS_MAX];
};

static void add(struct local_gpus *gpus, const char *name, size_t size) {
    if (gpus->count < GPUS_MAX && size) {
        gpus->names[gpus->count++] = x_strndup(name, size);
    }
}

/* Follows CUDA: GPUs after a negative index are invisible. */
static void read_list(struct local_gpus *gpus, const char *list) {
    for (const char *at = list; *at && *at != '-'; at += *at == ',') {
        size_t size = strcspn(at, ",");
        add(gpus, at, size);
        at += size;
    }
}

/* /dev/nvidia0, but not /dev/nvidiactl. Only their number matters, not their order. */
static void find_devices(struct local_gpus *gpus) {
    static const char start[] = "/dev/nvidia";
    glob_t found = {0};
    if (glob("/dev/nvidia[0-9]*", 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) { /* CUDA numbers them from 0 without gaps */
            const char *number = found.gl_pathv[i] + sizeof start - 1;
            char index[24];
            if (number[strspn(number, "0123456789")] == 0) {
                int size = snprintf(index, sizeof index, "%zu", gpus->count);
                add(gpus, index, (size_t)size);
            }
        }
    }
    globfree(&found);
}

struct local_gpus *local_gpus_find(void) {
    struct local_gpus *gpus = x_calloc(1, sizeof *gpus);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible) {
        read_list(gpus, visible);
    } else {
        find_devices(gpus);
    }
    return gpus;
}

void local_gpus_free(struct local_gpus *gpus) {
    for (size_t i = 0; gpus && i < gpus->count; i++) {
        free(gpus->names[i]);
    }
    free(gpus);
}

size_t local_gpus_count(const struct local_gpus *gpus) {
    return gpus ? gpus->count : 0;
}

char *local_gpus_take(struct local_gpus *gpus, size_t count, const void *holder) {
    size_t left = 0, size = 1;
    for (size_t i = 0; i < gpus->count; i++) {
        left += gpus->holders[i] == NULL;
        size += strlen(gpus->names[i]) + 1;
    }
    if (count == 0 || left < count) {
        return NULL;
    }
    char *list = x_calloc(size, 1), *end = list;
    for (size_t i = 0; i < gpus->count && count > 0; i++) {
        if (!gpus->holders[i]) {
            gpus->holders[i] = holder;
            end += snprintf(end, size - (size_t)(end - list), "%s%s", end == list ? "" : ",",
                            gpus->names[i]);
            count--;
        }
    }
    return list;
}

void local_gpus_give(struct local_gpus *gpus, const void *holder) {
    for (size_t i = 0; i < local_gpus_count(gpus); i++) {
        if (gpus->holders[i] == holder) {
            gpus->holders[i] = NULL;
        }
    }
}
