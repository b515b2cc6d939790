// SPDX-License-Identifier: Apache-2.0
/* Which sockets an epoll set has, while requests follow one another on them; and requests of one
 * kind, whose server closes each connection. */
#include "lib/net/http_sockets.h"

#include "lib/net/http.h"
#include "lib/time/clock.h"
#include "tests/test.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
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

/* ---- a server that answers with the request's path and body, and closes --------------------- */

enum { REQUESTS = 20, WAIT_MS = 60000 };

/* The body ends with a full stop. */
static void answer(int fd) {
    char request[4096] = "", path[64] = "";
    size_t size = 0;
    ssize_t got;
    while (!(size && request[size - 1] == '.') &&
           (got = read(fd, request + size, sizeof request - 1 - size)) > 0) {
        size += (size_t)got;
    }
    const char *body = strstr(request, "\r\n\r\n");
    CHECK(body && sscanf(request, "POST %63s", path) == 1);
    AUTO(text_freep) char *text = x_printf("%s %s", path, body ? body + 4 : "");
    AUTO(text_freep)
    char *whole = x_printf("HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(text), text);
    CHECK_INT(send(fd, whole, strlen(whole), MSG_NOSIGNAL), strlen(whole));
}

static void *serve(void *context) {
    const int *listener = context;
    int fd;
    while ((fd = accept4(*listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        answer(fd);
        close(fd);
    }
    return NULL;
}

static void note(void *context, const struct http_answer *answer, bool is_sent UNUSED,
                 const struct error *err) {
    char **text = context;
    *text = answer ? x_strndup(answer->body, answer->size) : x_strdup(err->text);
}

/* One request of the kind; the caller frees what came. */
static char *ask(struct http *http, const char *url, const char *body,
                 struct http_call **ret_call) {
    char *text = NULL;
    struct error err = {0};
    struct http_request request = {.url = url,
                                   .method = "POST",
                                   .body = body,
                                   .body_size = strlen(body),
                                   .borrows_body = true,
                                   .kind = 1,
                                   .timeout_ms = WAIT_MS,
                                   .bytes_max = 100,
                                   .done = note,
                                   .context = &text};
    int64_t end_ms = clock_monotonic_ms() + WAIT_MS;
    CHECK_OK(http_start(http, &request, ret_call, &err), &err);
    while (http_count(http) && clock_monotonic_ms() < end_ms) {
        CHECK_OK(http_wait(http, WAIT_MS, &err), &err);
    }
    return text ? text : x_strdup("");
}

static void test_requests_of_one_kind(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pthread_t thread;
    struct http *http = NULL;
    struct http_call *first = NULL, *call = NULL;
    struct error err = {0};
    CHECK_INT(bind(listener, (struct sockaddr *)&address, size), 0);
    CHECK_INT(listen(listener, REQUESTS), 0);
    CHECK_INT(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    CHECK_INT(pthread_create(&thread, NULL, serve, &listener), 0);
    CHECK_OK(http_open(&http, &err), &err);
    for (int i = 0; i < REQUESTS; i++) { /* the same path twice, then another */
        AUTO(text_freep)
        char *url = x_printf("http://127.0.0.1:%d/%d", ntohs(address.sin_port), i / 2);
        AUTO(text_freep) char *body = x_printf("%d.", i);
        AUTO(text_freep) char *wanted = x_printf("/%d %d.", i / 2, i);
        AUTO(text_freep) char *text = ask(http, url, body, &call);
        CHECK_STR(text, wanted);
        first = first ? first : call;
        CHECK(call == first); /* it is used again */
    }
    http_free(http);
    shutdown(listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(listener);
}

/* A thread that only waits there: for another's word, time and again without reading it, and for
 * time limits of calls. */
static void test_a_word_of_another_thread_and_time_limits_end_the_wait(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* that is never asked */
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct http *http = NULL;
    struct error err = {0};
    char *text = NULL;
    int64_t end_ms = clock_monotonic_ms() + WAIT_MS;
    CHECK_INT(bind(listener, (struct sockaddr *)&address, size), 0);
    CHECK_INT(listen(listener, 1), 0);
    CHECK_INT(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    CHECK_OK(http_open(&http, &err), &err);
    CHECK_OK(http_wake_by(http, fd, &err), &err);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(eventfd_write(fd, 1), 0);
        CHECK_OK(http_wait(http, WAIT_MS, &err), &err);
    }
    AUTO(text_freep) char *url = x_printf("http://127.0.0.1:%d/", ntohs(address.sin_port));
    struct http_request request = {.url = url, .timeout_ms = 50, .done = note, .context = &text};
    CHECK_OK(http_start(http, &request, NULL, &err), &err);
    while (http_count(http) > 0 && clock_monotonic_ms() < end_ms) {
        CHECK_OK(http_wait(http, WAIT_MS, &err), &err);
    }
    CHECK(clock_monotonic_ms() < end_ms);
    CHECK(text && strstr(text, "imed"));
    free(text);
    http_free(http);
    close(fd);
    close(listener);
}

int main(void) {
    TEST(test_sockets_that_stay);
    TEST(test_sockets_that_are_closed);
    TEST(test_requests_of_one_kind);
    TEST(test_a_word_of_another_thread_and_time_limits_end_the_wait);
    return TEST_END();
}
