// SPDX-License-Identifier: Apache-2.0
/* A child between fork and exec: its signals and group, its end with the parent, its error. */
#include "lib/child.h"

#include "tests/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void on_signal(int number) {
    (void)number;
}

/* What the child sees after child_begin: 0 if all is as it should be. */
static int look(void) {
    struct sigaction action;
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    sigaction(SIGUSR1, NULL, &action);
    bool is_right = action.sa_handler == SIG_DFL && getpgrp() == getpid();
    sigaction(SIGPIPE, NULL, &action);
    return is_right && action.sa_handler == SIG_DFL && !sigismember(&blocked, SIGUSR2) ? 0 : 1;
}

static void test_a_child_has_no_signals_of_its_parent(void) {
    sigset_t two;
    int status = -1;
    signal(SIGUSR1, on_signal);
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&two);
    sigaddset(&two, SIGUSR2);
    sigprocmask(SIG_BLOCK, &two, NULL);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        child_begin();
        _exit(child_dies_with(parent) ? look() : 2);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
    sigprocmask(SIG_UNBLOCK, &two, NULL);
}

static void test_a_child_whose_parent_has_gone_exits(void) {
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(child_dies_with(getpid()) ? 1 : 2); /* not its parent's pid */
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 127);
}

static void test_the_error_arrives(void) {
    int ends[2], why = 0, status = -1;
    CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/none/such", "such", (char *)NULL);
        child_fail(ends[1]);
    }
    close(ends[1]);
    CHECK_INT(read(ends[0], &why, sizeof why), sizeof why);
    CHECK_INT(why, ENOENT);
    CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 127);
    close(ends[0]);
}

int main(void) {
    TEST(test_a_child_has_no_signals_of_its_parent);
    TEST(test_a_child_whose_parent_has_gone_exits);
    TEST(test_the_error_arrives);
    return TEST_END();
}
