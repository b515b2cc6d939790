// SPDX-License-Identifier: Apache-2.0
#include "agent/train/dataset/strays.h"

#include "lib/text/file_type.h"
#include "lib/text/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENDING_MAX = 16 };

void strays_add(struct strays *left, const char *reason, const char *name) {
    struct strays_reason *found = NULL;
    left->count++;
    for (size_t i = 0; !found && i < left->reason_count; i++) {
        found = strcmp(left->reasons[i].reason, reason) == 0 ? &left->reasons[i] : NULL;
    }
    if (!found && left->reason_count == STRAYS_REASONS) {
        found = &left->reasons[STRAYS_REASONS - 1];
    }
    if (!found) {
        found = &left->reasons[left->reason_count++];
        bool is_last = left->reason_count == STRAYS_REASONS;
        snprintf(found->reason, sizeof found->reason, "%s", is_last ? "for other reasons" : reason);
        snprintf(found->first, sizeof found->first, "%s", name);
    }
    found->count++;
}

void strays_add_left_out(void *strays, const char *name) {
    strays_add(strays, "hidden by a dot, or not a file", name);
}

void strays_add_ending(struct strays *left, const char *name) {
    const char *slash = strrchr(name, '/'), *file = slash ? slash + 1 : name;
    const char *dot = strrchr(file, '.');
    char ending[ENDING_MAX + 1], reason[STRAYS_REASON_MAX];
    snprintf(ending, sizeof ending, "%s", dot ? dot : "");
    for (char *at = ending; *at; at++) {
        *at = (char)(*at >= 'A' && *at <= 'Z' ? *at + 32 : *at);
    }
    const struct file_type *type = dot ? file_type_of_ending(dot + 1) : NULL;
    bool is_picture = type && (type->use == FILE_TYPE_PICTURE || type->use == FILE_TYPE_SHOWN);
    if (*ending) {
        snprintf(reason, sizeof reason, "%s%s", ending,
                 is_picture ? ", which is not read: make them JPEG or PNG" : "");
    } else {
        snprintf(reason, sizeof reason, "without an ending");
    }
    strays_add(left, reason, name);
}

char *strays_text(const struct strays *left) {
    if (left->count == 0) {
        return NULL;
    }
    char *text = x_printf("%lld file%s left out:", (long long)left->count,
                          left->count == 1 ? " is" : "s are");
    for (size_t i = 0; i < left->reason_count; i++) {
        const struct strays_reason *reason = &left->reasons[i];
        char *longer = x_printf("%s%s %lld %s (such as %s)", text, i ? ";" : "",
                                (long long)reason->count, reason->reason, reason->first);
        free(text);
        text = longer;
    }
    utf8_make_line(text); /* names are others' bytes, and may be cut within a character */
    return text;
}
