// SPDX-License-Identifier: Apache-2.0
#include "lib/log.h"

#include "lib/clock.h"

#include <stdio.h>
#include <unistd.h>

static enum log_level most_detailed = LOG_INFO;

void log_set_level(enum log_level level) {
    most_detailed = level;
}

void log_event(enum log_level level, const char *format, ...) {
    static const char *const names[] = {"ERROR", "WARNING", "INFO", "DEBUG"};
    if (level > most_detailed) {
        return;
    }
    char when[21], line[2048];
    clock_format(clock_wall_ms(), when);
    int start = snprintf(line, sizeof line, "%s %s ", when, names[level]);
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line + start, sizeof line - (size_t)start - 1, format, arguments);
    va_end(arguments);
    size_t end = MIN((size_t)start + (size_t)MAX(length, 0), sizeof line - 2);
    for (size_t i = (size_t)start; i < end; i++) {
        if (line[i] == '\n' || line[i] == '\r') {
            line[i] = ' ';
        }
    }
    line[end] = '\n';
    ssize_t ignored = write(STDERR_FILENO, line, end + 1);
    (void)ignored; /* nowhere to report that stderr is gone */
}
