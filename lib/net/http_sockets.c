// SPDX-License-Identifier: Apache-2.0
#include "lib/net/http_sockets.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

struct http_socket {
    bool is_open;
    uint32_t wanted, watched; /* EPOLLIN, EPOLLOUT; watched: as in the epoll set; 0: not there */
};

void http_sockets_release(struct http_sockets *sockets) {
    free(TAKE(sockets->of));
    sockets->room = 0;
}

/* events 0: not any more. */
static void set_events(const struct http_sockets *sockets, int fd, uint32_t events) {
    struct epoll_event event = {.events = events, .data.fd = fd};
    if (events == 0) {
        epoll_ctl(sockets->epoll, EPOLL_CTL_DEL, fd, NULL); /* it may be closed already */
    } else if (epoll_ctl(sockets->epoll, EPOLL_CTL_MOD, fd, &event) < 0) {
        epoll_ctl(sockets->epoll, EPOLL_CTL_ADD, fd, &event);
    }
}

/* NULL: it is not a connection's. */
static struct http_socket *find(const struct http_sockets *sockets, int fd) {
    return fd < sockets->room && sockets->of[fd].is_open ? &sockets->of[fd] : NULL;
}

void http_sockets_opened(struct http_sockets *sockets, int fd) {
    if (fd >= sockets->room) {
        int room = MAX(fd + 1, 2 * sockets->room);
        sockets->of = x_realloc_array(sockets->of, (size_t)room, sizeof *sockets->of);
        memset(sockets->of + sockets->room, 0,
               (size_t)(room - sockets->room) * sizeof *sockets->of);
        sockets->room = room;
    }
    sockets->of[fd] = (struct http_socket){.is_open = true};
}

/* While a process that was forked has a copy of the socket, closing does not take it out. */
int http_sockets_close(struct http_sockets *sockets, int fd) {
    struct http_socket *socket = find(sockets, fd);
    if (socket && socket->watched) {
        set_events(sockets, fd, 0);
    }
    if (socket) {
        *socket = (struct http_socket){0};
    }
    return close(fd);
}

void http_sockets_watch(struct http_sockets *sockets, int fd, uint32_t events) {
    struct http_socket *socket = find(sockets, fd);
    if (!socket) {
        set_events(sockets, fd, events);
        return;
    }
    bool can_stay = events == socket->watched || (events == 0 && socket->watched == EPOLLIN);
    socket->wanted = events;
    if (!can_stay) {
        set_events(sockets, fd, events);
        socket->watched = events;
    }
}

bool http_sockets_is_idle(struct http_sockets *sockets, int fd) {
    struct http_socket *socket = find(sockets, fd);
    if (!socket || socket->wanted) {
        return false;
    }
    set_events(sockets, fd, 0);
    socket->watched = 0;
    return true;
}
