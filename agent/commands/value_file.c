// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/value_file.h"

#include "lib/base.h"

#include <string.h>

char *value_file_name(const char *name) {
    char *text = x_printf("%s.pb", name);
    for (char *at = text; *at; at++) {
        bool fine = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                    (*at >= '0' && *at <= '9') || strchr("-_.", *at);
        *at = fine && !(at == text && *at == '.') ? *at : '_';
    }
    return text;
}
