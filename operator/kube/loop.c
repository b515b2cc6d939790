// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/loop.h"

#include "lib/time/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { EVENTS_MAX = 16 };

struct loop {
    struct http *http;
    struct loop_timer *timers; /* a few dozen at most, unsorted */
    int64_t armed_ms;          /* INT64_MAX: not armed */
    int epoll, timer;
};

static int add_fd(struct loop *loop, int fd, void *own, struct error *err) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = own};
    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
        return error_from_errno(err, errno, "cannot watch a descriptor");
    }
    return 0;
}

int loop_open(struct loop **ret_loop, struct error *err) {
    AUTO(loop_freep) struct loop *loop = x_calloc(1, sizeof *loop);
    loop->armed_ms = INT64_MAX;
    loop->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop->timer < 0 || loop->epoll < 0) {
        return error_from_errno(err, errno, "cannot make an event loop");
    }
    if (http_open(&loop->http, err) < 0 || add_fd(loop, loop->timer, loop, err) < 0 ||
        add_fd(loop, http_fd(loop->http), NULL, err) < 0) {
        return -1;
    }
    *ret_loop = TAKE(loop);
    return 0;
}

void loop_free(struct loop *loop) {
    if (!loop) {
        return;
    }
    while (loop->timers) {
        loop_unset(loop, loop->timers);
    }
    http_free(loop->http);
    fd_closep(&loop->timer);
    fd_closep(&loop->epoll);
    free(loop);
}

void loop_freep(struct loop **loop) {
    loop_free(*loop);
    *loop = NULL;
}

struct http *loop_http(struct loop *loop) {
    return loop->http;
}

int loop_fd(const struct loop *loop) {
    return loop->epoll;
}

static void arm(struct loop *loop, int64_t due_ms) {
    struct itimerspec when = {0};
    if (due_ms < INT64_MAX) {
        int64_t left_ms = MAX(due_ms - clock_monotonic_ms(), 0);
        when.it_value.tv_sec = left_ms / 1000;
        when.it_value.tv_nsec = left_ms % 1000 * 1000000 + 1;
    }
    timerfd_settime(loop->timer, 0, &when, NULL);
    loop->armed_ms = due_ms;
}

void loop_set(struct loop *loop, struct loop_timer *timer, int64_t delay_ms) {
    loop_unset(loop, timer);
    timer->due_ms = clock_monotonic_ms() + MAX(delay_ms, 0);
    timer->next = loop->timers;
    timer->link = &loop->timers;
    if (timer->next) {
        timer->next->link = &timer->next;
    }
    loop->timers = timer;
    if (timer->due_ms < loop->armed_ms) {
        arm(loop, timer->due_ms);
    }
}

/* The descriptor stays armed: one unnecessary wake-up is cheaper than arming it twice. */
void loop_unset(struct loop *loop, struct loop_timer *timer) {
    (void)loop;
    if (timer->link) {
        *timer->link = timer->next;
        if (timer->next) {
            timer->next->link = timer->link;
        }
        timer->link = NULL;
    }
}

int loop_add(struct loop *loop, struct loop_watch *watch, struct error *err) {
    return add_fd(loop, watch->fd, watch, err);
}

void loop_remove(struct loop *loop, struct loop_watch *watch) {
    epoll_ctl(loop->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
}

static struct loop_timer *find_due(struct loop *loop, int64_t now_ms) {
    for (struct loop_timer *timer = loop->timers; timer; timer = timer->next) {
        if (timer->due_ms <= now_ms) {
            return timer;
        }
    }
    return NULL;
}

static void fire_due(struct loop *loop) {
    int64_t now_ms = clock_monotonic_ms();
    uint64_t fired;
    if (now_ms < loop->armed_ms) {
        return;
    }
    if (read(loop->timer, &fired, sizeof fired) < 0 && errno == EAGAIN) {
        return; /* due, but the kernel's timer has not fired yet: it will */
    }
    struct loop_timer *timer;
    while ((timer = find_due(loop, now_ms))) {
        loop_unset(loop, timer);
        timer->fire(timer->context); /* may set and unset timers */
    }
    int64_t due_ms = INT64_MAX;
    for (timer = loop->timers; timer; timer = timer->next) {
        due_ms = MIN(due_ms, timer->due_ms);
    }
    arm(loop, due_ms);
}

int loop_wait(struct loop *loop, int timeout_ms, struct error *err) {
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(loop->epoll, events, EVENTS_MAX, timeout_ms);
    if (count < 0 && errno != EINTR) {
        return error_from_errno(err, errno, "cannot wait for the network");
    }
    for (int i = 0; i < count; i++) {
        struct loop_watch *watch = events[i].data.ptr;
        if (events[i].data.ptr == loop) {
            fire_due(loop);
        } else if (watch) {
            watch->readable(watch->context);
        } else if (http_wait(loop->http, 0, err) < 0) {
            return -1;
        }
    }
    return count < 0;
}
