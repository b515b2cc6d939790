// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parts.h"

#include "tests/unit/agent/data/fixtures.h"

#define RUN "0123456789abcdef"

static struct parts claim(const char *output, const char *uid) {
    struct error err = {0};
    struct parts parts = {.lock_fd = -1};
    AUTO(text_freep) char *path = x_printf("out/%s", output);
    CHECK_OK(parts_claim(path, RUN, uid, &parts, &err), &err);
    return parts;
}

/* As on a file system that cannot lock a folder. */
static void unlock(struct parts *parts) {
    fd_closep(&parts->lock_fd);
    parts->lock_fd = -1;
}

static void put_part(const struct parts *parts) {
    struct error err = {0};
    AUTO(text_freep) char *path = file_join(parts->folder, "part-00000000.nut");
    CHECK_OK(file_write(path, "x", 1, &err), &err);
}

static bool has_part(const struct parts *parts) {
    AUTO(text_freep) char *path = file_join(parts->folder, "part-00000000.nut");
    return access(path, F_OK) == 0;
}

static int check(const struct parts *parts) {
    struct error err = {0};
    return parts_check(parts->folder, &err) == 0 ? ERROR_NONE : (int)err.kind;
}

static void test_who_is_alone_goes_on_and_leaves_nothing(void) {
    struct error err = {0};
    struct parts parts = claim("alone", "u-1");
    AUTO(text_freep) char *run = x_printf(RUN "/%lld", (long long)parts.number);
    AUTO(text_freep) char *folder = NULL;
    CHECK(parts.lock_fd >= 0);
    CHECK_STR(parts.run, run);
    CHECK_OK(parts_folder("out/alone", parts.run, &folder, &err), &err);
    CHECK_STR(folder, parts.folder);
    put_part(&parts);
    CHECK_INT(check(&parts), ERROR_NONE);
    parts_remove(parts.folder);
    CHECK_INT(ask_number("ls -A '%s/alone' | wc -l", fixtures_out), 0);
    CHECK_INT(ask_number("ls -d '%s/alone' | wc -l", fixtures_out), 1);
    parts_release(&parts);
}

static void test_a_lock_keeps_another_job_out(void) {
    struct error err = {0};
    struct parts first = claim("locked", "u-1"), second = {.lock_fd = -1};
    CHECK_INT(parts_claim("out/locked", RUN, "u-2", &second, &err), -1);
    CHECK_INT(err.kind, ERROR_BUSY);
    CHECK(strstr(err.text, "another run of this job writes there"));
    CHECK_INT(check(&first), ERROR_NONE);
    parts_release(&first);
    second = claim("locked", "u-2"); /* as soon as it has ended, however */
    CHECK(second.lock_fd >= 0);
    parts_remove(second.folder);
    CHECK_INT(ask_number("ls -A '%s/locked' | wc -l", fixtures_out),
              0); /* the first's is gone, too */
    parts_release(&second);
}

static void test_the_newer_coordinator_of_a_job_takes_over(void) {
    struct parts first = claim("replaced", "u-1");
    put_part(&first);
    struct parts second = claim("replaced", "u-1"); /* although the first holds the lock */
    CHECK(second.number > first.number);
    CHECK(!has_part(&first)); /* nobody joins them any more */
    put_part(&second);
    CHECK_INT(check(&first), ERROR_GONE);
    CHECK_INT(check(&second), ERROR_NONE);
    parts_remove(first.folder); /* harmless */
    CHECK(has_part(&second));
    CHECK_INT(check(&second), ERROR_NONE);
    parts_remove(second.folder);
    CHECK_INT(check(&first), ERROR_GONE); /* the newer one has even ended */
    CHECK_INT(ask_number("ls -A '%s/replaced' | wc -l", fixtures_out), 0);
    parts_release(&first);
    parts_release(&second);
}

static void test_without_locks_the_later_job_goes_on(void) {
    struct parts first = claim("unlocked", "u-1");
    unlock(&first);
    struct parts second = claim("unlocked", "u-2");
    unlock(&second);
    CHECK_INT(check(&first), ERROR_BUSY);
    CHECK_INT(check(&second), ERROR_NONE);
    parts_remove(second.folder);
    struct error err = {0};
    AUTO(text_freep) char *again = NULL; /* a worker of the first that is late */
    CHECK_OK(parts_folder("out/unlocked", first.run, &again, &err), &err);
    CHECK_INT(check(&first), ERROR_GONE);
    struct parts third = claim("unlocked", "u-3");
    CHECK_INT(check(&first), ERROR_GONE);
    parts_remove(third.folder);
    CHECK_INT(ask_number("ls -A '%s/unlocked' | wc -l", fixtures_out), 0);
    parts_release(&first);
    parts_release(&second);
    parts_release(&third);
}

/* The earlier coordinator's clock was an hour ahead. */
static void test_numbers_grow_whatever_the_clocks_say(void) {
    struct error err = {0};
    AUTO(text_freep)
    char *ahead = x_printf("%s/clocks/.windlass/" RUN "/9000000000000", fixtures_out);
    CHECK_OK(file_make_folders(ahead, &err), &err);
    struct parts parts = claim("clocks", "u-1");
    CHECK_INT(parts.number, 9000000000001);
    CHECK_INT(check(&parts), ERROR_NONE);
    parts_release(&parts);
}

int main(void) {
    fixtures_start("parts");
    TEST(test_who_is_alone_goes_on_and_leaves_nothing);
    TEST(test_a_lock_keeps_another_job_out);
    TEST(test_the_newer_coordinator_of_a_job_takes_over);
    TEST(test_without_locks_the_later_job_goes_on);
    TEST(test_numbers_grow_whatever_the_clocks_say);
    return TEST_END();
}
