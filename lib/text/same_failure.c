// SPDX-License-Identifier: Apache-2.0
#include "lib/text/same_failure.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum {
    SIGNALS = 64,
    LINE_MAX_BYTES = 1024, /* of a line that is compared */
    ID_BYTES = 8,          /* shorter ones are words, or numbers that count */
};

bool same_failure_is_signal(int code) {
    return code > 128 && code <= 128 + SIGNALS;
}

/* ---- the last line -------------------------------------------------------------------------- */

static bool has_word(const char *line, size_t size) {
    bool has = false;
    for (size_t i = 0; i < size; i++) {
        has |= isalnum((unsigned char)line[i]) || (unsigned char)line[i] >= 0x80;
    }
    return has;
}

/* The bytes before the next newline or " | ". */
static size_t line_size(const char *at) {
    const char *bar = strstr(at, " | ");
    size_t size = strcspn(at, "\n");
    return bar ? MIN(size, (size_t)(bar - at)) : size;
}

const char *same_failure_line(const char *output, size_t *ret_size) {
    const char *last = output;
    *ret_size = 0;
    for (const char *at = output; *at;) {
        size_t size = line_size(at);
        if (has_word(at, size)) {
            last = at;
            *ret_size = size;
        }
        at += size;
        at += *at == '\n' ? 1 : *at ? 3 : 0;
    }
    return last;
}

/* ---- what differs between two runs ---------------------------------------------------------- */

static bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

static size_t digits(const char *at) {
    return strspn(at, "0123456789");
}

/* The bytes of a text of this form, in which 9 is any digit; 0: it is not one, or a digit follows.
 */
static size_t form_size(const char *at, const char *form) {
    size_t size = strlen(form);
    for (size_t i = 0; i < size; i++) {
        bool fits = form[i] == '9' ? is_digit(at[i]) : at[i] == form[i];
        if (!fits) {
            return 0;
        }
    }
    return is_digit(at[size]) ? 0 : size;
}

/* "10:55:56", "10:55:56.123", "10:55:56,123" */
static size_t clock_size(const char *at) {
    size_t size = form_size(at, "99:99:99") + form_size(at, "9:99:99");
    size_t more = size && (at[size] == '.' || at[size] == ',') ? digits(at + size + 1) : 0;
    return size + (more ? more + 1 : 0);
}

/* "2026-11-29", "2026/11/29", "2026-11-29T10:55:56" */
static size_t date_size(const char *at) {
    size_t size = form_size(at, "9999-99-99") + form_size(at, "9999/99/99");
    size_t clock = size && at[size] == 'T' ? clock_size(at + size + 1) : 0;
    return size + (clock ? clock + 1 : 0);
}

/* "10.0.0.3", "10.0.0.3:45678" */
static size_t address_size(const char *at) {
    size_t size = 0;
    for (int i = 0; i < 4; i++) {
        size_t part = digits(at + size);
        if (part < 1 || part > 3 || (i < 3 && at[size + part] != '.')) {
            return 0;
        }
        size += part + (i < 3);
    }
    size_t port = at[size] == ':' ? digits(at + size + 1) : 0;
    return size + (port ? port + 1 : 0);
}

/* "0x7f00a4", "e3b0c442", "8f14e45f-ceea-467f-a2c7-1b0d2f3c4e5a": hexadecimal, not a word and not a
 * number */
static size_t id_size(const char *at) {
    static const char hexadecimal[] = "0123456789abcdefABCDEF";
    size_t pointer = at[0] == '0' && at[1] == 'x' ? strspn(at + 2, hexadecimal) : 0;
    if (pointer) {
        return pointer + 2;
    }
    size_t size = 0, numbers = 0, letters = 0;
    for (; at[size] && (strchr(hexadecimal, at[size]) || at[size] == '-'); size++) {
        numbers += is_digit(at[size]);
        letters += isalpha((unsigned char)at[size]) != 0;
    }
    bool ends = !isalnum((unsigned char)at[size]) && at[size] != '_';
    return ends && size >= ID_BYTES && numbers && letters ? size : 0;
}

/* "0.35 s", "12ms", "3 seconds" */
static size_t duration_size(const char *at) {
    static const char *const units[] = {"ns",   "us",     "ms",      "s",      "sec",
                                        "secs", "second", "seconds", "minute", "minutes"};
    size_t size = digits(at);
    if (!size) {
        return 0;
    }
    size += at[size] == '.' && digits(at + size + 1) ? 1 + digits(at + size + 1) : 0;
    size += at[size] == ' ';
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        size_t unit = strlen(units[i]);
        if (strncmp(at + size, units[i], unit) == 0 && !isalnum((unsigned char)at[size + unit])) {
            return size + unit;
        }
    }
    return 0;
}

/* "pid 4711", "PID: 4711", "pid=4711" */
static size_t process_size(const char *at) {
    size_t size = strncasecmp(at, "pid", 3) == 0 ? 3 + strspn(at + 3, " :=") : 0;
    size_t number = size > 3 ? digits(at + size) : 0;
    return number ? size + number : 0;
}

/* The bytes of what is different in each run, at the beginning of a word; 0: it is the same. */
static size_t varying(const char *at) {
    size_t (*const sizes[])(const char *) = {date_size, clock_size,    address_size,
                                             id_size,   duration_size, process_size};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        size_t size = sizes[i](at);
        if (size) {
            return size;
        }
    }
    return 0;
}

/* Copies the last line with "#" in the place of what is different in each run. */
static void make_comparable(const char *output, char text[static LINE_MAX_BYTES]) {
    char line[LINE_MAX_BYTES];
    size_t size = 0, used = 0;
    const char *last = same_failure_line(output, &size);
    size = MIN(size, sizeof line - 1);
    memcpy(line, last, size);
    line[size] = 0;
    for (size_t at = 0; at < size;) {
        bool begins = at == 0 || !isalnum((unsigned char)line[at - 1]);
        size_t other = begins ? varying(line + at) : 0;
        text[used++] = other ? '#' : line[at];
        at += other ? other : 1;
    }
    text[used] = 0;
}

/* ---- what another start may find otherwise -------------------------------------------------- */

/* Parts of the output; small and capital letters count as equal. */
static const char *const telling[] = {
    "signal", "sigkill", "sigterm", "sigsegv", "killed", "terminated", /* of what it has started */
    "connection", "timed out", "timeout", "temporar", "unreachable", "unavailable",
    "name resolution", "not known", "try again", "broken pipe", "too many requests",
    "stale file handle", "not connected", "input/output error", "no route to host", "host is down",
    "network error", "socket closed", "address already in use", "resource busy", "bad gateway",
    "gateway time",
    /* the closing words of torchrun, Python's subprocess, mpirun */
    "to enable traceback see", "returned non-zero exit status", "exit code:", "exit codes:"};

static bool may_pass(const char *output) {
    size_t at = 0;
    while (at < ARRAY_LEN(telling) && !strcasestr(output, telling[at])) {
        at++;
    }
    return at < ARRAY_LEN(telling);
}

bool same_failure_is(int code, const char *before, const char *output) {
    char first[LINE_MAX_BYTES], second[LINE_MAX_BYTES];
    if (code <= 0 || code == SAME_FAILURE_LATER || same_failure_is_signal(code) ||
        may_pass(output)) {
        return false;
    }
    make_comparable(before, first);
    make_comparable(output, second);
    return strcmp(first, second) == 0;
}
