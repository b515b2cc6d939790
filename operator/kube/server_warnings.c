// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/server_warnings.h"

#include "lib/log.h"

#include <string.h>

void server_warnings_log(void *context UNUSED, const char *text) {
    log_pairs(LOG_WARNING, "the API server warns", "text", text, NULL);
}

/* FNV-1a. */
static uint64_t hash(const char *text) {
    uint64_t value = 14695981039346656037ULL;
    for (; *text; text++) {
        value = (value ^ (unsigned char)*text) * 1099511628211ULL;
    }
    return value;
}

/* False: it is known, or the list is full. */
static bool is_new(struct server_warnings *warnings, const char *text) {
    uint64_t value = hash(text);
    for (size_t i = 0; i < warnings->count; i++) {
        if (warnings->seen[i] == value) {
            return false;
        }
    }
    if (warnings->count == SERVER_WARNINGS_MAX) {
        return false;
    }
    warnings->seen[warnings->count++] = value;
    return true;
}

/* Reads what is between the quotes, with \" and \\; NULL: no closing quote. */
static const char *read_quoted(const char *at, char text[static SERVER_WARNING_TEXT_MAX + 1]) {
    size_t used = 0;
    for (; *at && *at != '"'; at++) {
        at += *at == '\\' && at[1];
        if (used < SERVER_WARNING_TEXT_MAX) {
            text[used++] = *at;
        }
    }
    if (used == SERVER_WARNING_TEXT_MAX) { /* perhaps in the middle of a character */
        while (used > 0 && ((unsigned char)text[used - 1] & 0xc0) == 0x80) {
            used--;
        }
        used -= used > 0 && (unsigned char)text[used - 1] >= 0xc0;
    }
    text[used] = 0;
    return *at ? at + 1 : NULL;
}

void server_warnings_read(struct server_warnings *warnings, const char *value,
                          server_warnings_each *each, void *context) {
    for (int i = 0; value && i < SERVER_WARNINGS_OF_ANSWER; i++) {
        char text[SERVER_WARNING_TEXT_MAX + 1];
        value += strspn(value, " \t,");
        size_t code = strspn(value, "0123456789");
        const char *quote = code == 3 && value[3] == ' ' ? strchr(value, '"') : NULL;
        if (!quote || !(value = read_quoted(quote + 1, text))) {
            return;
        }
        if (*text && is_new(warnings, text)) {
            each(context, text);
        }
        const char *date = value + strspn(value, " ");
        if (*date == '"') { /* the optional date */
            value = read_quoted(date + 1, text);
        }
    }
}
