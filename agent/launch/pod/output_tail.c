// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/pod/output_tail.h"

#include "lib/text/usage_error.h"
#include "lib/text/utf8.h"

#include <string.h>

enum {
    LINES_IN_ONE = 5,
    HELP_BYTES = 100,
    LINE_BYTES = 300, /* maximum of a line if there are several, so that one long line does not
                         displace the others */
};

/* ---- one line ------------------------------------------------------------------------------- */

/* Empty lines and control characters are dropped. */
static bool is_kept(const struct output_tail *tail, char byte) {
    return (unsigned char)byte >= ' ' ||
           (byte == '\n' && tail->size && tail->text[tail->size - 1] != '\n');
}

void output_tail_add(struct output_tail *tail, const char *data, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (!is_kept(tail, data[i])) {
            continue;
        }
        if (tail->size == sizeof tail->text - 1) {
            memmove(tail->text, tail->text + tail->size - OUTPUT_TAIL_LINE_MAX,
                    OUTPUT_TAIL_LINE_MAX);
            tail->size = OUTPUT_TAIL_LINE_MAX;
            tail->is_cut = true;
        }
        tail->text[tail->size++] = data[i];
    }
    tail->text[tail->size] = 0;
}

/* The bytes of the character in the output: a newline becomes " | " if another line follows. */
static size_t width(const char *at) {
    return *at != '\n' ? 1 : at[1] ? 3 : 0;
}

/* The last line, if our trainer has written it: it says why the program ended, and needs no lines
 * before it. NULL: another program's. */
static const char *find_own_error(const struct output_tail *tail) {
    static const char own[] = "windlass-trainer train: ";
    const char *at = tail->text + tail->size - (tail->size > 0);
    while (at > tail->text && at[-1] != '\n') {
        at--;
    }
    bool is_line = at > tail->text || !tail->is_cut;
    return is_line && strncmp(at, own, sizeof own - 1) == 0 ? at : NULL;
}

/* The start of the shown text: the start of a line, with as many lines as fit. The end says why a
 * program failed, so if the last line alone is too long, its end is shown. */
static const char *first_shown(const struct output_tail *tail) {
    const char *at = tail->text + tail->size, *start = find_own_error(tail);
    size_t size = 0;
    if (start && strlen(start) < OUTPUT_TAIL_LINE_MAX) {
        return start;
    }
    start = NULL;
    for (int lines = 0; at > tail->text && lines < LINES_IN_ONE; at--) {
        size += width(at - 1);
        if (size >= OUTPUT_TAIL_LINE_MAX) {
            break;
        }
        bool is_line = at - 1 == tail->text ? !tail->is_cut : at[-2] == '\n';
        if (is_line) {
            start = at - 1;
            lines++;
        }
    }
    if (start) {
        return start;
    }
    while (((unsigned char)*at & 0xC0) == 0x80) { /* the rest of a truncated character */
        at++;
    }
    return at;
}

/* The first line of a program's help, if it is not shown; the end of a long help does not say what
 * it is. NULL: none. */
static const char *find_help(const struct output_tail *tail, const char *shown) {
    const char *at = tail->text, *newline;
    for (; at < shown; at = newline + 1) {
        if (usage_error_is_help(at)) {
            return at;
        }
        newline = strchr(at, '\n');
        if (!newline) {
            break;
        }
    }
    return NULL;
}

/* Copies the help's line, followed by " | ", and leaves out lines of the end for which there is no
 * room. Returns the bytes. */
static size_t put_help(const struct output_tail *tail, const char **shown,
                       char line[static OUTPUT_TAIL_LINE_MAX]) {
    const char *help = find_help(tail, *shown);
    size_t size = help ? MIN(strcspn(help, "\n"), (size_t)HELP_BYTES) : 0;
    const char *newline;
    if (!help) {
        return 0;
    }
    memcpy(line, help, size);
    memcpy(line + size, " | ", 3);
    size += 3;
    while (size + 3 * LINES_IN_ONE + strlen(*shown) >= OUTPUT_TAIL_LINE_MAX) {
        newline = strchr(*shown, '\n');
        if (!newline || !newline[1]) {
            return 0; /* the last line is long, and says more */
        }
        *shown = newline + 1;
    }
    return size;
}

void output_tail_line(const struct output_tail *tail, char line[static OUTPUT_TAIL_LINE_MAX]) {
    const char *shown = first_shown(tail);
    size_t size = put_help(tail, &shown, line);
    for (const char *at = shown; *at; at++) {
        if (width(at) == 3) {
            memcpy(line + size, " | ", 3);
        } else if (width(at)) {
            line[size] = *at;
        }
        size += width(at);
    }
    line[size] = 0;
    utf8_repair(line);
}

/* ---- several lines ----------------------------------------------------------------------------
 */

/* Converts the text to UTF-8 without control characters (also without C1). Returns the bytes
 * written. */
static size_t tidy(const char *text, size_t size, char *line, size_t room) {
    size_t used = 0;
    for (size_t at = 0; at < size;) {
        unsigned char byte = (unsigned char)text[at];
        size_t length = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
        length = MIN(length, size - at);
        bool is_sound = utf8_valid_size(text + at, length) == length;
        bool is_control = byte < ' ' || byte == 127 ||
                          (byte == 0xC2 && length == 2 && (unsigned char)text[at + 1] < 0xA0);
        size_t needs = is_sound && !is_control ? length : 1;
        if (used + needs > room) {
            break;
        }
        if (is_sound && !is_control) {
            memcpy(line + used, text + at, length);
        } else {
            line[used] = is_sound ? ' ' : '?';
        }
        used += needs;
        at += is_sound ? length : 1;
    }
    while (used > 0 && line[used - 1] == ' ') {
        used--;
    }
    return used;
}

void output_tail_text(const char *text, size_t size,
                      char ret_tail[static OUTPUT_TAIL_TEXT_BYTES + 1]) {
    size_t start = OUTPUT_TAIL_TEXT_BYTES; /* filled from its end */
    for (int lines = 0; size > 0 && lines < OUTPUT_TAIL_TEXT_LINES;) {
        const char *before = memrchr(text, '\n', size);
        const char *begin = before ? before + 1 : text;
        char line[LINE_BYTES];
        size_t length = tidy(begin, size - (size_t)(begin - text), line, sizeof line);
        size_t newline = lines > 0;
        if (length + newline > start) {
            break;
        }
        if (length > 0) {
            start -= newline;
            if (newline) {
                ret_tail[start] = '\n';
            }
            start -= length;
            memcpy(ret_tail + start, line, length);
            lines++;
        }
        size = before ? (size_t)(before - text) : 0;
    }
    memmove(ret_tail, ret_tail + start, OUTPUT_TAIL_TEXT_BYTES - start);
    ret_tail[OUTPUT_TAIL_TEXT_BYTES - start] = 0;
}
