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

enum { PODS = 3 };

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

static int count_closed(const int *fds, size_t count) {
    int closed = 0;
    for (size_t i = 0; i < count; i++) {
        char byte;
        ssize_t got = recv(fds[i], &byte, 1, MSG_DONTWAIT | MSG_PEEK);
        closed += got == 0 || (got < 0 && errno == ECONNRESET);
    }
    return closed;
}

/* Strangers who connect all the time do not keep the member from its work. */
static void test_a_crowd_waits(void) {
    enum { STRANGERS = 150, A_CALL = 64 };
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    char words[CONNECTIVITY_DETAIL_MAX];
    int fds[STRANGERS], index = -1;
    open_pods("127.0.0.1");
    to.sin_port = htons((uint16_t)rows[0].connectivity_port);
    for (int i = 0; i < STRANGERS; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK_INT(connect(fds[i], (struct sockaddr *)&to, sizeof to), 0);
    }
    for (int calls = 1; calls <= 3; calls++) {
        CHECK_INT(connectivity_poll(pods[0], 0, &index, words), CONNECTIVITY_IDLE);
        CHECK_INT(count_closed(fds, STRANGERS),
                  calls * A_CALL < STRANGERS ? calls * A_CALL : STRANGERS);
    }
    for (int i = 0; i < STRANGERS; i++) {
        fd_closep(&fds[i]);
    }
    free_pods();
}

int main(void) {
    TEST(test_all);
    TEST(test_one_is_deaf);
    TEST(test_nobody);
    TEST(test_a_crowd_waits);
    return TEST_END();
}
