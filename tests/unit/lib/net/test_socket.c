// SPDX-License-Identifier: Apache-2.0
/* The client alone, against servers that do not exist or do not answer. With a server:
 * test_server.c. */
#include "lib/net/socket.h"
#include "lib/time/clock.h"
#include "tests/test.h"

#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FILLERS_MAX = 8 };

struct guest {
    struct socket_client *socket;
    int closed;
    struct error why;
};

static void on_opened(void *context) {
    (void)context;
    CHECK(false);
}

static void on_received(void *context, const char *text, size_t size) {
    (void)context, (void)text, (void)size;
    CHECK(false);
}

static void on_closed(void *context, const struct error *why) {
    struct guest *guest = context;
    guest->closed++;
    guest->why = *why;
}

static void guest_open(struct guest *guest, int port) {
    static const struct socket_events events = {on_opened, on_received, on_closed};
    static const char sha256[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    struct error err = {0};
    AUTO(text_freep) char *address = x_printf("127.0.0.1:%d", port);
    struct socket_options options = {address, "/work", "secret", sha256, &events, guest};
    CHECK_OK(socket_open(&options, &guest->socket, &err), &err);
}

/* Runs until `fd` (-1: none) is readable or the time is over; returns whether it is. */
static bool serve(struct guest *guest, int64_t for_ms, int fd) {
    struct error err = {0};
    struct pollfd wanted = {.fd = fd, .events = POLLIN};
    int64_t end_ms = clock_monotonic_ms() + for_ms;
    while (clock_monotonic_ms() < end_ms) {
        if (poll(&wanted, 1, 0) == 1) {
            return true;
        }
        CHECK_OK(socket_service(guest->socket, 5, &err), &err);
    }
    return false;
}

static struct sockaddr_in nobody(void) {
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

static int bound(int *ret_port) {
    struct sockaddr_in address = nobody();
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    CHECK(bind(fd, (struct sockaddr *)&address, size) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static void test_a_server_that_is_awaited_is_asked_often_and_not_too_often(void) {
    struct guest guest = {0};
    int port, fd = bound(&port); /* no one listens there */
    guest_open(&guest, port);
    serve(&guest, 1000, -1);
    CHECK(guest.closed >= 5); /* 40 to 94 ms apart; a busy machine takes more */
    CHECK(guest.closed <= 26);
    CHECK_INT(guest.why.kind, ERROR_UNAVAILABLE);
    socket_free(guest.socket);
    close(fd);
}

/* Fills the queue of a listener: then SYNs are dropped, as where a route does not exist yet. */
static int fill(int port, int *fillers) {
    struct sockaddr_in address = nobody();
    address.sin_port = htons((uint16_t)port);
    for (int i = 0; i < FILLERS_MAX; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)!connect(fillers[i], (struct sockaddr *)&address, sizeof address);
        if (poll(&(struct pollfd){.fd = fillers[i], .events = POLLOUT}, 1, 50) == 0) {
            return i + 1;
        }
    }
    return 0;
}

static void test_a_server_that_drops_the_first_word_is_asked_anew(void) {
    struct guest guest = {0};
    int fillers[FILLERS_MAX], port, fd = bound(&port);
    CHECK(listen(fd, 0) == 0);
    int count = fill(port, fillers);
    CHECK(count > 0);
    guest_open(&guest, port);
    serve(&guest, 900, -1);
    CHECK(guest.closed >= 2); /* 100 ms and a pause each; the system itself would wait a second */
    CHECK(guest.closed <= 7);
    CHECK_INT(guest.why.kind, ERROR_UNAVAILABLE);
    CHECK(strstr(guest.why.text, "cannot connect to 127.0.0.1:"));

    close(fillers[count - 1]);
    for (int i = 0; i < count - 1; i++) {
        close(accept(fd, NULL, NULL));
        close(fillers[i]);
    }
    CHECK(serve(&guest, 2000, fd));
    int client = accept(fd, NULL, NULL);
    CHECK(serve(&guest, 2000, client));
    unsigned char first = 0;
    CHECK_INT(read(client, &first, 1), 1);
    CHECK_INT(first, 0x16); /* TLS: a handshake */
    int closed = guest.closed;
    serve(&guest, 700, -1);
    CHECK_INT(guest.closed, closed); /* a server that answered gets time */
    socket_free(guest.socket);
    close(client);
    close(fd);
}

int main(void) {
    TEST(test_a_server_that_is_awaited_is_asked_often_and_not_too_often);
    TEST(test_a_server_that_drops_the_first_word_is_asked_anew);
    return TEST_END();
}
