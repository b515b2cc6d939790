// SPDX-License-Identifier: Apache-2.0
/* Files get their final names only after their commit, and only once the commit is of the
 * coordinator that granted the lease. */
#include "agent/score/worker/publisher.h"

#include "agent/data/parts/pack.h"
#include "lib/time/clock.h"
#include "tests/unit/agent/data/tries.h"
#include "tests/wall_clock.h"

#include <dlfcn.h>
#include <poll.h>
#include <stdatomic.h>
#include <unistd.h>

enum { A_WHILE_MS = 100 /* in which nothing may happen */, PATIENCE_MS = 60000 };

static struct store *output;
static atomic_int wakes;

static atomic_int fsync_ms; /* how long a sync takes */

/* In place of the C library's. */
__attribute__((visibility("default"))) int fsync(int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    poll(NULL, 0, fsync_ms);
    return real(fd);
}

static void on_wake(void *context UNUSED) {
    wakes++;
}

static bool is_there(const char *name) {
    struct error ignored = {0};
    struct store_info info;
    return store_stat(output, name, &info, &ignored) == 0;
}

/* Gives the publisher a pack with one file of that name. */
static void keep(struct publisher *publisher, int64_t epoch, int64_t lease, const char *name) {
    struct error err = {0};
    AUTO(text_freep) char *object = x_printf(".windlass/" RUN "/try/%d-%d", (int)epoch, (int)lease);
    struct staged_output *staged = staged_output_new(output, object, true);
    struct pack *pack = pack_new(staged);
    CHECK_OK(pack_add(pack, name, "{}\n", 3, &err), &err);
    CHECK_OK(pack_close(pack, &err), &err);
    pack_free(pack);
    CHECK_OK(staged_output_close(staged, &err), &err);
    publisher_keep(publisher, epoch, lease, staged);
}

static bool take(struct publisher *publisher, int64_t *ret_epoch, int64_t *ret_lease) {
    int64_t end_ms = clock_monotonic_ms() + PATIENCE_MS;
    while (clock_monotonic_ms() < end_ms) {
        if (publisher_take(publisher, ret_epoch, ret_lease)) {
            return true;
        }
        poll(NULL, 0, 5);
    }
    return false;
}

static void only_what_is_committed_is_published(void) {
    struct error err = {0};
    struct publisher *publisher = NULL;
    int64_t epoch = -1, lease = -1;
    CHECK_OK(publisher_new(output, on_wake, NULL, &publisher, &err), &err);
    keep(publisher, 3, 1, "one.json");
    keep(publisher, 3, 2, "two.json");
    keep(publisher, 4, 1, "other.json");
    publisher_publish(publisher, 5, 1);
    publisher_publish(publisher, 3, 9);
    poll(NULL, 0, A_WHILE_MS);
    CHECK_INT(wakes, 0);
    CHECK(!is_there("one.json") && !is_there("two.json") && !is_there("other.json"));
    publisher_publish(publisher, 4, 1);
    CHECK(take(publisher, &epoch, &lease));
    CHECK(epoch == 4 && lease == 1 && wakes == 1);
    CHECK(!is_there("one.json") && !is_there("two.json") && is_there("other.json"));
    publisher_publish(publisher, 3, 2);
    CHECK(take(publisher, &epoch, &lease));
    CHECK(epoch == 3 && lease == 2 && wakes == 2);
    CHECK(!is_there("one.json") && is_there("two.json"));
    CHECK(publisher_free(publisher, PATIENCE_MS));
}

/* Without the connection the next coordinator publishes. */
static void what_is_forgotten_is_not_published(void) {
    struct error err = {0};
    struct publisher *publisher = NULL;
    int64_t epoch, lease;
    wakes = 0;
    CHECK_OK(publisher_new(output, on_wake, NULL, &publisher, &err), &err);
    keep(publisher, 3, 5, "five.json");
    publisher_forget(publisher);
    publisher_publish(publisher, 3, 5);
    poll(NULL, 0, A_WHILE_MS);
    CHECK(wakes == 0 && !is_there("five.json") && !publisher_take(publisher, &epoch, &lease));
    CHECK(publisher_free(publisher, PATIENCE_MS));
}

/* A worker that leaves waits for what is being published, by no wall clock. */
static void an_end_waits_its_time(void) {
    static const int64_t offs_s[] = {-3600, 3600};
    for (size_t i = 0; i < ARRAY_LEN(offs_s); i++) {
        struct error err = {0};
        struct publisher *publisher = NULL;
        AUTO(text_freep) char *name = x_printf("slow-%zu.json", i);
        CHECK_OK(publisher_new(output, on_wake, NULL, &publisher, &err), &err);
        keep(publisher, 3, 6 + (int64_t)i, name);
        fsync_ms = 3 * A_WHILE_MS;
        publisher_publish(publisher, 3, 6 + (int64_t)i);
        poll(NULL, 0, A_WHILE_MS);
        wall_clock_off_s = offs_s[i];
        CHECK(publisher_free(publisher, PATIENCE_MS));
        CHECK(is_there(name));
        wall_clock_off_s = fsync_ms = 0;
    }
}

int main(void) {
    fixtures_start("publisher");
    output = open_output("out/it");
    TEST(only_what_is_committed_is_published);
    TEST(what_is_forgotten_is_not_published);
    TEST(an_end_waits_its_time);
    store_free(output);
    return TEST_END();
}
