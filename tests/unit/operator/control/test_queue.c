// SPDX-License-Identifier: Apache-2.0
#include "operator/control/queue.h"

#include "tests/test.h"

#include <stdlib.h>

static const char *take(struct queue *queue, int64_t now_ms) {
    static char text[64];
    AUTO(text_freep) char *key = queue_take(queue, now_ms);
    snprintf(text, sizeof text, "%s", key ? key : "none");
    return text;
}

static void each_key_once_at_its_earliest_time(void) {
    struct queue *queue = queue_new();
    CHECK_INT(queue_next_ms(queue), INT64_MAX);
    queue_add(queue, "a", 100);
    queue_add(queue, "b", 50);
    queue_add(queue, "a", 70);  /* earlier: moves */
    queue_add(queue, "b", 900); /* later: stays */
    CHECK_INT(queue_next_ms(queue), 50);
    CHECK_STR(take(queue, 49), "none");
    CHECK_STR(take(queue, 50), "b");
    CHECK_STR(take(queue, 69), "none");
    CHECK_STR(take(queue, 70), "a");
    CHECK_STR(take(queue, 1000000), "none");
    queue_add(queue, "a", 10); /* a key that was taken can come again */
    CHECK_STR(take(queue, 10), "a");
    queue_free(queue);
}

static void equal_times_come_in_order(void) {
    struct queue *queue = queue_new();
    queue_add(queue, "first", 5);
    queue_add(queue, "second", 5);
    queue_add(queue, "third", 5);
    queue_add(queue, "later", 6);
    CHECK_INT(queue_due(queue, 4), 0);
    CHECK_INT(queue_due(queue, 5), 3);
    CHECK_INT(queue_due(queue, 6), 4);
    CHECK_STR(take(queue, 5), "first");
    CHECK_STR(take(queue, 5), "second");
    CHECK_STR(take(queue, 5), "third");
    queue_free(queue);
}

static void failures_wait_longer_and_longer(void) {
    static const int64_t delays[] = {50,   100,   200,   400,   800,   1600, 3200,
                                     6400, 12800, 25600, 51200, 60000, 60000};
    struct queue *queue = queue_new();
    int64_t now_ms = 7;
    for (size_t i = 0; i < ARRAY_LEN(delays); i++) {
        CHECK_INT(queue_failures(queue, "a"), i);
        CHECK_INT(queue_add_failed(queue, "a", now_ms, QUEUE_JITTER_EVEN), delays[i]);
        CHECK_STR(take(queue, now_ms + delays[i] - 1), "none");
        now_ms += delays[i];
        CHECK_STR(take(queue, now_ms), "a");
    }
    for (int i = 0; i < 100; i++) {
        queue_add_failed(queue, "a", now_ms, QUEUE_JITTER_EVEN);
    }
    CHECK_INT(queue_next_ms(queue), now_ms + 60000);
    queue_forget(queue, "a");
    CHECK_INT(queue_failures(queue, "a"), 0);
    CHECK_INT(queue_add_failed(queue, "b", now_ms, 0), 25); /* jitter: a half to one and a half */
    CHECK_INT(queue_add_failed(queue, "b", now_ms, 1000), 150);
    CHECK_STR(take(queue, now_ms + 150), "b");
    CHECK_INT(queue_add_failed(queue, "a", now_ms, QUEUE_JITTER_EVEN), 50);
    queue_add(queue, "a", now_ms); /* an event makes it due at once, whatever failed */
    CHECK_STR(take(queue, now_ms), "a");
    queue_free(queue);
}

/* Against a plain table: a thousand keys, moved at random. */
static void many_keys_come_in_time_order(void) {
    enum { KEYS = 1000 };
    struct queue *queue = queue_new();
    int64_t due[KEYS];
    srand(1);
    for (int i = 0; i < KEYS; i++) {
        due[i] = INT64_MAX;
    }
    for (int i = 0; i < 5 * KEYS; i++) {
        int key = rand() % KEYS, at = rand() % 10000;
        char name[16];
        snprintf(name, sizeof name, "%d", key);
        queue_add(queue, name, at);
        due[key] = MIN(due[key], at);
    }
    int taken = 0, wanted = 0;
    for (int64_t now_ms = 0; now_ms <= 10000; now_ms++) {
        for (char *key; (key = queue_take(queue, now_ms)) != NULL; free(key), taken++) {
            CHECK_INT(due[strtol(key, NULL, 10)], now_ms);
        }
    }
    for (int i = 0; i < KEYS; i++) {
        wanted += due[i] != INT64_MAX;
    }
    CHECK_INT(taken, wanted);
    queue_free(queue);
}

int main(void) {
    TEST(each_key_once_at_its_earliest_time);
    TEST(equal_times_come_in_order);
    TEST(failures_wait_longer_and_longer);
    TEST(many_keys_come_in_time_order);
    return TEST_END();
}
