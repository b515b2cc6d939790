// SPDX-License-Identifier: Apache-2.0
#include "lib/time/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t read_ns(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t clock_monotonic_ns(void) {
    return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_monotonic_ms(void) {
    return read_ns(CLOCK_MONOTONIC) / 1000000;
}

int64_t clock_wall_ms(void) {
    return read_ns(CLOCK_REALTIME) / 1000000;
}

void clock_format(int64_t wall_ms, char text[static 21]) {
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    if (!strftime(text, 21, "%Y-%m-%dT%H:%M:%SZ", &parts)) {
        memcpy(text, "0000-00-00T00:00:00Z", 21);
    }
}

int64_t clock_parse(const char *text) {
    struct tm parts = {0};
    const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%SZ", &parts) : NULL;
    return end && !*end ? (int64_t)timegm(&parts) * 1000 : -1;
}
