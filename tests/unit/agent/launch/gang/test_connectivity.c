// SPDX-License-Identifier: Apache-2.0
/* Which pods reach which: pods that all listen, one that does not (yet), a table of one, rows
 * without a port. The clock of connectivity_poll is the test's. */
#include "agent/launch/gang/connectivity.h"

#include "lib/net/address.h"
#include "tests/test.h"

#include <poll.h>
#include <string.h>

enum { PODS = 3 };

static struct connectivity *pods[PODS];
static int listeners[PODS];
static struct gang_table_row rows[PODS];
static struct gang_table table = {.round = 1, .count = PODS, .rows = rows};

static void open_pods(const char *host) {
    for (int i = 0; i < PODS; i++) {
        struct error err = {0};
        struct address address;
        AUTO(text_freep) char *text = x_printf(strchr(host, ':') ? "[%s]:0" : "%s:0", host);
        CHECK_OK(address_parse(text, &address, &err), &err);
        CHECK_OK(address_listen(&address, &listeners[i], &err), &err);
        pods[i] = connectivity_new();
        rows[i] =
            (struct gang_table_row){.index = 2 * i, .slots = 1, .connectivity_port = address.port};
        snprintf(rows[i].address, sizeof rows[i].address, "%s", host);
    }
}

static void free_pods(void) {
    for (int i = 0; i < PODS; i++) {
        connectivity_free(pods[i]);
        fd_closep(&listeners[i]);
    }
}

/* The result after a few polls at that time; the kernel answers for the other pods. */
static enum connectivity_state settle(int pod, int64_t now_ms, int *ret_index, char *words) {
    enum connectivity_state state = CONNECTIVITY_BUSY;
    for (int look = 0; look < 200 && state == CONNECTIVITY_BUSY; look++) {
        state = connectivity_poll(pods[pod], now_ms, ret_index, words);
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
    fd_closep(&listeners[2]);
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
    rows[2].connectivity_port = 0; /* it has no tunnel */
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
    free_pods();
}

int main(void) {
    TEST(test_all);
    TEST(test_one_is_deaf);
    TEST(test_nobody);
    return TEST_END();
}
