// SPDX-License-Identifier: Apache-2.0
#include "agent/data/sql/connection_string.h"

#include "lib/secret.h"
#include "lib/text/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    SHORT_BYTES = 4, /* shorter values are hidden only if their keyword says that they are secret:
                        "1", "no" */
    PART_BYTES = 3,  /* a message may end with so much of a secret by chance */
};

static const char *const plain[] = {"driver", "dsn",      "server", "servername", "host",   "port",
                                    "uid",    "database", "user",   "username",   "sslmode"};
static const char *const telling[] = {"pwd", "pass", "secret", "token", "key"};

struct span {
    const char *at;
    size_t size;
};

static struct span trim(const char *start, const char *end) {
    while (start < end && (*start == ' ' || *start == '\t' || *start == '\n' || *start == '\r')) {
        start++;
    }
    while (end > start &&
           (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\n' || end[-1] == '\r')) {
        end--;
    }
    return (struct span){start, (size_t)(end - start)};
}

static bool is_plain(struct span name) {
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        if (name.size == strlen(plain[i]) && strncasecmp(name.at, plain[i], name.size) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_telling(struct span name) {
    for (size_t i = 0; i < ARRAY_LEN(telling); i++) {
        size_t size = strlen(telling[i]);
        for (size_t at = 0; at + size <= name.size; at++) {
            if (strncasecmp(name.at + at, telling[i], size) == 0) {
                return true;
            }
        }
    }
    return false;
}

static void add(struct connection_string *string, struct span name, struct span value) {
    if (value.size == 0 || is_plain(name) || (value.size < SHORT_BYTES && !is_telling(name))) {
        return;
    }
    string->secrets = x_realloc_array(string->secrets, string->count + 1, sizeof *string->secrets);
    string->secrets[string->count++] = x_strndup(value.at, value.size);
}

/* Adds the value in braces, as it is written and as it is meant: }} is a brace. Returns what is
 * behind it; NULL: it has no end. */
static const char *add_braced(struct connection_string *string, struct span name,
                              const char *value) {
    const char *at = value + 1;
    AUTO(secret_forget) char *meant = x_malloc(strlen(value) + 1);
    size_t size = 0;
    for (;; at++) {
        if (!*at) {
            meant[size] = 0;
            return NULL;
        }
        if (*at == '}' && at[1] != '}') {
            break;
        }
        at += *at == '}';
        meant[size++] = *at;
    }
    meant[size] = 0;
    add(string, name, (struct span){value + 1, (size_t)(at - value) - 1});
    if (memchr(value + 1, '}', (size_t)(at - value) - 1)) {
        add(string, name, (struct span){meant, size});
    }
    return at + 1;
}

int connection_string_read(const char *text, struct connection_string *ret_string,
                           struct error *err) {
    *ret_string = (struct connection_string){0};
    if (utf8_valid_size(text, strlen(text)) < strlen(text)) {
        return error_set(err, ERROR_INVALID, "the connection string is not UTF-8");
    }
    for (const char *at = text; *at; at += *at == ';') {
        const char *start = at;
        at += strcspn(at, "=;");
        struct span name = trim(start, at);
        if (*at != '=') { /* perhaps of a value that needs braces: "Pwd=a;b" */
            add(ret_string, (struct span){"", 0}, name);
            continue;
        }
        const char *value = at + 1 + strspn(at + 1, " \t\r\n");
        if (*value != '{') {
            at = value + strcspn(value, ";");
            add(ret_string, name, trim(value, at));
            continue;
        }
        at = add_braced(ret_string, name, value);
        if (!at) {
            return error_set(err, ERROR_INVALID, "the connection string has a { without its }");
        }
        at += strspn(at, " \t\r\n");
        if (*at && *at != ';') {
            return error_set(err, ERROR_INVALID,
                             "the connection string has a } that is not followed by a ;: within "
                             "braces write }} for it");
        }
    }
    return 0;
}

void connection_string_release(struct connection_string *string) {
    for (size_t i = 0; i < string->count; i++) {
        secret_forget(&string->secrets[i]);
    }
    free(string->secrets);
    *string = (struct connection_string){0};
}

/* Marks what is to be hidden: secrets may overlap. */
static void mark(const char *secret, const char *message, size_t size, bool is_cut, bool *hidden) {
    size_t length = strlen(secret), least = is_cut ? 1 : PART_BYTES;
    for (const char *at = message; (at = strstr(at, secret)); at++) {
        memset(hidden + (at - message), true, length);
    }
    for (size_t part = MIN(length, size); part >= least; part--) {
        if (memcmp(message + size - part, secret, part) == 0) {
            memset(hidden + size - part, true, part);
            break;
        }
    }
}

void connection_string_hide(const struct connection_string *string, char *message, bool is_cut) {
    size_t size = strlen(message);
    bool *hidden = x_calloc(size + 1, sizeof *hidden);
    for (size_t i = 0; i < string->count; i++) {
        mark(string->secrets[i], message, size, is_cut, hidden);
    }
    for (size_t i = 0; i < size; i++) {
        message[i] = hidden[i] ? '*' : message[i];
    }
    free(hidden);
}
