// SPDX-License-Identifier: Apache-2.0
/* Programs' output, kept in pieces: nothing is lost or doubled on a store that fails by a seed,
 * from several threads; the cost of a slow store; the end. SOAK_SEED, SOAK_ROUNDS. */
#include "agent/store/spool.h"

#include "lib/file.h"
#include "lib/time/clock.h"
#include "tests/broken_store.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static char *volume;
static int folders;

static struct store *open_folder(int number) {
    struct error err = {0};
    struct store *store = NULL;
    AUTO(text_freep) char *path = x_printf("logtest/%d", number);
    CHECK_OK(store_open(path, /* writes= */ true, &store, &err), &err);
    return store;
}

static struct spool *open_log(struct store *store, int slots, int every_ms) {
    struct error err = {0};
    struct spool *log = NULL;
    static const char *const names[] = {"log/w-0-0-16", "log/w-0-1-16", "log/w-0-2-16"};
    struct spool_options options = {
        .store = store, .names = names, .count = slots, .every_ms = every_ms};
    CHECK((size_t)slots <= ARRAY_LEN(names));
    CHECK_OK(spool_new(&options, &log, &err), &err);
    return log;
}

/* All pieces of a slot, one after the other; *ret_count of them. */
static void read_slot(struct store *store, int slot, struct buffer *text, int *ret_count) {
    for (*ret_count = 0;; ++*ret_count) {
        struct error err = {0};
        AUTO(buffer_release) struct buffer piece;
        buffer_init(&piece, SPOOL_SIZE);
        AUTO(text_freep) char *name = x_printf("log/w-0-%d-16/%04d", slot, *ret_count);
        if (store_get(store, name, &piece, NULL, &err) < 0) {
            CHECK_INT(err.kind, ERROR_NOT_FOUND);
            return;
        }
        CHECK(piece.size > 0 && piece.data[piece.size - 1] == '\n');
        CHECK_OK(buffer_append(text, piece.data, piece.size, &err), &err);
    }
}

/* Lines other than our own marks; each must begin with the next number. */
static int64_t count_lines(const char *text) {
    int64_t next = 0;
    for (const char *at = text; at && *at; at = strchr(at, '\n') + 1) {
        if (strncmp(at, "-- ", 3) == 0) {
            continue;
        }
        if (strtoll(at, NULL, 10) != next++) {
            return -1;
        }
    }
    return next;
}

/* ---- threads and a broken store ------------------------------------------------------------- */

struct talker {
    struct spool *log;
    pthread_t thread;
    int slot;
    int64_t lines;
    uint64_t seed;
};

static void *talk(void *context) {
    struct talker *talker = context;
    static const char filler[3000] = {[0 ... 2998] = 'x'};
    for (int64_t i = 0; i < talker->lines; i++) {
        char line[4096];
        if (i % 10 == 0) {
            char mark[SPOOL_MARK];
            snprintf(mark, sizeof mark, "mini-batch %lld, try 1", (long long)i / 10);
            spool_begin(talker->log, talker->slot, mark);
        }
        int more = (int)(test_random(&talker->seed) % 3000);
        int size = snprintf(line, sizeof line, "%lld %.*s", (long long)i, more, filler);
        spool_add(talker->log, talker->slot, line, (size_t)size);
        if (i % 200 == 0) {
            poll(NULL, 0, 1);
        }
    }
    return NULL;
}

static void nothing_is_lost_or_twice(void) {
    uint64_t first = test_seed(1);
    int64_t rounds = MAX(test_rounds(60) / 10, 1);
    for (int64_t round = 0; round < rounds && !test_failures; round++) {
        enum { SLOTS = 3 };
        int folder = folders++;
        struct broken_options broken = {.seed = first + (uint64_t)round, .percent = 10};
        struct store *store = broken_store(open_folder(folder), &broken);
        struct spool *log = open_log(store, SLOTS, 30);
        struct talker talkers[SLOTS];
        for (int i = 0; i < SLOTS; i++) {
            talkers[i] =
                (struct talker){.log = log, .slot = i, .seed = broken.seed * 3 + (unsigned)i};
            talkers[i].lines = 1 + (int64_t)(test_random(&talkers[i].seed) % 1200);
            CHECK_INT(pthread_create(&talkers[i].thread, NULL, talk, &talkers[i]), 0);
        }
        for (int i = 0; i < SLOTS; i++) {
            pthread_join(talkers[i].thread, NULL);
        }
        /* At the end it gives up at the first failure; before that it retries. */
        AUTO(store_freep) struct store *sound = open_folder(folder);
        int64_t lost = spool_lost(log), until_ms = clock_monotonic_ms() + 60000;
        bool is_all = false;
        while (!is_all && clock_monotonic_ms() < until_ms) {
            is_all = true;
            for (int i = 0; i < SLOTS; i++) {
                int pieces = 0;
                AUTO(buffer_release) struct buffer text;
                buffer_init(&text, 64 << 20);
                read_slot(sound, i, &text, &pieces);
                is_all = is_all && count_lines(text.data) == talkers[i].lines;
            }
            poll(NULL, 0, 20);
        }
        CHECK(is_all);
        CHECK_INT(lost, 0);
        CHECK_INT(spool_free(log, 60000), 0);
        if (test_failures) {
            printf("# SOAK_SEED=%llu\n", (unsigned long long)broken.seed);
        }
        store_free(store);
    }
}

/* ---- marks, pieces, ends -------------------------------------------------------------------- */

static void what_it_is_of_is_said_before_its_first_line(void) {
    int pieces = 0;
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, 1 << 20);
    AUTO(store_freep) struct store *store = open_folder(folders++);
    struct spool *log = open_log(store, 1, 600000);
    spool_begin(log, 0, "mini-batch 7, try 1"); /* writes nothing */
    spool_begin(log, 0, "mini-batch 8, try 2");
    spool_add(log, 0, "one", 3);
    spool_add(log, 0, "two \xFF\0 bytes", 11);
    CHECK_INT(spool_free(log, 60000), 0); /* long before it is due */
    read_slot(store, 0, &text, &pieces);
    CHECK_INT(pieces, 1);
    CHECK(text_starts(text.data, "-- 20"));
    CHECK(strstr(text.data, "Z mini-batch 8, try 2\none\ntwo \xFF") != NULL);
    CHECK_INT(text.size, strlen("-- 2026-11-21T14:00:00Z mini-batch 8, try 2\n") + 4 + 12);
}

static void a_process_that_follows_goes_on_behind(void) {
    int pieces = 0;
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, 1 << 20);
    AUTO(store_freep) struct store *store = open_folder(folders++);
    for (int life = 0; life < 3; life++) {
        struct spool *log = open_log(store, 1, 600000);
        char line[16];
        snprintf(line, sizeof line, "%d", life);
        spool_add(log, 0, line, strlen(line));
        CHECK_INT(spool_free(log, 60000), 0);
    }
    read_slot(store, 0, &text, &pieces);
    CHECK_INT(pieces, 3);
    CHECK_STR(text.data, "0\n1\n2\n");
}

static void a_store_that_is_dead_costs_lines_alone(void) {
    struct broken_options broken = {.seed = 1, .dies_after = 1};
    AUTO(store_freep) struct store *store = broken_store(open_folder(folders++), &broken);
    struct spool *log = open_log(store, 1, 20);
    static const char line[1000] = {[0 ... 999] = 'x'};
    int64_t from_ms = clock_monotonic_ms();
    for (int i = 0; i < 5000; i++) { /* 5 MB: only 2 MiB fit */
        spool_add(log, 0, line, sizeof line);
    }
    CHECK(clock_monotonic_ms() - from_ms < 30000);
    CHECK(spool_lost(log) > 1000);
    CHECK_INT(spool_free(log, 60000), 0);
    CHECK(clock_monotonic_ms() - from_ms < 50000);
}

static void without_a_store_there_are_tails(void) {
    char tail[SPOOL_TAIL + 1];
    struct spool *log = open_log(NULL, 2, 0);
    spool_tail(log, 1, tail);
    CHECK_STR(tail, "");
    for (int i = 0; i < 1000; i++) {
        char line[32];
        snprintf(line, sizeof line, "line %d", i);
        spool_add(log, 1, line, strlen(line));
        spool_tail(log, 1, tail);
        AUTO(text_freep) char *end = x_printf("%s\n", line);
        CHECK(strlen(tail) <= SPOOL_TAIL && text_ends(tail, end) && text_starts(tail, "line "));
    }
    CHECK(strlen(tail) > SPOOL_TAIL - 20);
    static const char line[5000] = {[0 ... 4999] = 'x'};
    spool_add(log, 1, line, sizeof line);
    spool_tail(log, 1, tail);
    CHECK_INT(strlen(tail), SPOOL_TAIL);
    spool_add(log, 1, "short", 5);
    spool_tail(log, 1, tail);
    CHECK_STR(tail, "short\n");
    spool_begin(log, 1, "another"); /* the following output belongs to another try */
    spool_tail(log, 1, tail);
    CHECK_STR(tail, "");
    CHECK_INT(spool_free(log, 0), 0);
    CHECK_INT(spool_free(NULL, 0), 0);
}

int main(void) {
    volume =
        x_printf("%s/windlass-log-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(volume)) {
        return 1;
    }
    setenv("logtest", volume, 1);
    TEST(what_it_is_of_is_said_before_its_first_line);
    TEST(a_process_that_follows_goes_on_behind);
    TEST(without_a_store_there_are_tails);
    TEST(a_store_that_is_dead_costs_lines_alone);
    TEST(nothing_is_lost_or_twice);
    struct error err = {0};
    CHECK_OK(file_remove_tree(volume, &err), &err);
    free(volume);
    return TEST_END();
}
