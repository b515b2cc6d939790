// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/door/door.h"

#include "agent/launch/door/door_stream.h"
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

struct door {
    int wake, near, far; /* an eventfd; sockets that listen: on loopback, and for other pods */
    int far_port;
    char address[46], variable[6 + 2 * PRELOAD_KEY_SIZE + 1];
    uint8_t key[PRELOAD_KEY_SIZE];
    struct keyed_streams *keys;
    int index;
    pthread_t thread;
    bool has_thread;

    pthread_mutex_t lock; /* the rest but `streams`, which are the thread's */
    struct door_host *hosts;
    size_t host_count;
    bool is_over, drops; /* drops: the streams of the last round */

    struct door_stream *streams;
    size_t count;
};

/* ---- accepting ------------------------------------------------------------------------------- */

static bool is_pending_of(const struct door_stream *stream, bool is_near, const char *source) {
    return stream->is_near == is_near && door_stream_is_pending(stream) &&
           (source ? strcmp(stream->source, source) == 0 : !stream->is_host);
}

static bool is_host(const struct door_view *view, const char *source) {
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
static void make_room(struct door *door, bool is_near, const char *source, size_t most) {
    struct door_stream *oldest = NULL; /* new ones are put at the front */
    size_t count = 0;
    for (struct door_stream *at = door->streams; at; at = at->next) {
        if (is_pending_of(at, is_near, source)) {
            count++;
            oldest = at;
        }
    }
    if (count >= most) {
        oldest->state = DOOR_CLOSED;
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
static bool accept_all(struct door *door, const struct door_view *view, int listener, bool is_near,
                       int64_t now_ms) {
    for (int i = 0; i < DOOR_PENDING_MAX; i++) {
        struct sockaddr_storage from = {0};
        socklen_t size = sizeof from;
        int fd = accept4(listener, (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
        }
        if (door->count >= DOOR_STREAMS_MAX) {
            fd_closep(&fd);
            continue;
        }
        char source[46];
        name_source(&from, source);
        if (!is_near) {
            make_room(door, is_near, source, DOOR_PENDING_OF_ONE);
        }
        struct door_stream *stream = door_stream_new(fd, is_near, source, now_ms);
        stream->is_host = !is_near && is_host(view, source);
        if (!stream->is_host) {
            make_room(door, is_near, NULL, DOOR_PENDING_MAX);
        }
        stream->next = door->streams;
        stream->has_more = true;
        door->streams = stream;
        door->count++;
    }
    return true;
}

/* ---- its thread ------------------------------------------------------------------------------ */

static void remove_closed(struct door *door) {
    for (struct door_stream **at = &door->streams; *at;) {
        struct door_stream *stream = *at;
        if (stream->state == DOOR_CLOSED) {
            *at = stream->next;
            door_stream_free(stream);
            door->count--;
        } else {
            at = &stream->next;
        }
    }
}

static void add_poll(struct pollfd *fds, size_t *count, const struct door_side *side) {
    fds[(*count)++] = (struct pollfd){.fd = side->events ? side->fd : -1, .events = side->events};
}

/* Waits until something can be done. fds has room for all. */
static size_t wait_for_work(struct door *door, struct pollfd *fds, bool may_accept) {
    size_t count = FIRST;
    int wait_ms = door->streams ? BUSY_MS : IDLE_MS;
    fds[WAKE] = (struct pollfd){.fd = door->wake, .events = POLLIN};
    fds[NEAR] = (struct pollfd){.fd = may_accept ? door->near : -1, .events = POLLIN};
    fds[FAR] = (struct pollfd){.fd = may_accept ? door->far : -1, .events = POLLIN};
    for (const struct door_stream *at = door->streams; at; at = at->next) {
        add_poll(fds, &count, &at->program);
        add_poll(fds, &count, &at->pod);
        wait_ms = at->has_more ? 0 : wait_ms;
    }
    poll(fds, count, wait_ms);
    return count;
}

/* Copies what the round's owner has set. False: the end. */
static bool take_settings(struct door *door, struct door_view *view, struct door_host *hosts) {
    uint64_t ignored = 0;
    while (read(door->wake, &ignored, sizeof ignored) > 0) {
    }
    pthread_mutex_lock(&door->lock);
    bool goes_on = !door->is_over;
    for (struct door_stream *at = door->streams; door->drops && at; at = at->next) {
        at->state = door_stream_is_pending(at) ? at->state : DOOR_CLOSED;
    }
    door->drops = false;
    view->host_count = door->host_count;
    if (door->host_count) {
        memcpy(hosts, door->hosts, door->host_count * sizeof *hosts);
    }
    pthread_mutex_unlock(&door->lock);
    return goes_on;
}

static void run_streams(struct door *door, const struct door_view *view, const struct pollfd *fds,
                        int64_t now_ms) {
    size_t at = FIRST;
    for (struct door_stream *one = door->streams; one; one = one->next, at += 2) {
        bool is_ready = fds[at].revents || fds[at + 1].revents || one->has_more;
        if (one->state != DOOR_CLOSED &&
            (is_ready || (one->state < DOOR_OPEN && now_ms >= one->until_ms))) {
            one->has_more = false;
            door_stream_run(one, view, now_ms);
        }
    }
}

static void *serve(void *context) {
    struct door *door = context;
    struct door_host *hosts = x_calloc(HOSTS_MAX, sizeof *hosts);
    struct pollfd *fds = x_calloc(FIRST + 2 * DOOR_STREAMS_MAX, sizeof *fds);
    struct door_view view = {.keys = door->keys,
                             .key = door->key,
                             .index = door->index,
                             .address = door->address,
                             .hosts = hosts};
    int64_t accept_at_ms = 0;
    for (;;) {
        wait_for_work(door, fds, clock_monotonic_ms() >= accept_at_ms);
        int64_t now_ms = clock_monotonic_ms();
        if (!take_settings(door, &view, hosts)) {
            break;
        }
        run_streams(door, &view, fds, now_ms); /* before new ones change the order */
        bool is_fine = (!fds[NEAR].revents || accept_all(door, &view, door->near, true, now_ms)) &&
                       (!fds[FAR].revents || accept_all(door, &view, door->far, false, now_ms));
        accept_at_ms = is_fine ? 0 : now_ms + BUSY_MS;
        remove_closed(door);
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

static int make_keys(struct door *door, const char *token, int near_port, struct error *err) {
    static const char purpose[] = "windlass door 1";
    uint8_t shared[KEYED_STREAM_KEY_SIZE];
    digest_hmac_sha256(token, strlen(token), purpose, sizeof purpose - 1, shared);
    AUTO(text_freep) char *random = digest_random(PRELOAD_KEY_SIZE);
    for (size_t i = 0; i < PRELOAD_KEY_SIZE; i++) {
        char digits[3] = {random[2 * i], random[2 * i + 1], 0};
        door->key[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    snprintf(door->variable, sizeof door->variable, "%d:%s", near_port, random);
    int result = keyed_streams_new(shared, &door->keys, err);
    explicit_bzero(shared, sizeof shared);
    return result;
}

static int start_thread(struct door *door, struct error *err) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the main thread */
    int why = pthread_create(&door->thread, NULL, serve, door);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    door->has_thread = why == 0;
    return why ? error_from_errno(err, why, "cannot start a thread") : 0;
}

int door_open(const char *address, const char *token, int index, struct door **ret_door,
              struct error *err) {
    struct door *door = x_calloc(1, sizeof *door);
    int near_port = 0;
    door->near = door->far = -1;
    door->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    door->index = index;
    pthread_mutex_init(&door->lock, NULL);
    snprintf(door->address, sizeof door->address, "%s", address);
    if (door->wake < 0) {
        error_from_errno(err, errno, "eventfd");
    } else if (listen_at("127.0.0.1", &door->near, &near_port, err) == 0 &&
               listen_at(address, &door->far, &door->far_port, err) == 0 &&
               make_keys(door, token, near_port, err) == 0 && start_thread(door, err) == 0) {
        *ret_door = door;
        return 0;
    }
    door_free(door);
    return -1;
}

static void wake(struct door *door) {
    uint64_t one = 1;
    ssize_t written = write(door->wake, &one, sizeof one);
    (void)written; /* it can only be full, and then the thread wakes up */
}

void door_free(struct door *door) {
    if (!door) {
        return;
    }
    if (door->has_thread) {
        pthread_mutex_lock(&door->lock);
        door->is_over = true;
        pthread_mutex_unlock(&door->lock);
        wake(door);
        pthread_join(door->thread, NULL);
    }
    for (struct door_stream *at = door->streams; at; at = at->next) {
        at->state = DOOR_CLOSED;
    }
    remove_closed(door);
    keyed_streams_free(door->keys);
    fd_closep(&door->wake);
    fd_closep(&door->near);
    fd_closep(&door->far);
    pthread_mutex_destroy(&door->lock);
    explicit_bzero(door->key, sizeof door->key);
    explicit_bzero(door->variable, sizeof door->variable);
    free(door->hosts);
    free(door);
}

int door_port(const struct door *door) {
    return door ? door->far_port : 0;
}

const char *door_variable(const struct door *door) {
    return door ? door->variable : NULL;
}

void door_set_hosts(struct door *door, const struct door_host *hosts, size_t count) {
    if (!door) {
        return;
    }
    count = MIN(count, (size_t)HOSTS_MAX);
    pthread_mutex_lock(&door->lock);
    free(door->hosts);
    door->hosts = x_calloc(count + 1, sizeof *hosts);
    if (count) {
        memcpy(door->hosts, hosts, count * sizeof *hosts);
    }
    door->host_count = count;
    door->drops = true;
    pthread_mutex_unlock(&door->lock);
    wake(door);
}
