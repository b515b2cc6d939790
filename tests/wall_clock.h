/* wall_clock.h: this program's wall clock is wall_clock_off_s ahead of the machine's, in place of
 * the C library's clock_gettime. Include it in one file of a program. */
#pragma once

#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t wall_clock_off_s;

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, id, now);
    now->tv_sec += result == 0 && id == CLOCK_REALTIME ? wall_clock_off_s : 0;
    return result;
}
