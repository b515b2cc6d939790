// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/ui/ui_log_lines.h"

#include "operator/commands/ui/ui_text.h"

#include <string.h>

json_t *ui_log_lines(const char *pod, const char *bytes, size_t size, bool is_cut) {
    json_t *lines = json_array();
    const char *end = bytes + size, *first = is_cut ? memchr(bytes, '\n', size) : NULL;
    for (const char *at = first ? first + 1 : bytes; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        AUTO(text_freep) char *line = ui_text_of(at, length, UI_LOG_LINE_MAX);
        json_array_append_new(lines, json_string(line));
        at = stop ? stop + 1 : end;
    }
    return json_pack("{s:o, s:o}", "pod", ui_text(pod, UI_TEXT_NAME), "lines", lines);
}
