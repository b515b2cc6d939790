// SPDX-License-Identifier: Apache-2.0
#include "lib/net/verdicts.h"
#include "tests/test.h"

#include <stdio.h>

static const struct preauth_source reader = {.bytes = {1}};

static struct preauth_source stranger(int number) {
    return (struct preauth_source){.bytes = {2, (uint8_t)number}};
}

static void verdicts_end(void) {
    struct verdicts verdicts = {.reviews = 0};
    CHECK_INT(verdicts_find(&verdicts, "a", 5000), 0);
    verdicts_keep(&verdicts, "a", 200, 5000);
    verdicts_keep(&verdicts, "b", 403, 5000);
    CHECK_INT(verdicts_find(&verdicts, "a", 5000 + VERDICT_MS - 1), 200);
    CHECK_INT(verdicts_find(&verdicts, "b", 5000 + VERDICT_MS - 1), 403);
    CHECK_INT(verdicts_find(&verdicts, "a", 5000 + VERDICT_MS), 0);
    /* A right that was taken away, and given again. */
    verdicts_keep(&verdicts, "a", 403, 70000);
    CHECK_INT(verdicts_find(&verdicts, "a", 70001), 403);
    verdicts_keep(&verdicts, "a", 200, 140000);
    CHECK_INT(verdicts_find(&verdicts, "a", 140001), 200);
}

/* An hour of made-up tokens, as many as are asked about, from many addresses; a reader each 30 s.
 */
static void strangers_displace_no_reader(void) {
    struct verdicts verdicts = {.reviews = 0};
    int asked = 0, reader_asked = 0;
    verdicts_keep(&verdicts, "reader", 200, 1000);
    for (int64_t now_ms = 1000; now_ms < 3600000; now_ms += 50) {
        char token[30];
        struct preauth_source source = stranger((int)(now_ms / 50 % 200));
        snprintf(token, sizeof token, "made-up-%lld", (long long)now_ms);
        if (verdicts_take_review(&verdicts, token, &source, now_ms)) {
            verdicts_keep(&verdicts, token, 401, now_ms);
            asked++;
        }
        if (now_ms % 30000 == 0 && verdicts_find(&verdicts, "reader", now_ms) != 200) {
            CHECK(verdicts_take_review(&verdicts, "reader", &reader, now_ms));
            verdicts_keep(&verdicts, "reader", 200, now_ms);
            reader_asked++;
        }
        CHECK(now_ms % 30000 != 0 || verdicts_find(&verdicts, "reader", now_ms) == 200);
    }
    CHECK(asked > 1000 && asked <= 3600 * VERDICT_REVIEWS_PER_S);
    CHECK(reader_asked <= 3600000 / VERDICT_MS); /* only when its verdict has ended */
}

/* One address gets two a second, so that a new reader beside it is asked about. */
static void one_address_leaves_room(void) {
    struct verdicts verdicts = {.reviews = 0};
    struct preauth_source source = stranger(1);
    int asked = 0;
    for (int i = 0; i < 100; i++) {
        char token[30];
        snprintf(token, sizeof token, "made-up-%d", i);
        asked += verdicts_take_review(&verdicts, token, &source, 2000 + i);
    }
    CHECK_INT(asked, VERDICT_REVIEWS_PER_SOURCE);
    CHECK(verdicts_take_review(&verdicts, "new reader", &reader, 2101));
    for (int i = 2; i < 100; i++) {
        struct preauth_source other = stranger(i);
        asked += verdicts_take_review(&verdicts, "made-up", &other, 2102);
    }
    CHECK_INT(asked, VERDICT_REVIEWS_PER_S - 1);
    CHECK(verdicts_take_review(&verdicts, "made-up", &source, 3000));
}

int main(void) {
    TEST(verdicts_end);
    TEST(strangers_displace_no_reader);
    TEST(one_address_leaves_room);
    return TEST_END();
}
