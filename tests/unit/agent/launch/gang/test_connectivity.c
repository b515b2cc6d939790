// SPDX-License-Identifier: Apache-2.0
/* Who reaches whom: pods that all listen, one that does not (yet), a table of one, rows without a
 * port. The clock of reach_look is the test's. */
#include "agent/launch/reach.h"

#include "tests/test.h"

#include <poll.h>

enum { PODS = 3 };

static struct reach *pods[PODS];
static struct table_row rows[PODS];
static struct table table = {.round = 1, .count = PODS, .rows = rows};

static void open_pods(const char *address) {
    for (int i = 0; i < PODS; i++) {
        struct error err = {0};
        CHECK_OK(reach_open(address, &pods[i], &err), &err);
        rows[i] = (struct table_row){.index = 2 * i, .slots = 1, .reach = reach_port(pods[i])};
        snprintf(rows[i].address, sizeof rows[i].address, "%s", address);
        CHECK(rows[i].reach > 0);
    }
}

static void free_pods(void) {
    for (int i = 0; i < PODS; i++) {
        reach_free(pods[i]);
        pods[i] = NULL;
    }
}

/* What comes of it within a few looks at that time; the others let in whoever comes. */
static enum reach_state settle(int pod, int64_t now_ms, int *ret_index, char *words) {
    enum reach_state state = REACH_BUSY;
    for (int look = 0; look < 200 && state == REACH_BUSY; look++) {
        for (int i = 0; i < PODS; i++) {
            char ignored[REACH_WORDS_MAX];
            int nobody;
            if (i == pod) {
                state = reach_look(pods[i], now_ms, ret_index, words);
            } else if (!reach_is_busy(pods[i])) {
                CHECK_INT(reach_look(pods[i], now_ms, &nobody, ignored), REACH_IDLE);
            }
        }
        poll(NULL, 0, 1);
    }
    return state;
}

static void test_all(void) {
    static const char *const addresses[] = {"127.0.0.1", "::1"};
    for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
        char words[REACH_WORDS_MAX];
        int index = -1;
        open_pods(addresses[i]);
        for (int pod = 0; pod < PODS && !test_failures; pod++) {
            reach_begin(pods[pod], &table, 2 * pod, 1000);
            CHECK(reach_is_busy(pods[pod]));
            CHECK_INT(settle(pod, 1000, &index, words), REACH_DONE);
            CHECK_INT(settle(pod, 1000, &index, words), REACH_IDLE);
        }
        free_pods();
    }
}

/* The last pod does not listen: its neighbour tries until the time is over, and names it. */
static void test_one_is_deaf(void) {
    char words[REACH_WORDS_MAX], wanted[REACH_WORDS_MAX];
    int index = -1;
    open_pods("127.0.0.1");
    reach_free(pods[2]);
    pods[2] = NULL;
    reach_begin(pods[1], &table, 2, 1000);
    CHECK_INT(settle(1, 1000, &index, words), REACH_BUSY);
    CHECK_INT(settle(1, 1000 + REACH_MS - 1, &index, words), REACH_BUSY);
    CHECK_INT(settle(1, 1000 + REACH_MS, &index, words), REACH_FAILED);
    CHECK_INT(index, 4);
    snprintf(wanted, sizeof wanted, "127.0.0.1:%d: connect: Connection refused", rows[2].reach);
    CHECK_STR(words, wanted);
    CHECK(!reach_is_busy(pods[1]));
    reach_begin(pods[0], &table, 0, 1000); /* who is not its neighbour reaches all it tries */
    CHECK_INT(settle(0, 1000, &index, words), REACH_DONE);
    rows[2].reach = 0; /* it could not listen */
    reach_begin(pods[1], &table, 2, 1000);
    CHECK_INT(settle(1, 1000, &index, words), REACH_DONE);
    free_pods();
}

static void test_nobody(void) {
    char words[REACH_WORDS_MAX];
    int index = -1;
    open_pods("127.0.0.1");
    struct table one = {.round = 1, .count = 1, .rows = rows};
    reach_begin(pods[0], &one, 0, 1000);
    CHECK_INT(settle(0, 1000, &index, words), REACH_DONE);
    reach_begin(pods[0], &table, 0, 1000);
    reach_end(pods[0]); /* told to stop meanwhile */
    CHECK_INT(settle(0, 99999, &index, words), REACH_IDLE);
    CHECK_INT(reach_look(NULL, 0, &index, words), REACH_IDLE);
    free_pods();
}

int main(void) {
    TEST(test_all);
    TEST(test_one_is_deaf);
    TEST(test_nobody);
    return TEST_END();
}
