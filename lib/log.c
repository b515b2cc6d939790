// SPDX-License-Identifier: Apache-2.0
#include "lib/log.h"

#include "lib/text/log_json.h"
#include "lib/text/utf8.h"
#include "lib/time/clock.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const level_names[] = {"error", "warning", "info", "debug"};
static_assert(ARRAY_LEN(level_names) == LOG_LEVEL_COUNT, "one name per level");
static enum log_level most_detailed = LOG_INFO;
static enum log_format chosen = LOG_TEXT;
static const char *job; /* NULL: none */

void log_set_level(enum log_level level) {
    most_detailed = level;
}

void log_set_format(enum log_format format) {
    chosen = format;
}

void log_set_job(const char *name) {
    job = name;
}

static void put_line(const char *line, size_t size) {
    ssize_t ignored = write(STDERR_FILENO, line, size);
    (void)ignored; /* a failed write to stderr cannot be reported */
}

/* ---- JSON ---- */

enum { MESSAGE_SHARE = 2048, VALUE_SHARE = 1024 };

static void begin_json(struct log_json *json, char line[static LOG_LINE_MAX], enum log_level level,
                       const char *message) {
    int64_t now_ms = clock_wall_ms();
    char when[21], time[32];
    clock_format(now_ms, when);
    snprintf(time, sizeof time, "%.19s.%03dZ", when, (int)(now_ms % 1000));
    log_json_begin(json, line, LOG_LINE_MAX);
    log_json_add(json, "time", time, 0);
    log_json_add(json, "level", level_names[level], 0);
    log_json_add(json, "message", message, MESSAGE_SHARE);
    if (job) {
        log_json_add(json, "name", job, VALUE_SHARE);
    }
}

/* "BatchScore default/one" */
static void add_job(struct log_json *json, const char *value) {
    const char *space = strchr(value, ' '), *slash = strchr(value, '/');
    if (!space || !slash || slash < space || job) {
        return;
    }
    char namespace[256];
    snprintf(namespace, sizeof namespace, "%.*s", (int)(slash - space - 1), space + 1);
    log_json_add(json, "namespace", namespace, VALUE_SHARE);
    log_json_add(json, "name", slash + 1, VALUE_SHARE);
}

static void put_json_pairs(enum log_level level, const char *message, va_list pairs) {
    char line[LOG_LINE_MAX];
    struct log_json json;
    begin_json(&json, line, level, message);
    for (const char *name; (name = va_arg(pairs, const char *));) {
        const char *value = va_arg(pairs, const char *);
        if (value && strcmp(name, "job") == 0) {
            add_job(&json, value);
        }
        if (value) {
            log_json_add(&json, name, value, VALUE_SHARE);
        }
    }
    put_line(line, log_json_end(&json));
}

/* ---- text ---- */

static void put_text(enum log_level level, const char *message) {
    static const char *const names[] = {"ERROR", "WARNING", "INFO", "DEBUG"};
    static_assert(ARRAY_LEN(names) == LOG_LEVEL_COUNT, "one name per level");
    char when[21], line[2048];
    clock_format(clock_wall_ms(), when);
    int start = snprintf(line, sizeof line, "%s %s ", when, names[level]);
    int length = snprintf(line + start, sizeof line - (size_t)start - 1, "%s", message);
    size_t end = MIN((size_t)start + (size_t)MAX(length, 0), sizeof line - 2);
    line[end] = 0;
    utf8_make_line(line + start); /* names of files and words of programs are in it */
    line[end] = '\n';
    put_line(line, end + 1);
}

void log_event(enum log_level level, const char *format, ...) {
    if (level > most_detailed) {
        return;
    }
    char message[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (chosen == LOG_JSON) {
        char line[LOG_LINE_MAX];
        struct log_json json;
        begin_json(&json, line, level, message);
        put_line(line, log_json_end(&json));
    } else {
        put_text(level, message);
    }
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
    va_list arguments;
    if (chosen == LOG_JSON) {
        va_start(arguments, message);
        put_json_pairs(level, message, arguments);
        va_end(arguments);
        return;
    }
    char line[1800];
    size_t used = MIN(strlen(message), sizeof line / 2);
    memcpy(line, message, used);
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
    put_text(level, line);
}

bool log_level_parse(const char *text, enum log_level *ret_level) {
    for (size_t i = 0; i < ARRAY_LEN(level_names); i++) {
        if (strcmp(text, level_names[i]) == 0) {
            *ret_level = (enum log_level)i;
            return true;
        }
    }
    return false;
}

bool log_format_parse(const char *text, enum log_format *ret_format) {
    static const char *const names[] = {"text", "json"};
    static_assert(ARRAY_LEN(names) == LOG_FORMAT_COUNT, "one name per format");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcmp(text, names[i]) == 0) {
            *ret_format = (enum log_format)i;
            return true;
        }
    }
    return false;
}
