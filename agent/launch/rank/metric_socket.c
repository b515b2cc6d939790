// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/rank/metric_socket.h"

#include "agent/launch/pod/agent_socket.h"
#include "agent/launch/pod/unix_path.h"
#include "lib/buffer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct metric_socket {
    int fd;
    char *path;
};

/* ---- ranks ---------------------------------------------------------------------------------- */

static int own_rank(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "RANK",
                                        "WINDLASS_RANK"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *text = getenv(names[i]);
        if (text && *text) {
            return (int)strtol(text, NULL, 10);
        }
    }
    return 0;
}

void metric_send(const char *name, double value, int64_t step) {
    struct metric metric = {.rank = own_rank(), .value = value, .step = step};
    const char *path = getenv("WINDLASS_METRICS");
    struct sockaddr_un address;
    struct error err = {0};
    char text[METRIC_TEXT_MAX];
    AUTO(fd_closep) int folder = -1;
    if (!path || unix_path_address(path, &address, &folder, &err) < 0) {
        return;
    }
    AUTO(fd_closep) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    snprintf(metric.name, sizeof metric.name, "%s", name);
    metric_write(&metric, text);
    ssize_t ignored =
        sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address, sizeof address);
    (void)ignored;
}

static int add_line(const struct metric *metric, int rank, struct buffer *lines,
                    struct error *err) {
    struct metric own = *metric;
    char text[METRIC_TEXT_MAX];
    own.rank = rank;
    metric_write(&own, text);
    return metric_is_name(own.name) && metric_read(text, &own)
               ? buffer_printf(lines, err, "%s\n", text)
               : error_set(err, ERROR_INVALID, "%.80s is not a valid metric name", own.name);
}

static int send_lines(const char *path, int rank, struct buffer *lines, struct error *err) {
    struct agent_request request = {.kind = AGENT_REQUEST_REPORT,
                                    .rank = rank,
                                    .round = agent_socket_own_round(),
                                    .text = lines->data};
    AUTO(text_freep) char *words = NULL;
    int code = 0;
    if (lines->size == 0) {
        return 0;
    }
    int result = agent_socket_ask(path, &request, &code, &words, err);
    buffer_clear(lines);
    return result;
}

int metric_report_all(const struct metric *metrics, size_t count, struct error *err) {
    const char *path = getenv("WINDLASS_SOCKET");
    int rank = own_rank();
    AUTO(buffer_release) struct buffer lines;
    buffer_init(&lines, AGENT_SOCKET_LINE_MAX);
    for (size_t i = 0; path && i < count; i++) {
        bool is_full = lines.size + METRIC_TEXT_MAX > lines.max;
        if ((is_full && send_lines(path, rank, &lines, err) < 0) ||
            add_line(&metrics[i], rank, &lines, err) < 0) {
            return -1;
        }
    }
    return send_lines(path, rank, &lines, err);
}

int metric_report(const char *name, double value, int64_t step, struct error *err) {
    struct metric metric = {.value = value, .step = step};
    if (getenv("WINDLASS_SOCKET") && !metric_is_name(name)) {
        return error_set(err, ERROR_INVALID, "%.80s is not a valid metric name", name);
    }
    snprintf(metric.name, sizeof metric.name, "%s", name);
    return metric_report_all(&metric, 1, err);
}

void metric_say_waits(const char *why) {
    const struct agent_request request = {.kind = AGENT_REQUEST_WAITS,
                                          .rank = own_rank(),
                                          .round = agent_socket_own_round(),
                                          .text = why};
    AUTO(text_freep) char *words = NULL;
    struct error ignored = {0};
    int code = 0;
    if (agent_socket_ask(getenv("WINDLASS_SOCKET"), &request, &code, &words, &ignored) < 0) {
        error_clear(&ignored); /* its output says the same */
    }
}

/* ---- the agent ------------------------------------------------------------------------------ */

int metric_socket_open(const char *path, struct metric_socket **ret_socket, struct error *err) {
    int fd = unix_path_bind(path, SOCK_DGRAM, err);
    if (fd < 0) {
        return -1;
    }
    struct metric_socket *opened = x_calloc(1, sizeof *opened);
    opened->fd = fd;
    opened->path = x_strdup(path);
    *ret_socket = opened;
    return 0;
}

void metric_socket_free(struct metric_socket *socket) {
    if (socket) {
        unlink(socket->path);
        fd_closep(&socket->fd);
        free(socket->path);
        free(socket);
    }
}

bool metric_socket_take(struct metric_socket *socket, struct metric *ret_metric) {
    char text[METRIC_TEXT_MAX + 1];
    for (;;) {
        ssize_t got = recv(socket->fd, text, sizeof text, MSG_TRUNC);
        if (got < 0 && errno != EINTR) {
            return false;
        }
        if (got >= 0 && got < (ssize_t)sizeof text) {
            text[got] = 0;
            if (metric_read(text, ret_metric)) {
                return true;
            }
        }
    }
}
