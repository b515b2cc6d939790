// SPDX-License-Identifier: Apache-2.0
/* LD_PRELOAD: CLOCK_REALTIME is ahead by the number of seconds in the file $CLOCK_FILE, which may
 * change at any time: a stepped clock. All other clocks are the machine's; with $CLOCK_ALL set they
 * are ahead, too, as if time had passed. Each process appends "PROGRAM SECONDS" to the file
 * $CLOCK_SEEN (if set) when it gets a time that is ahead by other seconds than the last one. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void note(long ahead) {
    static _Atomic long last = LONG_MIN;
    const char *path = getenv("CLOCK_SEEN");
    int fd = path && atomic_exchange(&last, ahead) != ahead
                 ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666)
                 : -1;
    if (fd >= 0) {
        dprintf(fd, "%s %ld\n", program_invocation_short_name, ahead);
        close(fd);
    }
}

int clock_gettime(clockid_t id, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, id, now);
    const char *path = getenv("CLOCK_FILE");
    bool is_ahead = id == CLOCK_REALTIME || getenv("CLOCK_ALL");
    int fd = is_ahead && path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        char text[32] = "";
        ssize_t size = read(fd, text, sizeof text - 1);
        long ahead = size > 0 ? strtol(text, NULL, 10) : 0;
        now->tv_sec += ahead;
        close(fd);
        note(ahead);
    }
    return result;
}
