// SPDX-License-Identifier: Apache-2.0
#include "agent/store/path_lock.h"

#include "tests/unit/agent/data/fixtures.h"

#include <sys/wait.h>

static char *lock(const char *holder, int *ret_fd) {
    struct error err = {0};
    *ret_fd = -1;
    return path_lock("out/run", holder, ret_fd, &err) < 0 ? x_strdup(error_kind_name(err.kind))
           : *ret_fd < 0                                  ? x_strdup("not locked")
                                                          : x_strdup("locked");
}

#define CHECK_LOCK(holder, fd, wanted)                                                             \
    do {                                                                                           \
        AUTO(text_freep) char *said_ = lock(holder, fd);                                           \
        CHECK_STR(said_, wanted);                                                                  \
    } while (0)

static void test_another_is_kept_out_until_we_end(void) {
    int first = -1, second = -1;
    CHECK_LOCK("uid-1", &first, "locked");
    CHECK_LOCK("uid-2", &second, error_kind_name(ERROR_BUSY));
    CHECK_LOCK("uid", &second, error_kind_name(ERROR_BUSY)); /* a part of a name does not match */
    CHECK_LOCK("uid-1", &second, "not locked"); /* a newer coordinator of the same job gets it */
    fd_closep(&first);
    CHECK_LOCK("uid-2", &first, "locked");
    CHECK_LOCK("uid-1", &second, error_kind_name(ERROR_BUSY));
    fd_closep(&first);
}

static void test_a_death_unlocks(void) {
    int fd = -1;
    pid_t child = fork();
    if (child == 0) {
        AUTO(text_freep) char *said = lock("uid-3", &fd);
        _exit(strcmp(said, "locked") != 0);
    }
    int status = -1;
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
    CHECK_LOCK("uid-4", &fd, "locked");
    fd_closep(&fd);
}

int main(void) {
    fixtures_start("path-lock");
    TEST(test_another_is_kept_out_until_we_end);
    TEST(test_a_death_unlocks);
    return TEST_END();
}
