// SPDX-License-Identifier: Apache-2.0
#include "lib/text/csv.h"

#include "lib/text/utf8.h"

#include <string.h>

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

int csv_text(struct buffer *line, const char *text, size_t size, struct error *err) {
    bool is_quoted = memchr(text, '"', size) || memchr(text, ',', size);
    bool is_formula = size > 0 && memchr("=+-@\t", *text, 5);
    if ((is_quoted && buffer_append(line, "\"", 1, err) < 0) ||
        (is_formula && buffer_append(line, "'", 1, err) < 0)) {
        return -1;
    }
    for (size_t at = 0; at < size;) {
        size_t length = utf8_character(text + at, size - at);
        bool is_control = length == 1 && (unsigned char)text[at] < ' ';
        const char *bytes = length == 0 ? replacement : is_control ? " " : text + at;
        size_t bytes_size = length == 0 ? strlen(replacement) : length;
        if ((text[at] == '"' && buffer_append(line, "\"", 1, err) < 0) ||
            buffer_append(line, bytes, bytes_size, err) < 0) {
            return -1;
        }
        at += length ? length : 1;
    }
    return is_quoted ? buffer_append(line, "\"", 1, err) : 0;
}
