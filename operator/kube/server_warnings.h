/* server_warnings.h: what the API server says in `Warning:` headers: that a version is deprecated,
 * that a field is not known. The same text comes with every request, and counts once. */
#pragma once

#include "lib/base.h"

enum {
    SERVER_WARNINGS_MAX = 256, /* texts that are remembered; further ones are dropped */
    SERVER_WARNING_TEXT_MAX = 512,
    SERVER_WARNINGS_OF_ANSWER = 32, /* looked at in one answer */
};

struct server_warnings {
    uint64_t seen[SERVER_WARNINGS_MAX]; /* hashes of the texts */
    size_t count;
};

/* text: valid for the call; at most SERVER_WARNING_TEXT_MAX bytes. */
typedef void server_warnings_each(void *context, const char *text);
/* Logs the text as a warning. context is not used. */
void server_warnings_log(void *context, const char *text);

/* Reads the value of one header, `299 - "text", 299 - "text"` (RFC 7234, 5.5), and passes on
 * the texts that are new. What is not of that form is ignored from there on. */
void server_warnings_read(struct server_warnings *warnings, const char *value,
                          server_warnings_each *each, void *context);
