// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/stop_signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

int stop_signals_open(bool hangup, int *ret_fd, struct error *err) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    if (hangup) {
        sigaddset(&set, SIGHUP);
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
    *ret_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return *ret_fd < 0 ? error_from_errno(err, errno, "cannot watch signals") : 0;
}
