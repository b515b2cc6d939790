// SPDX-License-Identifier: Apache-2.0
/* A program that prints much between two polls is not blocked; which lines are a sign of work. */
#include "agent/launch/pod/process_group.h"
#include "lib/file.h"
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
    int64_t until_ms = clock_monotonic_ms() + 60000;
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

/* Rulers are left out, of a bar the newest state counts, and what acts on a terminal is shown. */
static void the_last_line_is_fit_to_be_shown(void) {
    static const struct {
        const char *printed, *seen;
    } rows[] = {
        {"one\\ntwo\\n----\\n\\n", "two"},
        {"10%%\\r20%%\\r\\n", "20%"},
        {"a\\033[31mred\\a \\n", "ared\\x07"},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct process_group_end end;
        char line[PROCESS_GROUP_LINE_MAX];
        const char *words[] = {"printf", rows[i].printed, NULL};
        int kept = dup(1), none = open("/dev/null", O_WRONLY | O_CLOEXEC);
        struct process_group *group = process_group_new();
        fflush(stdout);
        dup2(none, 1);
        CHECK_OK(process_group_start(group, 1, words, environ, &err), &err);
        while (!process_group_poll(group, clock_monotonic_ms(), &end)) {
            poll(NULL, 0, 5);
        }
        fflush(stdout);
        dup2(kept, 1);
        process_group_last_line(group, line);
        CHECK_STR(line, rows[i].seen);
        process_group_free(group);
        close(kept);
        close(none);
    }
}

/* Help, and the 40 lines behind it, do not count as work, however slowly they come. */
static void words_about_a_wrong_command_line_do_not_count(void) {
    static const char script[] = "echo epoch 1; echo 'usage: a FILE'; echo more; : >$0/a;"
                                 "until [ -e $0/b ]; do sleep 0.01; done;"
                                 "echo 'a: error: unrecognized arguments: -x'; echo more; : >$0/c;"
                                 "until [ -e $0/d ]; do sleep 0.01; done; seq 39; echo epoch 2";
    static const int64_t times_ms[] = {1000, 10000, 200000};
    char folder[] = "/tmp/windlass-group-XXXXXX";
    struct error err = {0};
    struct process_group_end end;
    CHECK(mkdtemp(folder));
    const char *words[] = {"sh", "-c", script, folder, NULL};
    int kept[] = {dup(1), dup(2)}, none = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct process_group *group = process_group_new();
    CHECK_OK(process_group_start(group, 1, words, environ, &err), &err);
    fflush(stdout);
    dup2(none, 1);
    dup2(none, 2);
    bool has_ended = false;
    for (size_t i = 0; i < ARRAY_LEN(times_ms); i++) {
        AUTO(text_freep) char *said = x_printf("%s/%c", folder, (int)("ac"[i & 1]));
        AUTO(text_freep) char *go = x_printf("%s/%c", folder, (int)("bd"[i & 1]));
        for (int look = 0; !has_ended && look < 6000; look++) {
            bool is_said = i < 2 && access(said, F_OK) == 0;
            has_ended = process_group_poll(group, times_ms[i], &end);
            if (is_said) {
                break;
            }
            poll(NULL, 0, 10);
        }
        int fd = i < 2 ? open(go, O_CREAT | O_WRONLY | O_CLOEXEC, 0600) : -1;
        fd_closep(&fd);
    }
    dup2(kept[0], 1);
    dup2(kept[1], 2);
    CHECK(has_ended);
    CHECK_INT(process_group_lines(group), 2); /* the epochs */
    process_group_free(group);
    CHECK_OK(file_remove_tree(folder, &err), &err);
    close(kept[0]);
    close(kept[1]);
    close(none);
}

int main(void) {
    TEST(a_megabyte_waits_for_the_next_look);
    TEST(the_last_line_is_fit_to_be_shown);
    TEST(words_about_a_wrong_command_line_do_not_count);
    return TEST_END();
}
