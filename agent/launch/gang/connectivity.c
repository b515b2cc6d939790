// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/gang/connectivity.h"

#include "lib/net/address.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { TARGETS_MAX = 2 };

struct target {
    int index;
    struct address address;
    bool is_reached;
    int fd; /* being connected; -1: none */
    int64_t again_ms;
    struct error err; /* the last failure */
};

struct connectivity {
    bool is_busy;
    struct target targets[TARGETS_MAX];
    size_t count;
    int64_t until_ms;
};

static int parse(const char *address, int port, struct address *ret_address, struct error *err) {
    AUTO(text_freep)
    char *text = x_printf(strchr(address, ':') ? "[%s]:%d" : "%s:%d", address, port);
    return address_parse(text, ret_address, err);
}

struct connectivity *connectivity_new(void) {
    return x_calloc(1, sizeof(struct connectivity));
}

void connectivity_end(struct connectivity *connectivity) {
    for (size_t i = 0; i < connectivity->count; i++) {
        fd_closep(&connectivity->targets[i].fd);
    }
    connectivity->is_busy = false;
    connectivity->count = 0;
}

void connectivity_free(struct connectivity *connectivity) {
    if (connectivity) {
        connectivity_end(connectivity);
        free(connectivity);
    }
}

bool connectivity_is_busy(const struct connectivity *connectivity) {
    return connectivity->is_busy;
}

static void add(struct connectivity *connectivity, const struct gang_table_row *row, int own) {
    struct target target = {.index = row->index, .fd = -1};
    bool is_there = row->index == own || row->connectivity_port == 0;
    for (size_t i = 0; i < connectivity->count; i++) {
        is_there |= connectivity->targets[i].index == row->index;
    }
    if (!is_there &&
        parse(row->address, row->connectivity_port, &target.address, &target.err) == 0) {
        connectivity->targets[connectivity->count++] = target;
    }
}

void connectivity_begin(struct connectivity *connectivity, const struct gang_table *table,
                        int index, int64_t now_ms) {
    int place = gang_table_place(table, index);
    connectivity_end(connectivity);
    if (place >= 0) {
        add(connectivity, &table->rows[((size_t)place + 1) % table->count], index);
        add(connectivity, &table->rows[0], index);
        connectivity->is_busy = true;
        connectivity->until_ms = now_ms + CONNECTIVITY_MS;
    }
}

/* A reset also proves that the other side responds. */
static void check_target(struct target *target, int64_t now_ms) {
    struct pollfd poll_fd = {.fd = target->fd, .events = POLLOUT};
    int why = 0;
    socklen_t size = sizeof why;
    if (target->fd < 0) {
        if (now_ms < target->again_ms) {
            return;
        }
        target->err = (struct error){0};
        if (address_connect(&target->address, &target->fd, &target->err) < 0) {
            target->again_ms = now_ms + CONNECTIVITY_AGAIN_MS;
        }
    } else if (poll(&poll_fd, 1, 0) == 1) {
        getsockopt(target->fd, SOL_SOCKET, SO_ERROR, &why, &size);
        target->is_reached = why == 0 || why == ECONNRESET;
        fd_closep(&target->fd);
        target->fd = -1;
        target->err = (struct error){0};
        error_from_errno(&target->err, why, "connect");
        target->again_ms = now_ms + CONNECTIVITY_AGAIN_MS;
    }
}

enum connectivity_state connectivity_poll(struct connectivity *connectivity, int64_t now_ms,
                                          int *ret_index,
                                          char ret_detail[static CONNECTIVITY_DETAIL_MAX]) {
    const struct target *missing = NULL;
    if (!connectivity_is_busy(connectivity)) {
        return CONNECTIVITY_IDLE;
    }
    for (size_t i = 0; i < connectivity->count; i++) {
        struct target *target = &connectivity->targets[i];
        if (!target->is_reached) {
            check_target(target, now_ms);
        }
        missing = target->is_reached ? missing : target;
    }
    if (missing && now_ms < connectivity->until_ms) {
        return CONNECTIVITY_BUSY;
    }
    if (missing) {
        *ret_index = missing->index;
        snprintf(ret_detail, CONNECTIVITY_DETAIL_MAX, "%s:%d: %.100s", missing->address.host,
                 missing->address.port, missing->fd >= 0 ? "no answer" : missing->err.text);
    }
    connectivity_end(connectivity);
    return missing ? CONNECTIVITY_FAILED : CONNECTIVITY_DONE;
}
