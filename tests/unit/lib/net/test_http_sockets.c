// SPDX-License-Identifier: Apache-2.0
/* Which sockets an epoll set has, while requests follow one another on them. */
#include "lib/net/http_sockets.h"

#include "tests/test.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static int events_of(const struct http_sockets *sockets) {
    struct epoll_event event;
    return epoll_wait(sockets->epoll, &event, 1, 0);
}

static void open_pair(struct http_sockets *sockets, int pair[static 2]) {
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    http_sockets_opened(sockets, pair[0]);
    http_sockets_watch(sockets, pair[0], EPOLLIN);
}

static void a_socket_stays_between_two_requests(struct http_sockets *sockets) {
    int pair[2];
    open_pair(sockets, pair);
    http_sockets_watch(sockets, pair[0], 0);
    CHECK_INT(write(pair[1], "x", 1), 1);
    CHECK_INT(events_of(sockets), 1);
    CHECK(http_sockets_is_idle(sockets, pair[0]));
    CHECK_INT(events_of(sockets), 0);
    http_sockets_watch(sockets, pair[0], EPOLLIN);
    CHECK(!http_sockets_is_idle(sockets, pair[0]));
    CHECK_INT(events_of(sockets), 1);
    CHECK_INT(http_sockets_close(sockets, pair[0]), 0);
    CHECK_INT(close(pair[1]), 0);
}

/* Another process may still have it. */
static void a_closed_socket_has_no_events(struct http_sockets *sockets) {
    int pair[2];
    open_pair(sockets, pair);
    int copy = dup(pair[0]);
    CHECK_INT(http_sockets_close(sockets, pair[0]), 0);
    CHECK_INT(write(pair[1], "x", 1), 1);
    CHECK_INT(events_of(sockets), 0);
    CHECK_INT(close(copy), 0);
    CHECK_INT(close(pair[1]), 0);
}

static void run(void (*test)(struct http_sockets *sockets)) {
    struct http_sockets sockets = {.epoll = epoll_create1(EPOLL_CLOEXEC)};
    CHECK(sockets.epoll >= 0);
    test(&sockets);
    http_sockets_release(&sockets);
    CHECK_INT(close(sockets.epoll), 0);
}

static void test_sockets_that_stay(void) {
    run(a_socket_stays_between_two_requests);
}

static void test_sockets_that_are_closed(void) {
    run(a_closed_socket_has_no_events);
}

int main(void) {
    TEST(test_sockets_that_stay);
    TEST(test_sockets_that_are_closed);
    return TEST_END();
}
