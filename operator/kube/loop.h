/* loop.h: the event loop of the Kubernetes client, in one thread: HTTP calls (lib/net/http.h), file
 * descriptors and timers. All callbacks in operator/kube come from loop_wait. */
#pragma once

#include "lib/net/http.h"

struct loop;

/* A timer, embedded in the struct of its user and zero-initialised. It fires once per loop_set. */
struct loop_timer {
    struct loop_timer *next, **link;
    int64_t due_ms;
    void (*fire)(void *context);
    void *context;
};

NODISCARD int loop_open(struct loop **ret_loop, struct error *err);
void loop_free(struct loop *loop); /* drops timers and descriptors that are still set */
void loop_freep(struct loop **loop);

struct http *loop_http(struct loop *loop);

/* Sets or moves the timer: timer->fire(timer->context) is called from a loop_wait, at least
 * delay_ms from now. */
void loop_set(struct loop *loop, struct loop_timer *timer, int64_t delay_ms);
void loop_unset(struct loop *loop, struct loop_timer *timer);

/* readable(context) is called whenever the descriptor is readable or broken. */
struct loop_watch {
    int fd;
    void (*readable)(void *context);
    void *context;
};
NODISCARD int loop_add(struct loop *loop, struct loop_watch *watch, struct error *err);
void loop_remove(struct loop *loop, struct loop_watch *watch); /* before the descriptor is closed */

/* Waits up to timeout_ms (-1: without limit) until something happens, and calls the callbacks. 1: a
 * signal ended the wait early. */
NODISCARD int loop_wait(struct loop *loop, int timeout_ms, struct error *err);
int loop_fd(const struct loop *loop); /* for poll: readable when loop_wait has something to do */
