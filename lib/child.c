// SPDX-License-Identifier: Apache-2.0
#include "lib/child.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

void child_begin(void) {
    sigset_t none;
    sigemptyset(&none);
    for (int number = 1; number < NSIG; number++) {
        signal(number, SIG_DFL);
    }
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
}
