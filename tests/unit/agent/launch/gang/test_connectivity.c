// SPDX-License-Identifier: Apache-2.0
/* Which pods reach which: pods that all listen, one that does not (yet), a table of one, rows
 * without a port. The clock of connectivity_poll is the test's. */
#include "agent/launch/gang/connectivity.h"

#include "tests/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

enum { PODS = 3, WAIT_MS = 60000 };

static struct connectivity *pods[PODS];
static struct gang_table_row rows[PODS];
static struct gang_table table = {.round = 1, .count = PODS, .rows = rows};

static void open_pods(const char *address) {
    for (int i = 0; i < PODS; i++) {
        struct error err = {0};
        CHECK_OK(connectivity_open(address, &pods[i], &err), &err);
        rows[i] = (struct gang_table_row){
            .index = 2 * i, .slots = 1, .connectivity_port = connectivity_port(pods[i])};
        snprintf(rows[i].address, sizeof rows[i].address, "%s", address);
        CHECK(rows[i].connectivity_port > 0);
    }
}

static void free_pods(void) {
    for (int i = 0; i < PODS; i++) {
        connectivity_free(pods[i]);
        pods[i] = NULL;
    }
}

/* The result after a few polls at that time; the other pods accept all connections. */
static enum connectivity_state settle(int pod, int64_t now_ms, int *ret_index, char *words) {
    enum connectivity_state state = CONNECTIVITY_BUSY;
    for (int look = 0; look < 200 && state == CONNECTIVITY_BUSY; look++) {
        for (int i = 0; i < PODS; i++) {
            char ignored[CONNECTIVITY_DETAIL_MAX];
            int nobody;
            if (i == pod) {
                state = connectivity_poll(pods[i], now_ms, ret_index, words);
            } else if (!connectivity_is_busy(pods[i])) {
                CHECK_INT(connectivity_poll(pods[i], now_ms, &nobody, ignored), CONNECTIVITY_IDLE);
            }
        }
        poll(NULL, 0, 1);
    }
    return state;
}

static void test_all(void) {
    static const char *const addresses[] = {"127.0.0.1", "::1"};
    for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
        char words[CONNECTIVITY_DETAIL_MAX];
        int index = -1;
        open_pods(addresses[i]);
        for (int pod = 0; pod < PODS && !test_failures; pod++) {
            connectivity_begin(pods[pod], &table, 2 * pod, 1000);
            CHECK(connectivity_is_busy(pods[pod]));
            CHECK_INT(settle(pod, 1000, &index, words), CONNECTIVITY_DONE);
            CHECK_INT(settle(pod, 1000, &index, words), CONNECTIVITY_IDLE);
        }
        free_pods();
    }
}

/* The last pod does not listen: its neighbour retries until the time limit, and names it. */
static void test_one_is_deaf(void) {
    char words[CONNECTIVITY_DETAIL_MAX], wanted[CONNECTIVITY_DETAIL_MAX];
    int index = -1;
    open_pods("127.0.0.1");
    connectivity_free(pods[2]);
    pods[2] = NULL;
    connectivity_begin(pods[1], &table, 2, 1000);
    CHECK_INT(settle(1, 1000, &index, words), CONNECTIVITY_BUSY);
    CHECK_INT(settle(1, 1000 + CONNECTIVITY_MS - 1, &index, words), CONNECTIVITY_BUSY);
    CHECK_INT(settle(1, 1000 + CONNECTIVITY_MS, &index, words), CONNECTIVITY_FAILED);
    CHECK_INT(index, 4);
    snprintf(wanted, sizeof wanted, "127.0.0.1:%d: connect: Connection refused",
             rows[2].connectivity_port);
    CHECK_STR(words, wanted);
    CHECK(!connectivity_is_busy(pods[1]));
    connectivity_begin(pods[0], &table, 0,
                       1000); /* pods that are not its neighbour reach all they try */
    CHECK_INT(settle(0, 1000, &index, words), CONNECTIVITY_DONE);
    rows[2].connectivity_port = 0; /* it could not listen */
    connectivity_begin(pods[1], &table, 2, 1000);
    CHECK_INT(settle(1, 1000, &index, words), CONNECTIVITY_DONE);
    free_pods();
}

static void test_nobody(void) {
    char words[CONNECTIVITY_DETAIL_MAX];
    int index = -1;
    open_pods("127.0.0.1");
    struct gang_table one = {.round = 1, .count = 1, .rows = rows};
    connectivity_begin(pods[0], &one, 0, 1000);
    CHECK_INT(settle(0, 1000, &index, words), CONNECTIVITY_DONE);
    connectivity_begin(pods[0], &table, 0, 1000);
    connectivity_end(pods[0]); /* stopped meanwhile */
    CHECK_INT(settle(0, 99999, &index, words), CONNECTIVITY_IDLE);
    CHECK_INT(connectivity_poll(NULL, 0, &index, words), CONNECTIVITY_IDLE);
    free_pods();
}

/* False: there is no answer. */
static bool connects(const struct sockaddr_in *to, int *ret_fd) {
    struct pollfd made = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
                          .events = POLLOUT};
    int why = 0;
    socklen_t size = sizeof why;
    *ret_fd = made.fd;
    return connect(made.fd, (const struct sockaddr *)to, sizeof *to) == 0 ||
           (errno == EINPROGRESS && poll(&made, 1, WAIT_MS) == 1 &&
            getsockopt(made.fd, SOL_SOCKET, SO_ERROR, &why, &size) == 0 && why == 0);
}

static bool is_closed(int fd) {
    struct pollfd read = {.fd = fd, .events = POLLIN};
    char byte;
    return poll(&read, 1, WAIT_MS) == 1 && recv(fd, &byte, 1, 0) <= 0;
}

/* Strangers who connect all the time neither keep the member from its work, nor other pods out:
 * more than the kernel's queue holds, while the member has no time for any. */
static void test_a_crowd_is_let_go(void) {
    enum { HELD = 150, ALL = SOMAXCONN + 1000 };
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fds[HELD], closed = 0, answered = 0;
    open_pods("127.0.0.1");
    to.sin_port = htons((uint16_t)rows[0].connectivity_port);
    for (int i = 0; i < HELD; i++) {
        CHECK(connects(&to, &fds[i]));
    }
    for (int fd; answered < ALL && connects(&to, &fd); answered++) {
        fd_closep(&fd);
    }
    CHECK_INT(answered, ALL);
    while (closed < HELD && is_closed(fds[closed])) {
        closed++;
    }
    CHECK_INT(closed, HELD);
    for (int i = 0; i < HELD; i++) {
        fd_closep(&fds[i]);
    }
    free_pods();
}

int main(void) {
    TEST(test_all);
    TEST(test_one_is_deaf);
    TEST(test_nobody);
    TEST(test_a_crowd_is_let_go);
    return TEST_END();
}
