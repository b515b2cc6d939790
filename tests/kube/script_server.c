// SPDX-License-Identifier: Apache-2.0
#include "tests/kube/script_server.h"

#include "lib/buffer.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 1 << 18, REQUEST_MAX = 4 << 20, READY_MAX = 256 };

struct script_connection {
    int fd; /* -1: closed; it stays allocated, so that a pointer to it stays good */
    int at; /* in the server's array */
    struct buffer in;
    bool is_answering;
};

struct script_server {
    int fd, port, ready; /* ready: an epoll of all sockets, as most have nothing at most looks */
    script_answer *answer;
    void *context;
    struct script_connection *connections[CONNECTIONS_MAX]; /* all since the start */
    int count;
    char piece[65536]; /* that has just come; not a local, which the build would zero each time */
};

/* NULL: the server's own. */
static void watch(struct script_server *server, int fd, struct script_connection *connection) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    if (epoll_ctl(server->ready, EPOLL_CTL_ADD, fd, &event) < 0) {
        abort();
    }
}

struct script_server *script_server_new(script_answer *answer, void *context) {
    struct script_server *server = x_calloc(1, sizeof *server);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001)};
    socklen_t size = sizeof address;
    server->answer = answer;
    server->context = context;
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (server->fd < 0 || bind(server->fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(server->fd, 512) < 0 ||
        getsockname(server->fd, (struct sockaddr *)&address, &size) < 0) {
        abort();
    }
    server->port = ntohs(address.sin_port);
    server->ready = epoll_create1(EPOLL_CLOEXEC);
    watch(server, server->fd, NULL);
    return server;
}

void script_cut(struct script_connection *connection) {
    if (connection->fd >= 0) {
        /* A reset, so that no TIME_WAIT is left of thousands. */
        struct linger at_once = {1, 0};
        setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close(connection->fd);
        buffer_release(&connection->in);
        connection->fd = -1;
    }
}

void script_server_free(struct script_server *server) {
    if (server) {
        for (int i = 0; i < server->count; i++) {
            script_cut(server->connections[i]);
            free(server->connections[i]);
        }
        close(server->ready);
        close(server->fd);
        free(server);
    }
}

int script_server_port(const struct script_server *server) {
    return server->port;
}

bool script_is_open(const struct script_connection *connection) {
    return connection->fd >= 0 && connection->is_answering;
}

static void put(struct script_connection *connection, const char *text, size_t size) {
    if (connection->fd >= 0 && send(connection->fd, text, size, MSG_NOSIGNAL) != (ssize_t)size) {
        script_cut(connection); /* its reader is gone: the tests' texts fit into a socket */
    }
}

void script_reply(struct script_connection *connection, int status, const char *extra,
                  const char *body) {
    AUTO(text_freep)
    char *text = x_printf("HTTP/1.1 %d X\r\nContent-Type: application/json\r\n%sContent-Length: "
                          "%zu\r\n\r\n%s",
                          status, extra, strlen(body), body);
    connection->is_answering = false;
    put(connection, text, strlen(text));
}

void script_stream(struct script_connection *connection) {
    static const char head[] = "HTTP/1.1 200 X\r\nContent-Type: application/json\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n";
    put(connection, head, sizeof head - 1);
}

void script_send(struct script_connection *connection, const char *piece) {
    AUTO(text_freep) char *text = x_printf("%zx\r\n%s\r\n", strlen(piece), piece);
    put(connection, text, strlen(text));
}

void script_end(struct script_connection *connection) {
    connection->is_answering = false;
    put(connection, "0\r\n\r\n", 5);
}

static bool take_connection(struct script_server *server) {
    int fd = accept4(server->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    if (server->count == CONNECTIONS_MAX) {
        abort();
    }
    struct script_connection *made = x_calloc(1, sizeof *made);
    made->fd = fd;
    made->at = server->count;
    watch(server, fd, made);
    server->connections[server->count++] = made;
    int room = 4 << 20, on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* or a piece waits for an ACK */
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    buffer_init(&made->in, REQUEST_MAX);
    return true;
}

/* Splits the bytes at hand; false: not a whole request yet. */
static bool take_request(struct script_server *server, struct script_connection *connection) {
    char *head = connection->in.data;
    char *end = head ? memmem(head, connection->in.size, "\r\n\r\n", 4) : NULL;
    if (!end) {
        return false;
    }
    const char *length = strcasestr(head, "\r\nContent-Length:");
    size_t body_size = length && length < end ? strtoul(length + 17, NULL, 10) : 0;
    size_t size = (size_t)(end + 4 - head) + body_size;
    if (connection->in.size < size) {
        return false;
    }
    AUTO(text_freep) char *text = x_strndup(head, size);
    buffer_release(&connection->in); /* no client sends the next request before the answer */
    buffer_init(&connection->in, REQUEST_MAX);
    char *body = text + (end + 4 - head), *lines = strstr(text, "\r\n");
    char *target = strchr(text, ' ');
    *lines = 0;
    lines[2 + (end - head) - (lines - text)] = 0;
    *target++ = 0;
    *strchr(target, ' ') = 0;
    char *query = strchr(target, '?');
    if (query) {
        *query++ = 0;
    }
    struct script_request request = {.connection = connection,
                                     .path = target,
                                     .query = query ? query : "",
                                     .headers = lines + 2,
                                     .body = body};
    snprintf(request.method, sizeof request.method, "%s", text);
    connection->is_answering = true;
    server->answer(server->context, &request);
    return true;
}

static bool take_bytes(struct script_server *server, struct script_connection *connection) {
    struct error err;
    ssize_t size =
        connection->fd < 0 ? -1 : recv(connection->fd, server->piece, sizeof server->piece, 0);
    if (size == 0) {
        script_cut(connection);
    }
    if (size <= 0) {
        return size == 0;
    }
    if (buffer_append(&connection->in, server->piece, (size_t)size, &err) < 0) {
        abort();
    }
    while (connection->fd >= 0 && take_request(server, connection)) {
    }
    return true;
}

static int older_first(const void *a, const void *b) {
    const struct epoll_event *one = a, *other = b;
    const struct script_connection *left = one->data.ptr, *right = other->data.ptr;
    return left && right ? left->at - right->at : !left - !right;
}

/* Fills in the connections that have something, in the order in which they came. */
static int find_ready(struct script_server *server, struct epoll_event *ready) {
    int count = epoll_wait(server->ready, ready, READY_MAX, 0);
    qsort(ready, count > 0 ? (size_t)count : 0, sizeof *ready, older_first);
    return count;
}

bool script_server_poll(struct script_server *server) {
    struct epoll_event ready[READY_MAX];
    bool any = false;
    int count = find_ready(server, ready);
    if (count > 0 && !ready[count - 1].data.ptr) {
        while (take_connection(server)) {
            any = true;
        }
        count = find_ready(server, ready);
    }
    for (int i = 0; i < count; i++) {
        any |= ready[i].data.ptr && take_bytes(server, ready[i].data.ptr);
    }
    return any;
}
