// SPDX-License-Identifier: Apache-2.0
/* LD_PRELOAD: CLOCK_REALTIME is ahead by the number of seconds in the file $CLOCK_FILE, which may
 * change at any time: a stepped clock. All other clocks are the machine's; with $CLOCK_ALL set they
 * are ahead, too, as if time had passed. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, id, now);
    const char *path = getenv("CLOCK_FILE");
    bool is_ahead = id == CLOCK_REALTIME || getenv("CLOCK_ALL");
    int fd = is_ahead && path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        char text[32] = "";
        ssize_t size = read(fd, text, sizeof text - 1);
        now->tv_sec += size > 0 ? strtol(text, NULL, 10) : 0;
        close(fd);
    }
    return result;
}
