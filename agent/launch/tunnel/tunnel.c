// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/tunnel/tunnel.h"

#include "agent/launch/tunnel/tunnel_stream.h"
#include "lib/digest.h"
#include "lib/log.h"
#include "lib/net/address.h"
#include "lib/time/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { IDLE_MS = 1000, BUSY_MS = 100, WAKE = 0, NEAR, FAR, FIRST, HOSTS_MAX = 4096 };

struct tunnel {
    int wake, near,
        far; /* an eventfd; sockets that listen: on loopback, -1: none; for other pods */
    int far_port;
    char address[46], variable[6 + 2 * PRELOAD_KEY_SIZE + 1];
    uint8_t key[PRELOAD_KEY_SIZE];
    struct keyed_stream_context *keys;
    int index;
    pthread_t thread;
    bool has_thread;

    pthread_mutex_t lock; /* the rest but `streams`, which are the thread's */
    struct tunnel_host *hosts;
    size_t host_count;
    bool is_over, drops; /* drops: the streams of the last round */

    struct tunnel_stream *streams;
    size_t count;
};

/* ---- accepting ------------------------------------------------------------------------------- */

static bool is_pending_of(const struct tunnel_stream *stream, bool is_near, const char *source) {
    return stream->is_near == is_near && tunnel_stream_is_pending(stream) &&
           (source ? strcmp(stream->source, source) == 0 : !stream->is_host);
}

static bool is_host(const struct tunnel_view *view, const char *source) {
    for (size_t i = 0; i < view->host_count; i++) {
        if (strcmp(view->hosts[i].address, source) == 0) {
            return true;
        }
    }
    return false;
}

/* Closes the oldest of those that have not shown the key, if there are too many: of all strangers,
 * or of one source. lib/net/preauth.h refuses a newcomer while the others are young, and has 64
 * places in all: here the pods of a round come at once, and a launcher does not try again. */
static void make_room(struct tunnel *tunnel, bool is_near, const char *source, size_t most) {
    struct tunnel_stream *oldest = NULL; /* new ones are put at the front */
    size_t count = 0;
    for (struct tunnel_stream *at = tunnel->streams; at; at = at->next) {
        if (is_pending_of(at, is_near, source)) {
            count++;
            oldest = at;
        }
    }
    if (count >= most) {
        oldest->state = TUNNEL_CLOSED;
    }
}

static void name_source(const struct sockaddr_storage *from, char source[static 46]) {
    const void *address = from->ss_family == AF_INET6
                              ? (const void *)&((const struct sockaddr_in6 *)from)->sin6_addr
                              : (const void *)&((const struct sockaddr_in *)from)->sin_addr;
    *source = 0;
    inet_ntop(from->ss_family, address, source, 46);
}

/* False: no more descriptors. The pods of the round may come all at once (mpirun starts 128 daemons
 * together): they are bounded by source only. */
static bool accept_all(struct tunnel *tunnel, const struct tunnel_view *view, int listener,
                       bool is_near, int64_t now_ms) {
    for (int i = 0; i < TUNNEL_PENDING_MAX; i++) {
        struct sockaddr_storage from = {0};
        socklen_t size = sizeof from;
        int fd = accept4(listener, (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
        }
        if (tunnel->count >= TUNNEL_STREAMS_MAX) {
            fd_closep(&fd);
            continue;
        }
        char source[46];
        name_source(&from, source);
        if (!is_near) {
            make_room(tunnel, is_near, source, TUNNEL_PENDING_OF_ONE);
        }
        struct tunnel_stream *stream = tunnel_stream_new(fd, is_near, source, now_ms);
        stream->is_host = !is_near && is_host(view, source);
        if (!stream->is_host) {
            make_room(tunnel, is_near, NULL, TUNNEL_PENDING_MAX);
        }
        stream->next = tunnel->streams;
        stream->has_more = true;
        tunnel->streams = stream;
        tunnel->count++;
    }
    return true;
}

/* ---- its thread ------------------------------------------------------------------------------ */

static void remove_closed(struct tunnel *tunnel) {
    for (struct tunnel_stream **at = &tunnel->streams; *at;) {
        struct tunnel_stream *stream = *at;
        if (stream->state == TUNNEL_CLOSED) {
            *at = stream->next;
            tunnel_stream_free(stream);
            tunnel->count--;
        } else {
            at = &stream->next;
        }
    }
}

static void add_poll(struct pollfd *fds, size_t *count, const struct tunnel_side *side) {
    fds[(*count)++] = (struct pollfd){.fd = side->events ? side->fd : -1, .events = side->events};
}

/* Waits until something can be done. fds has room for all. */
static size_t wait_for_work(struct tunnel *tunnel, struct pollfd *fds, bool may_accept) {
    size_t count = FIRST;
    int wait_ms = tunnel->streams ? BUSY_MS : IDLE_MS;
    fds[WAKE] = (struct pollfd){.fd = tunnel->wake, .events = POLLIN};
    fds[NEAR] = (struct pollfd){.fd = may_accept ? tunnel->near : -1, .events = POLLIN};
    fds[FAR] = (struct pollfd){.fd = may_accept ? tunnel->far : -1, .events = POLLIN};
    for (const struct tunnel_stream *at = tunnel->streams; at; at = at->next) {
        add_poll(fds, &count, &at->program);
        add_poll(fds, &count, &at->pod);
        wait_ms = at->has_more ? 0 : wait_ms;
    }
    poll(fds, count, wait_ms);
    return count;
}

/* Copies what the round's owner has set. False: the end. */
static bool take_settings(struct tunnel *tunnel, struct tunnel_view *view,
                          struct tunnel_host *hosts) {
    uint64_t ignored = 0;
    while (read(tunnel->wake, &ignored, sizeof ignored) > 0) {
    }
    pthread_mutex_lock(&tunnel->lock);
    bool goes_on = !tunnel->is_over;
    for (struct tunnel_stream *at = tunnel->streams; tunnel->drops && at; at = at->next) {
        at->state = tunnel_stream_is_pending(at) ? at->state : TUNNEL_CLOSED;
    }
    tunnel->drops = false;
    view->host_count = tunnel->host_count;
    if (tunnel->host_count) {
        memcpy(hosts, tunnel->hosts, tunnel->host_count * sizeof *hosts);
    }
    pthread_mutex_unlock(&tunnel->lock);
    return goes_on;
}

static void run_streams(struct tunnel *tunnel, const struct tunnel_view *view,
                        const struct pollfd *fds, int64_t now_ms) {
    size_t at = FIRST;
    for (struct tunnel_stream *one = tunnel->streams; one; one = one->next, at += 2) {
        bool is_ready = fds[at].revents || fds[at + 1].revents || one->has_more;
        if (one->state != TUNNEL_CLOSED &&
            (is_ready || (one->state < TUNNEL_OPEN && now_ms >= one->until_ms))) {
            one->has_more = false;
            tunnel_stream_run(one, view, now_ms);
        }
    }
}

static void *serve(void *context) {
    struct tunnel *tunnel = context;
    struct tunnel_host *hosts = x_calloc(HOSTS_MAX, sizeof *hosts);
    struct pollfd *fds = x_calloc(FIRST + 2 * TUNNEL_STREAMS_MAX, sizeof *fds);
    struct tunnel_view view = {.keys = tunnel->keys,
                               .key = tunnel->key,
                               .index = tunnel->index,
                               .address = tunnel->address,
                               .hosts = hosts};
    int64_t accept_at_ms = 0;
    for (;;) {
        wait_for_work(tunnel, fds, clock_monotonic_ms() >= accept_at_ms);
        int64_t now_ms = clock_monotonic_ms();
        if (!take_settings(tunnel, &view, hosts)) {
            break;
        }
        run_streams(tunnel, &view, fds, now_ms); /* before new ones change the order */
        bool is_fine =
            (!fds[NEAR].revents || accept_all(tunnel, &view, tunnel->near, true, now_ms)) &&
            (!fds[FAR].revents || accept_all(tunnel, &view, tunnel->far, false, now_ms));
        accept_at_ms = is_fine ? 0 : now_ms + BUSY_MS;
        remove_closed(tunnel);
    }
    free(fds);
    free(hosts);
    return NULL;
}

/* ---- its owner ------------------------------------------------------------------------------- */

static int listen_at(const char *host, int *ret_fd, int *ret_port, struct error *err) {
    struct address address;
    AUTO(text_freep) char *text = x_printf(strchr(host, ':') ? "[%s]:0" : "%s:0", host);
    if (address_parse(text, &address, err) < 0 || address_listen(&address, ret_fd, err) < 0) {
        return error_context(err, "%s", host);
    }
    *ret_port = address.port;
    return 0;
}

static int make_keys(struct tunnel *tunnel, const char *token, int near_port, struct error *err) {
    static const char purpose[] = "windlass tunnel 1";
    uint8_t shared[KEYED_STREAM_KEY_SIZE];
    digest_hmac_sha256(token, strlen(token), purpose, sizeof purpose - 1, shared);
    AUTO(text_freep) char *random = digest_random(PRELOAD_KEY_SIZE);
    for (size_t i = 0; i < PRELOAD_KEY_SIZE; i++) {
        char digits[3] = {random[2 * i], random[2 * i + 1], 0};
        tunnel->key[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    snprintf(tunnel->variable, sizeof tunnel->variable, "%d:%s", near_port, random);
    int result = keyed_stream_context_new(shared, &tunnel->keys, err);
    explicit_bzero(shared, sizeof shared);
    return result;
}

static int start_thread(struct tunnel *tunnel, struct error *err) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the main thread */
    int why = pthread_create(&tunnel->thread, NULL, serve, tunnel);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    tunnel->has_thread = why == 0;
    return why ? error_from_errno(err, why, "cannot start a thread") : 0;
}

int tunnel_open(const char *address, const char *token, int index, bool has_launchers,
                struct tunnel **ret_tunnel, struct error *err) {
    struct tunnel *tunnel = x_calloc(1, sizeof *tunnel);
    int near_port = 0;
    tunnel->near = tunnel->far = -1;
    tunnel->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    tunnel->index = index;
    pthread_mutex_init(&tunnel->lock, NULL);
    snprintf(tunnel->address, sizeof tunnel->address, "%s", address);
    if (tunnel->wake < 0) {
        error_from_errno(err, errno, "eventfd");
    } else if ((!has_launchers || listen_at("127.0.0.1", &tunnel->near, &near_port, err) == 0) &&
               listen_at(address, &tunnel->far, &tunnel->far_port, err) == 0 &&
               make_keys(tunnel, token, near_port, err) == 0 && start_thread(tunnel, err) == 0) {
        *ret_tunnel = tunnel;
        return 0;
    }
    tunnel_free(tunnel);
    return -1;
}

static void wake(struct tunnel *tunnel) {
    uint64_t one = 1;
    ssize_t written = write(tunnel->wake, &one, sizeof one);
    (void)written; /* it can only be full, and then the thread wakes up */
}

void tunnel_free(struct tunnel *tunnel) {
    if (!tunnel) {
        return;
    }
    if (tunnel->has_thread) {
        pthread_mutex_lock(&tunnel->lock);
        tunnel->is_over = true;
        pthread_mutex_unlock(&tunnel->lock);
        wake(tunnel);
        pthread_join(tunnel->thread, NULL);
    }
    for (struct tunnel_stream *at = tunnel->streams; at; at = at->next) {
        at->state = TUNNEL_CLOSED;
    }
    remove_closed(tunnel);
    keyed_stream_context_free(tunnel->keys);
    fd_closep(&tunnel->wake);
    fd_closep(&tunnel->near);
    fd_closep(&tunnel->far);
    pthread_mutex_destroy(&tunnel->lock);
    explicit_bzero(tunnel->key, sizeof tunnel->key);
    explicit_bzero(tunnel->variable, sizeof tunnel->variable);
    free(tunnel->hosts);
    free(tunnel);
}

int tunnel_port(const struct tunnel *tunnel) {
    return tunnel ? tunnel->far_port : 0;
}

const char *tunnel_variable(const struct tunnel *tunnel) {
    return tunnel && tunnel->near >= 0 ? tunnel->variable : NULL;
}

void tunnel_set_hosts(struct tunnel *tunnel, const struct tunnel_host *hosts, size_t count) {
    if (!tunnel) {
        return;
    }
    count = MIN(count, (size_t)HOSTS_MAX);
    pthread_mutex_lock(&tunnel->lock);
    free(tunnel->hosts);
    tunnel->hosts = x_calloc(count + 1, sizeof *hosts);
    if (count) {
        memcpy(tunnel->hosts, hosts, count * sizeof *hosts);
    }
    tunnel->host_count = count;
    tunnel->drops = true;
    pthread_mutex_unlock(&tunnel->lock);
    wake(tunnel);
}
