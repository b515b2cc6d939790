/* http_sockets.h: which sockets of libcurl an epoll set has. Requests follow one another on a
 * connection, and each ends and begins libcurl's interest in its socket: the socket stays in the
 * set in between, which saves two system calls a request. Private to http.c and http_call.c. */
#pragma once

#include "lib/base.h"

struct http_socket; /* a connection's */

struct http_sockets {
    int epoll;              /* borrowed */
    struct http_socket *of; /* [room], by descriptor */
    int room;
};

void http_sockets_release(struct http_sockets *sockets);
/* A connection has this new socket. Others, such as a resolver's, are not kept in the set. */
void http_sockets_opened(struct http_sockets *sockets, int fd);
/* Takes it out of the set and closes it, as close does. */
int http_sockets_close(struct http_sockets *sockets, int fd);
/* libcurl waits for these events of it: EPOLLIN, EPOLLOUT; 0: for none. */
void http_sockets_watch(struct http_sockets *sockets, int fd, uint32_t events);
/* After an event. True: no call uses the connection: its server has closed it, or sent what no call
 * has asked for. It is taken out of the set; libcurl looks before it uses it again. */
bool http_sockets_is_idle(struct http_sockets *sockets, int fd);
