// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/pod/agent_socket.h"

#include "agent/launch/pod/process.h"
#include "agent/launch/pod/unix_path.h"
#include "lib/buffer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { CLIENTS_MAX = 2048, HEAD_MAX = 300, RANKS_MAX = 1 << 20 };

/* A client sends KIND, its arguments separated by spaces, newline, text, NUL; it receives CODE,
 * newline, text, and the end of the stream. */
static const char *const kinds[] = {"start",   "alive",  "variables", "exited",
                                    "missing", "report", "posted",    "waits"};
static_assert(ARRAY_LEN(kinds) == AGENT_REQUEST_KINDS, "a name for each kind");

struct client {
    int fd;
    int64_t id;
    bool is_taken, is_start;
    struct buffer received;
    struct client *next;
};

struct agent_socket {
    int fd;
    char *path;
    struct client *clients;
    size_t count;
    int64_t last_id;
    long long started; /* this process */
};

/* When the process started, in ticks since the machine did; 0: unknown (field 22). */
static long long started(pid_t pid) {
    char text[PROCESS_STAT_MAX];
    const char *at = process_stat(pid, text);
    for (int field = 3; at && field < 22; field++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return at ? strtoll(at, NULL, 10) : 0;
}

static bool is_left_behind(const struct agent_socket *socket, pid_t pid) {
    long long then = started(pid);
    return then > 0 && then < socket->started;
}

int agent_socket_open(const char *path, struct agent_socket **ret_socket, struct error *err) {
    int fd = unix_path_bind(path, SOCK_STREAM, err);
    if (fd < 0) {
        return -1;
    }
    if (listen(fd, SOMAXCONN) < 0) {
        int why = errno;
        fd_closep(&fd);
        return error_from_errno(err, why, "%s", path);
    }
    struct agent_socket *socket = x_calloc(1, sizeof *socket);
    socket->fd = fd;
    socket->path = x_strdup(path);
    socket->started = started(getpid());
    *ret_socket = socket;
    return 0;
}

static void drop(struct agent_socket *socket, struct client **at) {
    struct client *client = *at;
    *at = client->next;
    fd_closep(&client->fd);
    buffer_release(&client->received);
    free(client);
    socket->count--;
}

void agent_socket_free(struct agent_socket *socket) {
    if (socket) {
        while (socket->clients) {
            drop(socket, &socket->clients);
        }
        unlink(socket->path);
        fd_closep(&socket->fd);
        free(socket->path);
        free(socket);
    }
}

static void accept_all(struct agent_socket *socket) {
    while (socket->count < CLIENTS_MAX) {
        int fd = accept4(socket->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            return;
        }
        struct client *client = x_calloc(1, sizeof *client);
        client->fd = fd;
        client->id = ++socket->last_id;
        buffer_init(&client->received, AGENT_SOCKET_LINE_MAX + HEAD_MAX + 2);
        client->next = socket->clients;
        socket->clients = client;
        socket->count++;
    }
}

/* False: the client has disconnected, or has sent too much. */
static bool receive_from(struct client *client) {
    struct error err = {0};
    NOT_ZEROED char data[16 << 10];
    for (;;) {
        ssize_t got = read(client->fd, data, sizeof data);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 && errno == EAGAIN;
        }
        if (buffer_append(&client->received, data, (size_t)got, &err) < 0) {
            return false;
        }
    }
}

static bool is_rank(const struct agent_request *request) {
    return request->rank >= 0 && request->rank < RANKS_MAX && request->size >= 0 &&
           request->size <= RANKS_MAX;
}

/* Parses the head line and splits it in place. False: invalid. */
static bool read_head(char *head, struct agent_request *request) {
    char *space = strchr(head, ' ');
    int used = 0, was_signalled = 0;
    if (space) {
        *space++ = 0;
    }
    for (request->kind = 0; request->kind < AGENT_REQUEST_KINDS; request->kind++) {
        if (strcmp(head, kinds[request->kind]) == 0) {
            break;
        }
    }
    switch (request->kind) {
    case AGENT_REQUEST_START:
        request->host = space;
        return space != NULL;
    case AGENT_REQUEST_REPORT:
    case AGENT_REQUEST_POSTED:
    case AGENT_REQUEST_WAITS:
        return space &&
               sscanf(space, "%d%n %" SCNd64 "%n", &request->rank, &used, &request->round, &used) >=
                   1 &&
               !space[used] && request->rank >= -1 && request->round >= 0;
    case AGENT_REQUEST_VARIABLES:
        request->rank = -1;
        return !space || (sscanf(space, "%d %d %63s%n", &request->rank, &request->size,
                                 request->launch, &used) == 3 &&
                          !space[used] && is_rank(request));
    case AGENT_REQUEST_EXITED:
        if (!space || sscanf(space, "%d %d %63s %d %d%n", &request->rank, &request->size,
                             request->launch, &request->code, &was_signalled, &used) != 5) {
            return false;
        }
        request->was_signalled = was_signalled != 0;
        return !space[used] && is_rank(request) && request->code >= 0 && request->code < 256;
    default:
        return request->kind < AGENT_REQUEST_KINDS && !space;
    }
}

/* 0: unknown. */
static pid_t pid_of(int fd) {
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

bool agent_socket_take(struct agent_socket *socket, struct agent_request *ret_request) {
    accept_all(socket);
    for (struct client *client = socket->clients; client; client = client->next) {
        if (client->is_taken || !receive_from(client) || !client->received.size ||
            client->received.data[client->received.size - 1]) {
            continue;
        }
        char *newline = strchr(client->received.data, '\n');
        struct agent_request request = {.id = client->id, .pid = pid_of(client->fd)};
        client->is_taken = true;
        if (newline) {
            *newline = 0;
            request.text = newline + 1;
        }
        if (!newline || !read_head(client->received.data, &request)) {
            agent_socket_answer(socket, client->id, 255, "unknown request");
            return agent_socket_take(socket, ret_request);
        }
        client->is_start = request.kind == AGENT_REQUEST_START;
        request.is_left_behind = is_left_behind(socket, request.pid);
        *ret_request = request;
        return true;
    }
    return false;
}

bool agent_socket_take_abandoned(struct agent_socket *socket, int64_t *ret_id) {
    for (struct client **at = &socket->clients; *at; at = &(*at)->next) {
        bool was_start = (*at)->is_start;
        if (!receive_from(*at)) {
            *ret_id = (*at)->id;
            drop(socket, at);
            if (was_start) {
                return true;
            }
            return agent_socket_take_abandoned(socket, ret_id);
        }
    }
    return false;
}

void agent_socket_answer(struct agent_socket *socket, int64_t id, int code, const char *text) {
    for (struct client **at = &socket->clients; *at; at = &(*at)->next) {
        if ((*at)->id == id) {
            bool fits = strlen(text) < AGENT_SOCKET_ANSWER_MAX;
            AUTO(text_freep)
            char *answer =
                fits ? x_printf("%d\n%s", code, text)
                     : x_printf("255\nthe answer is longer than %d bytes", AGENT_SOCKET_ANSWER_MAX);
            ssize_t ignored = send((*at)->fd, answer, strlen(answer), MSG_NOSIGNAL);
            (void)ignored; /* the client has disconnected */
            drop(socket, at);
            return;
        }
    }
}

/* ---- clients -------------------------------------------------------------------------------- */

static int send_all(int fd, const char *data, size_t size, struct error *err) {
    while (size > 0) {
        ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            return error_from_errno(err, errno, "cannot reach the agent of this pod");
        }
        data += MAX(sent, 0);
        size -= (size_t)MAX(sent, 0);
    }
    return 0;
}

static int receive_all(int fd, struct buffer *answer, struct error *err) {
    char data[4096];
    for (;;) {
        ssize_t got = read(fd, data, sizeof data);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && errno == EAGAIN) {
            return error_set(err, ERROR_TIMEOUT, "the agent of this pod does not answer");
        }
        if (got <= 0) {
            return answer->size
                       ? 0
                       : error_set(err, ERROR_UNAVAILABLE, "the agent of this pod has ended");
        }
        if (buffer_append(answer, data, (size_t)got, err) < 0) {
            return -1;
        }
    }
}

int64_t agent_socket_own_round(void) {
    const char *text = getenv("WINDLASS_ROUND");
    long long round = text ? strtoll(text, NULL, 10) : 0;
    return MAX(round, 0);
}

/* 0: no limit. */
static int timeout_of(enum agent_request_kind kind) {
    switch (kind) {
    case AGENT_REQUEST_START:
    case AGENT_REQUEST_REPORT:
        return 0;
    case AGENT_REQUEST_ALIVE:
        return AGENT_SOCKET_ALIVE_TIMEOUT_MS;
    case AGENT_REQUEST_POSTED:
        return AGENT_SOCKET_POSTED_TIMEOUT_MS;
    default:
        return AGENT_SOCKET_TIMEOUT_MS;
    }
}

int agent_socket_ask(const char *path, const struct agent_request *request, int *ret_code,
                     char **ret_text, struct error *err) {
    struct sockaddr_un address;
    bool is_start = request->kind == AGENT_REQUEST_START;
    struct timeval timeout = {.tv_sec = timeout_of(request->kind) / 1000};
    char numbers[AGENT_SOCKET_LAUNCH_MAX + 64] = "";
    if (!path) {
        return error_set(err, ERROR_INVALID,
                         "WINDLASS_SOCKET is missing: this works only in pods of a DistTrain");
    }
    if (request->kind == AGENT_REQUEST_EXITED) {
        snprintf(numbers, sizeof numbers, "%d %d %s %d %d", request->rank, request->size,
                 request->launch, request->code, request->was_signalled);
    } else if (request->kind == AGENT_REQUEST_VARIABLES && *request->launch) {
        snprintf(numbers, sizeof numbers, "%d %d %s", request->rank, request->size,
                 request->launch);
    } else if (request->kind == AGENT_REQUEST_REPORT || request->kind == AGENT_REQUEST_POSTED ||
               request->kind == AGENT_REQUEST_WAITS) {
        snprintf(numbers, sizeof numbers, "%d %" PRId64, request->rank, request->round);
    }
    const char *arguments = is_start ? request->host : numbers;
    AUTO(text_freep)
    char *message = x_printf("%s%s%s\n%s", kinds[request->kind], *arguments ? " " : "", arguments,
                             request->text ? request->text : "");
    AUTO(fd_closep) int folder = -1;
    AUTO(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    AUTO(buffer_release) struct buffer answer;
    buffer_init(&answer, AGENT_SOCKET_ANSWER_MAX + 64);
    if (unix_path_address(path, &address, &folder, err) < 0) {
        return -1;
    }
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) < 0 ||
        connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        return error_from_errno(err, errno, "cannot reach the agent of this pod");
    }
    if (send_all(fd, message, strlen(message) + 1, err) < 0 || receive_all(fd, &answer, err) < 0) {
        return -1;
    }
    char *end = NULL;
    *ret_code = (int)strtol(answer.data, &end, 10);
    *ret_text = x_strdup(*end ? end + 1 : end);
    return 0;
}
