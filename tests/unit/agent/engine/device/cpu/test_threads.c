// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/threads.h"

#include "tests/test.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { ITEMS = 10007 };

static void mark(void *context, int64_t first, int64_t last) {
    int *marks = context;
    for (int64_t i = first; i < last; i++) {
        marks[i]++;
    }
}

static void test_every_item_is_worked_on_once(void) {
    struct error err = {0};
    int *marks = x_calloc(ITEMS, sizeof *marks);
    for (int count = 1; count <= 5; count++) {
        struct threads *threads = NULL;
        CHECK_OK(threads_new(count, &threads, &err), &err);
        CHECK_INT(threads_count(threads), count);
        for (int round = 0; round < 200; round++) {
            memset(marks, 0, ITEMS * sizeof *marks);
            threads_run(threads, ITEMS, 1 + round % 7, mark, marks);
            int wrong = 0;
            for (int i = 0; i < ITEMS; i++) {
                wrong += marks[i] != 1;
            }
            CHECK_INT(wrong, 0);
        }
        threads_run(threads, 0, 1, mark, marks);
        threads_free(threads);
    }
    free(marks);
}

struct each {
    atomic_int calls[5], running, most;
};

static void count_call(void *context, int thread) {
    struct each *each = context;
    atomic_fetch_add(&each->calls[thread], 1);
    int running = atomic_fetch_add(&each->running, 1) + 1;
    int most = atomic_load(&each->most);
    while (running > most && !atomic_compare_exchange_weak(&each->most, &most, running)) {
    }
    if (thread == 0) { /* time to join, for some */
        for (int i = 0; i < 2000; i++) {
            atomic_load(&each->running);
        }
    }
    atomic_fetch_sub(&each->running, 1);
}

/* The caller always takes part, other threads once or not at all, and none works afterwards. */
static void test_each_thread_works_once_or_comes_too_late(void) {
    struct error err = {0};
    for (int count = 1; count <= 5; count++) {
        struct threads *threads = NULL;
        CHECK_OK(threads_new(count, &threads, &err), &err);
        int wrong = 0;
        for (int round = 0; round < 2000; round++) {
            struct each each = {.running = 0};
            threads_each(threads, count_call, &each);
            wrong += atomic_load(&each.running) != 0 || atomic_load(&each.calls[0]) != 1;
            for (int i = 1; i < 5; i++) {
                wrong += atomic_load(&each.calls[i]) > (i < count);
            }
            wrong += atomic_load(&each.most) > count;
        }
        CHECK_INT(wrong, 0);
        threads_free(threads);
    }
}

static atomic_bool joined;

static void await_another(void *context UNUSED, int thread) {
    if (thread > 0) {
        atomic_store(&joined, true);
    }
    while (!atomic_load(&joined)) {
        sched_yield();
    }
}

/* Sleeping threads are woken: this one waits for another, after pauses longer than their spin. */
static void test_sleepers_are_woken(void) {
    struct error err = {0};
    struct threads *threads = NULL;
    CHECK_OK(threads_new(3, &threads, &err), &err);
    for (int round = 0; round < 20; round++) {
        atomic_store(&joined, false);
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        threads_each(threads, await_another, NULL);
        CHECK(atomic_load(&joined));
    }
    threads_free(threads);
}

static void test_count_comes_from_the_environment(void) {
    struct error err = {0};
    struct threads *threads = NULL;
    setenv("WINDLASS_THREADS", "3", 1);
    CHECK_OK(threads_new(0, &threads, &err), &err);
    CHECK_INT(threads_count(threads), 3);
    threads_free(threads);
    setenv("WINDLASS_THREADS", "many", 1);
    CHECK_INT(threads_new(0, &threads, &err), -1);
    CHECK_STR(err.text, "WINDLASS_THREADS is \"many\", a number from 1 to 256 is expected");
    unsetenv("WINDLASS_THREADS");
}

int main(void) {
    TEST(test_every_item_is_worked_on_once);
    TEST(test_each_thread_works_once_or_comes_too_late);
    TEST(test_sleepers_are_woken);
    TEST(test_count_comes_from_the_environment);
    return TEST_END();
}
