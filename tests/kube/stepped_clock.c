// SPDX-License-Identifier: Apache-2.0
#include "tests/kube/stepped_clock.h"

#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { TIMERS_MAX = 64, NS_PER_MS = 1000000, NS_PER_S = 1000000000 };

static int64_t passed_ns; /* since the start */
static struct {
    bool is_set;
    int64_t due_ns;   /* of passed_ns */
} timers[TIMERS_MAX]; /* by descriptor */

/* The clock as it was at the start of the program. */
static struct timespec first(clockid_t id) {
    static struct timespec firsts[16];
    static bool is_read[16];
    int at = (int)id & 15;
    if (!is_read[at]) {
        is_read[at] = true;
        syscall(SYS_clock_gettime, id, &firsts[at]);
    }
    return firsts[at];
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *now) {
    struct timespec start = first(id);
    int64_t ns = start.tv_nsec + passed_ns;
    now->tv_sec = start.tv_sec + ns / NS_PER_S;
    now->tv_nsec = ns % NS_PER_S;
    return 0;
}

static void fire(int fd) {
    struct itimerspec at_once = {.it_value.tv_nsec = 1};
    timers[fd].is_set = false;
    struct pollfd fired = {.fd = fd, .events = POLLIN};
    syscall(SYS_timerfd_settime, fd, 0, &at_once, NULL);
    poll(&fired, 1, 1000); /* the kernel takes some microseconds */
}

__attribute__((visibility("default"))) int
timerfd_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *before) {
    int64_t left_ns = when->it_value.tv_sec * (int64_t)NS_PER_S + when->it_value.tv_nsec;
    (void)flags;
    (void)before;
    if (fd < 0 || fd >= TIMERS_MAX) {
        abort();
    }
    struct itimerspec never = {0};
    syscall(SYS_timerfd_settime, fd, 0, &never, NULL);
    timers[fd].is_set = left_ns > 0;
    timers[fd].due_ns = passed_ns + left_ns;
    if (left_ns > 0 && left_ns < NS_PER_MS) { /* libraries mean: now */
        fire(fd);
    }
    return 0;
}

void stepped_clock_advance(int64_t ms) {
    passed_ns += ms * NS_PER_MS;
    for (int fd = 0; fd < TIMERS_MAX; fd++) {
        if (timers[fd].is_set && timers[fd].due_ns <= passed_ns) {
            fire(fd);
        }
    }
}

int64_t stepped_clock_next_ms(void) {
    int64_t next_ns = INT64_MAX;
    for (int fd = 0; fd < TIMERS_MAX; fd++) {
        if (timers[fd].is_set && timers[fd].due_ns < next_ns) {
            next_ns = timers[fd].due_ns;
        }
    }
    return next_ns == INT64_MAX ? -1 : (next_ns - passed_ns + NS_PER_MS - 1) / NS_PER_MS;
}

int64_t stepped_clock_ms(void) {
    return passed_ns / NS_PER_MS;
}
