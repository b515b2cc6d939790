// SPDX-License-Identifier: Apache-2.0
#include "lib/log.h"

#include "lib/time/clock.h"

#include <stdio.h>
#include <string.h>
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
    (void)ignored; /* a failed write to stderr cannot be reported */
}

/* Appends one byte of a value; the array's last byte stays free for the NUL. */
static void put(char *line, size_t room, size_t *used, char byte) {
    if (*used + 1 < room) {
        line[(*used)++] = byte;
    }
}

static bool is_plain(const char *value) {
    return *value && strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   "_-+./:@,[]") == strlen(value);
}

static void put_value(char *line, size_t room, size_t *used, const char *value) {
    if (is_plain(value)) {
        for (; *value; value++) {
            put(line, room, used, *value);
        }
        return;
    }
    put(line, room, used, '"');
    for (; *value && *used + 4 < room; value++) {
        if (*value == '"' || *value == '\\') {
            put(line, room, used, '\\');
        }
        put(line, room, used, *value);
    }
    put(line, room, used, '"');
}

void log_pairs(enum log_level level, const char *message, ...) {
    if (level > most_detailed) {
        return;
    }
    char line[1800];
    size_t used = MIN(strlen(message), sizeof line / 2);
    memcpy(line, message, used);
    va_list arguments;
    va_start(arguments, message);
    for (const char *name; (name = va_arg(arguments, const char *));) {
        const char *value = va_arg(arguments, const char *);
        if (value && used + strlen(name) + 8 < sizeof line) {
            used += (size_t)snprintf(line + used, sizeof line - used, " %s=", name);
            put_value(line, sizeof line, &used, value);
        }
    }
    va_end(arguments);
    line[used] = 0;
    log_event(level, "%s", line);
}

bool log_level_parse(const char *text, enum log_level *ret_level) {
    static const char *const names[] = {"error", "warning", "info", "debug"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcmp(text, names[i]) == 0) {
            *ret_level = (enum log_level)i;
            return true;
        }
    }
    return false;
}
