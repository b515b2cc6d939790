// SPDX-License-Identifier: Apache-2.0
#include "lib/text/log_json.h"

#include "lib/text/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { CLOSE_BYTES = 3 /* quote, brace, line break */, PIECE_MAX = 8 };

void log_json_begin(struct log_json *json, char *line, size_t room) {
    assert(room >= LOG_JSON_ROOM_MIN);
    *json = (struct log_json){.line = line, .room = room};
    line[json->used++] = '{';
}

/* What one character of a text becomes, in piece; returns its bytes. *ret_taken: bytes of the text
 * that it stands for. */
static size_t escape(const char *at, size_t left, char piece[static PIECE_MAX], size_t *ret_taken) {
    unsigned char byte = (unsigned char)*at;
    size_t taken = utf8_character(at, left);
    *ret_taken = MAX(taken, 1);
    if (!taken) {
        memcpy(piece, "\xef\xbf\xbd", 3); /* U+FFFD */
        return 3;
    }
    if (byte == '"' || byte == '\\') {
        piece[0] = '\\';
        piece[1] = *at;
        return 2;
    }
    unsigned code = utf8_code(at, taken);
    if (code < 0x20 || (code >= 0x7f && code < 0xa0) || utf8_is_deceptive(code)) {
        return (size_t)snprintf(piece, PIECE_MAX, "\\u%04x", code & 0xffff);
    }
    memcpy(piece, at, taken);
    return taken;
}

static void add_escaped(struct log_json *json, const char *text, size_t end) {
    size_t left = strlen(text), taken;
    char piece[PIECE_MAX];
    for (; left; text += taken, left -= taken) {
        size_t size = escape(text, left, piece, &taken);
        if (json->used + size + CLOSE_BYTES > end) {
            return;
        }
        memcpy(json->line + json->used, piece, size);
        json->used += size;
    }
}

void log_json_add(struct log_json *json, const char *name, const char *value, size_t share) {
    size_t needs = strlen(name) + strlen(",\"\":\"\"") + CLOSE_BYTES;
    if (json->used + needs > json->room) {
        return;
    }
    json->used += (size_t)snprintf(json->line + json->used, json->room - json->used, "%s\"%s\":\"",
                                   json->used > 1 ? "," : "", name);
    size_t end = share ? MIN(json->room, json->used + share + CLOSE_BYTES) : json->room;
    add_escaped(json, value, end);
    json->line[json->used++] = '"';
}

size_t log_json_end(struct log_json *json) {
    json->line[json->used++] = '}';
    json->line[json->used++] = '\n';
    return json->used;
}
