// SPDX-License-Identifier: Apache-2.0
#include "operator/schema_patterns.h"

#include "operator/schema.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

struct schema_patterns {
    struct schema_patterns *next;
    char *text;
    regex_t regex;
};

/* A schema has a few dozen different ones. */
static const struct schema_patterns *with_text(const struct schema_patterns *patterns,
                                               const char *text) {
    while (patterns && strcmp(patterns->text, text) != 0) {
        patterns = patterns->next;
    }
    return patterns;
}

int schema_patterns_add(struct schema_patterns **patterns, const char *pattern) {
    if (with_text(*patterns, pattern)) {
        return 0;
    }
    struct schema_patterns *added = x_calloc(1, sizeof *added);
    if (regcomp(&added->regex, pattern, REG_EXTENDED | REG_NOSUB) != 0) {
        free(added);
        return -1;
    }
    added->text = x_strdup(pattern);
    added->next = *patterns;
    *patterns = added;
    return 0;
}

bool schema_patterns_fit(const struct schema_patterns *patterns, const char *pattern,
                         const char *text) {
    const struct schema_patterns *one = with_text(patterns, pattern);
    return !one || regexec(&one->regex, text, 0, NULL, 0) == 0;
}

void schema_patterns_free(struct schema_patterns *patterns) {
    while (patterns) {
        struct schema_patterns *next = patterns->next;
        regfree(&patterns->regex);
        free(patterns->text);
        free(patterns);
        patterns = next;
    }
}

bool schema_is_decimal(const json_t *schema) {
    return tree_bool(schema, "x-kubernetes-preserve-unknown-fields", false) &&
           !json_object_get(schema, "type") && json_object_get(schema, "pattern");
}
