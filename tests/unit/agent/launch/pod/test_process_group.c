// SPDX-License-Identifier: Apache-2.0
/* A program that prints much between two polls is not blocked. */
#include "agent/launch/pod/process_group.h"
#include "lib/time/clock.h"
#include "tests/test.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

extern char **environ;

enum { MEGABYTE = 1 << 20 };

static bool may_have_so_much(void) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) {
        return false;
    }
    bool may = fcntl(ends[0], F_SETPIPE_SZ, MEGABYTE) >= MEGABYTE;
    close(ends[0]);
    close(ends[1]);
    return may;
}

/* No poll while it writes. */
static void a_megabyte_waits_for_the_next_look(void) {
    static const char *const words[] = {
        "bash", "-c", "head -c 900000 /dev/zero | tr '\\0' '\\n' >&2; : >\"$0\"", NULL, NULL};
    char path[] = "/tmp/windlass-group-XXXXXX";
    struct error err = {0};
    struct process_group_end end;
    if (!may_have_so_much()) {
        printf("skip: pipes of 1 MiB are not allowed here\n");
        return;
    }
    int fd = mkstemp(path);
    CHECK(fd >= 0 && unlink(path) == 0);
    const char *all[] = {words[0], words[1], words[2], path, NULL};
    int kept = dup(2), none = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct process_group *group = process_group_new();
    CHECK_OK(process_group_start(group, 1, all, environ, &err), &err);
    int64_t until_ms = clock_monotonic_ms() + 20000;
    while (access(path, F_OK) != 0 && clock_monotonic_ms() < until_ms) {
        poll(NULL, 0, 5);
    }
    CHECK_INT(access(path, F_OK), 0);
    dup2(none, 2);
    while (!process_group_poll(group, clock_monotonic_ms(), &end)) {
        poll(NULL, 0, 5);
    }
    dup2(kept, 2);
    CHECK_INT(end.code, 0);
    CHECK_INT(process_group_lines(group), 900000);
    process_group_free(group);
    unlink(path);
    close(fd);
    close(kept);
    close(none);
}

int main(void) {
    TEST(a_megabyte_waits_for_the_next_look);
    return TEST_END();
}
