// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/tunnel/tunnel_stream.h"

#include "agent/launch/tunnel/launcher_port.h"
#include "lib/log.h"
#include "lib/net/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PASSES = 8, PORT_SIZE = 2 };

/* ---- one side -------------------------------------------------------------------------------- */

static void send_at_once(int fd) {
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void side_close(struct tunnel_side *side) {
    keyed_stream_free(TAKE(side->tls));
    fd_closep(&side->fd);
    side->fd = -1;
    free(TAKE(side->flow));
}

static enum keyed_stream_result plain_result(struct tunnel_side *side, ssize_t got, short events) {
    if (got > 0) {
        return KEYED_STREAM_DONE;
    }
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        side->events |= events;
        return KEYED_STREAM_WAITS;
    }
    return got == 0 ? KEYED_STREAM_ENDED : KEYED_STREAM_FAILED;
}

static enum keyed_stream_result side_read(struct tunnel_side *side, void *data, size_t size,
                                          size_t *ret_size) {
    if (side->tls) {
        enum keyed_stream_result result = keyed_stream_read(side->tls, data, size, ret_size);
        side->events |= result == KEYED_STREAM_WAITS ? keyed_stream_events(side->tls) : 0;
        return result;
    }
    ssize_t got = recv(side->fd, data, size, 0);
    *ret_size = (size_t)MAX(got, 0);
    return plain_result(side, got, POLLIN);
}

static enum keyed_stream_result side_write(struct tunnel_side *side, size_t *ret_size) {
    if (side->tls) {
        enum keyed_stream_result result =
            keyed_stream_write(side->tls, side->flow + side->start, side->size, ret_size);
        side->events |= result == KEYED_STREAM_WAITS ? keyed_stream_events(side->tls) : 0;
        return result;
    }
    ssize_t got = send(side->fd, side->flow + side->start, side->size, MSG_NOSIGNAL);
    *ret_size = (size_t)MAX(got, 0);
    return plain_result(side, got, POLLOUT);
}

static bool side_end(struct tunnel_side *side) {
    enum keyed_stream_result result = KEYED_STREAM_DONE;
    if (side->tls) {
        result = keyed_stream_end(side->tls);
        side->events |= result == KEYED_STREAM_WAITS ? keyed_stream_events(side->tls) : 0;
    } else if (shutdown(side->fd, SHUT_WR) < 0) {
        result = KEYED_STREAM_FAILED;
    }
    side->is_ended = result == KEYED_STREAM_DONE;
    return result != KEYED_STREAM_FAILED;
}

/* Only before there is anything else. */
static void side_put(struct tunnel_side *side, const uint8_t *data, size_t size) {
    side->flow = side->flow ? side->flow : x_malloc(TUNNEL_FLOW_MAX);
    memcpy(side->flow, data, size);
    side->start = 0;
    side->size = size;
}

/* ---- both directions ------------------------------------------------------------------------- */

/* One pass. False: the connection is broken. *moved is set if another pass is worth while. */
static bool move(struct tunnel_side *from, struct tunnel_side *to, bool *moved) {
    enum keyed_stream_result result = KEYED_STREAM_DONE;
    size_t size = 0;
    if (to->size == 0 && !from->has_ended) {
        to->flow = to->flow ? to->flow : x_malloc(TUNNEL_FLOW_MAX);
        result = side_read(from, to->flow, TUNNEL_FLOW_MAX, &size);
        from->has_ended = result == KEYED_STREAM_ENDED;
        to->start = 0;
        to->size = result == KEYED_STREAM_DONE ? size : 0;
        *moved |= result == KEYED_STREAM_DONE;
    }
    if (result != KEYED_STREAM_FAILED && to->size > 0) {
        result = side_write(to, &size);
        size = result == KEYED_STREAM_DONE ? size : 0;
        to->start += size;
        to->size -= size;
        *moved |= size > 0;
        if (result == KEYED_STREAM_ENDED) {
            return false;
        }
    }
    if (result != KEYED_STREAM_FAILED && from->has_ended && to->size == 0 && !to->is_ended) {
        return side_end(to);
    }
    return result != KEYED_STREAM_FAILED;
}

static void move_all(struct tunnel_stream *stream) {
    struct tunnel_side *program = &stream->program, *pod = &stream->pod;
    bool is_fine = true, moved = true;
    for (int i = 0; i < PASSES && is_fine && moved; i++) {
        moved = false;
        program->events = pod->events = 0;
        is_fine = move(program, pod, &moved) && move(pod, program, &moved);
    }
    stream->has_more = moved;
    if (!is_fine || (program->is_ended && pod->is_ended)) {
        stream->state = TUNNEL_CLOSED;
    }
}

/* ---- setting it up --------------------------------------------------------------------------- */

/* IPv4 as ::ffff:A.B.C.D. */
static bool parse_host(const char *address, uint8_t host[static PRELOAD_HOST_SIZE]) {
    if (inet_pton(AF_INET6, address, host) == 1) {
        return true;
    }
    memset(host, 0, PRELOAD_HOST_SIZE);
    host[10] = host[11] = 0xff;
    return inet_pton(AF_INET, address, host + 12) == 1;
}

static const struct tunnel_host *find_host(const struct tunnel_view *view, const uint8_t *wanted) {
    for (size_t i = 0; i < view->host_count; i++) {
        uint8_t host[PRELOAD_HOST_SIZE];
        if (view->hosts[i].port && parse_host(view->hosts[i].address, host) &&
            memcmp(host, wanted, sizeof host) == 0) {
            return &view->hosts[i];
        }
    }
    return NULL;
}

static bool start_to_connect(struct tunnel_stream *stream, struct tunnel_side *side,
                             const char *host, int port, int64_t now_ms) {
    struct address address;
    struct error err = {0};
    AUTO(text_freep)
    char *text = x_printf(strchr(host, ':') ? "[%s]:%d" : "%s:%d", host, port);
    if (address_parse(text, &address, &err) < 0 || address_connect(&address, &side->fd, &err) < 0) {
        log_event(LOG_WARNING, "a launcher's connection to %s: %s", text, err.text);
        return false;
    }
    send_at_once(side->fd);
    side->events = POLLOUT;
    stream->state = TUNNEL_CONNECT;
    stream->until_ms = now_ms + TUNNEL_CONNECT_MS;
    return true;
}

/* In a time that does not depend on where they differ. */
static bool is_equal(const uint8_t *one, const uint8_t *other, size_t size) {
    unsigned differs = 0;
    for (size_t i = 0; i < size; i++) {
        differs |= (unsigned)(one[i] ^ other[i]);
    }
    return !differs;
}

static bool read_more(struct tunnel_stream *stream, struct tunnel_side *side, size_t wanted) {
    size_t size = 0;
    enum keyed_stream_result result = KEYED_STREAM_DONE;
    side->events = 0;
    while (stream->frame_size < wanted && result == KEYED_STREAM_DONE) {
        result =
            side_read(side, stream->frame + stream->frame_size, wanted - stream->frame_size, &size);
        stream->frame_size += result == KEYED_STREAM_DONE ? size : 0;
    }
    return result == KEYED_STREAM_DONE || result == KEYED_STREAM_WAITS;
}

static bool read_frame(struct tunnel_stream *stream, const struct tunnel_view *view,
                       int64_t now_ms) {
    if (!read_more(stream, &stream->program, PRELOAD_FRAME_SIZE)) {
        return false;
    }
    if (stream->frame_size < PRELOAD_FRAME_SIZE) {
        return true;
    }
    const struct tunnel_host *host = NULL;
    if (is_equal(stream->frame, view->key, PRELOAD_KEY_SIZE)) {
        host = find_host(view, stream->frame + PRELOAD_KEY_SIZE);
    }
    if (!host) {
        return false; /* the launcher tries another address, if it knows one */
    }
    stream->index = host->index;
    stream->program.events = 0;
    return start_to_connect(stream, &stream->pod, host->address, host->port, now_ms);
}

static bool begin_tls(struct tunnel_stream *stream, const struct tunnel_view *view) {
    struct error err = {0};
    char name[32];
    snprintf(name, sizeof name, "worker %d", stream->is_near ? stream->index : view->index);
    return keyed_stream_new(view->keys, stream->pod.fd, stream->is_near, name, &stream->pod.tls,
                            &err) == 0;
}

static bool finish_connecting(struct tunnel_stream *stream) {
    struct tunnel_side *side = stream->is_near ? &stream->pod : &stream->program;
    static const uint8_t is_open = PRELOAD_OPEN;
    struct pollfd ready = {.fd = side->fd, .events = POLLOUT};
    int why = 0;
    socklen_t size = sizeof why;
    side->events = POLLOUT;
    if (poll(&ready, 1, 0) == 0) {
        return true;
    }
    if (getsockopt(side->fd, SOL_SOCKET, SO_ERROR, &why, &size) < 0 || why) {
        return false;
    }
    if (stream->is_near) {
        stream->state = TUNNEL_HANDSHAKE;
        return true;
    }
    if (stream->open_port) {
        log_event(LOG_WARNING, "port %d: its listener is open to the whole cluster",
                  stream->open_port);
    }
    side_put(&stream->pod, &is_open, sizeof is_open);
    stream->state = TUNNEL_OPEN;
    return true;
}

static bool shake_hands(struct tunnel_stream *stream, const struct tunnel_view *view,
                        int64_t now_ms) {
    if (!stream->pod.tls && !begin_tls(stream, view)) {
        return false;
    }
    enum keyed_stream_result result = keyed_stream_shake_hands(stream->pod.tls);
    stream->pod.events = keyed_stream_events(stream->pod.tls);
    if (result != KEYED_STREAM_DONE) {
        return result == KEYED_STREAM_WAITS;
    }
    if (stream->is_near) {
        side_put(&stream->pod, stream->frame + PRELOAD_KEY_SIZE + PRELOAD_HOST_SIZE, PORT_SIZE);
        stream->state = TUNNEL_OPEN;
    } else {
        stream->state = TUNNEL_PORT;
        stream->until_ms = now_ms + TUNNEL_PENDING_MS;
    }
    return true;
}

/* A launcher that listens on loopback; else whatever listens on the pod's own address, which the
 * other pod could reach without us. */
static bool read_port(struct tunnel_stream *stream, const struct tunnel_view *view,
                      int64_t now_ms) {
    if (!read_more(stream, &stream->pod, PORT_SIZE)) {
        return false;
    }
    if (stream->frame_size < PORT_SIZE) {
        return true;
    }
    int port = stream->frame[0] << 8 | stream->frame[1];
    enum launcher_port found = launcher_port_find(port);
    stream->pod.events = 0;
    if (!view->host_count) {
        return false;
    }
    stream->open_port = found == LAUNCHER_PORT_NONE ? port : 0;
    return start_to_connect(stream, &stream->program,
                            found == LAUNCHER_PORT_FOUR  ? "127.0.0.1"
                            : found == LAUNCHER_PORT_SIX ? "::1"
                                                         : view->address,
                            port, now_ms);
}

static bool step(struct tunnel_stream *stream, const struct tunnel_view *view, int64_t now_ms) {
    switch (stream->state) {
    case TUNNEL_FRAME:
        return read_frame(stream, view, now_ms);
    case TUNNEL_CONNECT:
        return finish_connecting(stream);
    case TUNNEL_HANDSHAKE:
        return shake_hands(stream, view, now_ms);
    case TUNNEL_PORT:
        return read_port(stream, view, now_ms);
    default:
        return true;
    }
}

void tunnel_stream_run(struct tunnel_stream *stream, const struct tunnel_view *view,
                       int64_t now_ms) {
    enum tunnel_state before = TUNNEL_CLOSED;
    while (stream->state < TUNNEL_OPEN && stream->state != before) {
        before = stream->state;
        if (!step(stream, view, now_ms)) {
            stream->state = TUNNEL_CLOSED;
        }
    }
    if (stream->state < TUNNEL_OPEN && now_ms >= stream->until_ms) {
        stream->state = TUNNEL_CLOSED;
    }
    if (stream->state == TUNNEL_OPEN) {
        move_all(stream);
    }
}

bool tunnel_stream_is_pending(const struct tunnel_stream *stream) {
    return stream->state == TUNNEL_FRAME || (stream->state == TUNNEL_HANDSHAKE && !stream->is_near);
}

struct tunnel_stream *tunnel_stream_new(int fd, bool is_near, const char *source, int64_t now_ms) {
    struct tunnel_stream *stream = x_calloc(1, sizeof *stream);
    stream->is_near = is_near;
    stream->program.fd = is_near ? fd : -1;
    stream->pod.fd = is_near ? -1 : fd;
    stream->state = is_near ? TUNNEL_FRAME : TUNNEL_HANDSHAKE;
    stream->until_ms = now_ms + TUNNEL_PENDING_MS;
    snprintf(stream->source, sizeof stream->source, "%s", source);
    send_at_once(fd);
    return stream;
}

void tunnel_stream_free(struct tunnel_stream *stream) {
    if (stream) {
        side_close(&stream->program);
        side_close(&stream->pod);
        free(stream);
    }
}
