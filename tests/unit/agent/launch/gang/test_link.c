// SPDX-License-Identifier: Apache-2.0
/* Two links over connections that break at any moment, losing the data under way, in both
 * directions (SOAK_SEED, SOAK_ROUNDS): every message arrives once, in order. And the format of
 * messages. */
#include "agent/launch/gang/link.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <stdlib.h>

enum { WAY = 4096, STEPS = 600 };

/* Data on its way to a side. */
struct side {
    struct link *link;
    struct side *other;
    char *way[WAY];
    size_t first, count;
    int64_t said, heard; /* seconds of a NOTICE: 1, 2, 3, ... */
};

static uint64_t state;
static int64_t lost;

static uint64_t dice(uint64_t sides) {
    return test_below(&state, sides);
}

static void send_text(void *context, const char *text) {
    struct side *to = ((struct side *)context)->other;
    CHECK(to->count < WAY);
    if (to->count < WAY) {
        to->way[(to->first + to->count++) % WAY] = x_strdup(text);
    }
}

static void deliver(struct side *to) {
    struct gang_message message;
    struct error err = {0};
    if (!to->count) {
        return;
    }
    AUTO(text_freep) char *text = to->way[to->first];
    to->first = (to->first + 1) % WAY;
    to->count--;
    CHECK_OK(gang_message_read(text, strlen(text), &message, &err), &err);
    if (link_received(to->link, &message)) {
        CHECK_INT(message.seconds, ++to->heard);
    }
    gang_message_release(&message);
}

static void drop(struct side *side) {
    link_broken(side->link);
    lost += (int64_t)side->count;
    while (side->count) {
        free(side->way[side->first]);
        side->first = (side->first + 1) % WAY;
        side->count--;
    }
}

static void connect_both(struct side *sides) {
    int64_t last[] = {link_last(sides[0].link), link_last(sides[1].link)};
    link_resume(sides[0].link, last[1]);
    link_resume(sides[1].link, last[0]);
}

static void once_and_in_order(void) {
    uint64_t seed = test_seed(9);
    int64_t rounds = test_rounds(500);
    printf("# SOAK_SEED=%llu SOAK_ROUNDS=%lld\n", (unsigned long long)seed, (long long)rounds);
    for (int64_t round = 0; round < rounds && !test_failures; round++) {
        static struct side sides[2];
        memset(sides, 0, sizeof sides);
        state = seed + (uint64_t)round;
        for (int i = 0; i < 2; i++) {
            sides[i].other = &sides[1 - i];
            sides[i].link = link_new(send_text, &sides[i]);
        }
        bool is_open = false;
        for (int step = 0; step < STEPS; step++) {
            struct side *side = &sides[dice(2)];
            uint64_t what = dice(20);
            if (what < 6) {
                struct gang_message message = {.type = GANG_MESSAGE_NOTICE,
                                               .seconds = (int)++side->said};
                link_send(side->link, &message);
            } else if (what < 17) {
                deliver(side);
            } else if (what == 17) {
                link_acknowledge(side->link);
            } else if (what == 18 && is_open) {
                drop(&sides[0]);
                drop(&sides[1]);
                is_open = false;
            } else if (!is_open) {
                connect_both(sides);
                is_open = true;
            }
        }
        if (!is_open) {
            connect_both(sides);
        }
        for (int i = 0; i < 2 * WAY; i++) {
            deliver(&sides[i % 2]);
            link_acknowledge(sides[i % 2].link);
        }
        for (int i = 0; i < 2; i++) {
            CHECK_INT(sides[i].heard, sides[1 - i].said);
            CHECK(link_is_idle(sides[i].link));
            drop(&sides[i]);
            link_free(sides[i].link);
        }
    }
    CHECK(lost > 0);
}

static void nothing_of_an_earlier_peer(void) {
    struct side sides[2] = {{0}};
    for (int i = 0; i < 2; i++) {
        sides[i].other = &sides[1 - i];
        sides[i].link = link_new(send_text, &sides[i]);
    }
    struct gang_message message = {.type = GANG_MESSAGE_NOTICE, .seconds = 1};
    link_send(sides[0].link, &message);
    link_reset(sides[0].link);
    CHECK(link_is_idle(sides[0].link));
    connect_both(sides);
    CHECK_INT(sides[1].count, 0);
    link_send(sides[0].link, &message);
    deliver(&sides[1]);
    CHECK_INT(sides[1].heard, 1);
    message.number = 1; /* again */
    CHECK(!link_received(sides[1].link, &message));
    message.number = 3; /* one is missing */
    CHECK(!link_received(sides[1].link, &message));
    for (int i = 0; i < 2; i++) {
        drop(&sides[i]);
        link_free(sides[i].link);
    }
}

static void messages(void) {
    static const char *const rows[] = {
        "{\"type\":\"hello\",\"version\":\"0.1.0\",\"pod\":\"j-1\",\"incarnation\":\"ab\","
        "\"address\":\"10.0.0.7\",\"index\":1,\"slots\":4,\"port\":41000,\"connectivity\":40000,"
        "\"attempt\":2,\"seen\":3,"
        "\"last\":17,\"round\":3145729,\"prepared\":true}",
        "{\"type\":\"exited\",\"n\":4,\"a\":9,\"words\":\"oh\",\"rank\":-1,\"code\":139,"
        "\"round\":7,\"memory\":true}",
        "{\"type\":\"table\",\"n\":1,\"port\":29500,\"round\":5,"
        "\"rows\":[[0,2,41000,40000,42000,\"10.0.0.5\"],[3,2,41001,0,0,\"fd00::1\"]]}",
        "{\"type\":\"ack\",\"a\":3}",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gang_message message;
        struct error err = {0};
        CHECK_OK(gang_message_read(rows[i], strlen(rows[i]), &message, &err), &err);
        AUTO(text_freep) char *text = gang_message_write(&message);
        CHECK_STR(text, rows[i]);
        gang_message_release(&message);
    }
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"type\":\"what\"}",
        "{\"type\":\"go\",\"round\":\"5\"}",
        "{\"type\":\"go\",\"round\":-5}",
        "{\"type\":\"hello\",\"index\":1000}",
        "{\"type\":\"hello\",\"pod\":7}",
        "{\"type\":\"table\"}",
        "{\"type\":\"table\",\"rows\":[[1,1,1,0,0,\"a\"],[1,1,1,0,0,\"a\"]]}",
        "{\"type\":\"table\",\"rows\":[[0,0,1,0,0,\"a\"]]}",
        "{\"type\":\"table\",\"rows\":[[0,1,1,65536,0,\"a\"]]}",
        "{\"type\":\"table\",\"rows\":[[0,1,1,0,65536,\"a\"]]}",
        "{\"type\":\"exited\",\"memory\":1}",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct gang_message message;
        struct error err = {0};
        CHECK(gang_message_read(bad[i], strlen(bad[i]), &message, &err) < 0);
        CHECK_INT(err.kind, ERROR_INVALID);
    }
}

int main(void) {
    TEST(once_and_in_order);
    TEST(nothing_of_an_earlier_peer);
    TEST(messages);
    return TEST_END();
}
