// SPDX-License-Identifier: Apache-2.0
#include "lib/child.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { CANNOT_RUN = 127 /* as shells exit when a command cannot be run */ };

void child_begin(void) {
    sigset_t none;
    sigemptyset(&none);
    for (int number = 1; number < NSIG; number++) {
        signal(number, SIG_DFL);
    }
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
}

bool child_dies_with(pid_t parent) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) {
        return false;
    }
    if (getppid() != parent) {
        _exit(CANNOT_RUN); /* it ended before the line above */
    }
    return true;
}

void child_fail(int pipe_fd) {
    int why = errno;
    ssize_t ignored = write(pipe_fd, &why, sizeof why);
    (void)ignored;
    _exit(CANNOT_RUN);
}
