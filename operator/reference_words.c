// SPDX-License-Identifier: Apache-2.0
#include "operator/reference_words.h"

#include "lib/buffer.h"
#include "operator/schema.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES_MAX = 1 << 16 };

/* The lists and texts of a definition are far below the limit. */
static void put(struct buffer *text, const char *added) {
    struct error err;
    if (buffer_append(text, added, strlen(added), &err) < 0) {
        abort();
    }
}

static void put_number(struct buffer *text, const char *before, const json_t *number,
                       const char *after) {
    if (number) {
        AUTO(text_freep)
        char *digits = json_is_real(number) ? x_printf("%.15g", json_real_value(number))
                                            : tree_canonical(number);
        put(text, before);
        put(text, digits);
        put(text, after);
    }
}

static void put_bounds(struct buffer *text, const json_t *schema) {
    const json_t *min = json_object_get(schema, "minimum");
    const json_t *max = json_object_get(schema, "maximum");
    if (min && max) {
        put_number(text, ", ", min, "");
        put_number(text, " to ", max, "");
    } else {
        put_number(text, ", at least ", min, "");
        put_number(text, ", at most ", max, "");
    }
    if (min && schema_is_decimal(schema)) { /* the length of its text does not matter */
        return;
    }
    put_number(text, ", at most ", json_object_get(schema, "maxLength"), " characters");
    if (!schema_is_decimal(schema)) {
        put_number(text, ", at most ", json_object_get(schema, "maxItems"), " entries");
        put_number(text, ", at most ", json_object_get(schema, "maxProperties"), " entries");
    }
}

static const char *type_name(const json_t *schema) {
    static const struct {
        const char *type, *told;
    } names[] = {
        {"object", "fields"},        {"array", "list"},    {"string", "string"},
        {"integer", "whole number"}, {"number", "number"}, {"boolean", "true or false"},
    };
    if (tree_bool(schema, "x-kubernetes-int-or-string", false)) {
        return "whole number or string";
    }
    if (schema_is_decimal(schema)) {
        return json_object_get(schema, "minimum") ? "number" : "number or string";
    }
    if (json_object_get(schema, "additionalProperties")) {
        return "names with values";
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcmp(names[i].type, tree_text(schema, "type", "")) == 0) {
            return names[i].told;
        }
    }
    return "anything";
}

char *reference_takes(const json_t *schema, const char *quote) {
    const json_t *options = json_object_get(schema, "enum");
    struct buffer text;
    buffer_init(&text, TEXT_BYTES_MAX);
    if (!options) {
        put(&text, type_name(schema));
        put_bounds(&text, schema);
        return buffer_take(&text, NULL);
    }
    for (size_t i = 0; i < json_array_size(options); i++) {
        put(&text, i ? ", " : "");
        put(&text, quote);
        put(&text, json_string_value(json_array_get(options, i)) ?: "?");
        put(&text, quote);
    }
    return buffer_take(&text, NULL);
}

bool reference_requires(const json_t *parent, const char *key) {
    const json_t *list = json_object_get(parent, "required");
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (strcmp(json_string_value(json_array_get(list, i)), key) == 0) {
            return true;
        }
    }
    return false;
}

const char reference_paths[] =
    "A path is VOLUME/path/in/it (VOLUME is in volumes), az://ACCOUNT/CONTAINER/path (ACCOUNT is "
    "in stores), s3://BUCKET/path or gs://BUCKET/path (BUCKET is in buckets).";

char *reference_path_forms(const json_t *schema) {
    const char *pattern = tree_text(schema, "pattern", "");
    return strstr(pattern, "|az://")
               ? x_printf(
                     "%s%s", reference_paths,
                     strstr(pattern, "after[.]")
                         ? " It may begin with $(after.NAME.output) or $(after.NAME.model), of "
                           "a job in spec.after."
                         : "")
               : NULL;
}

char *reference_paragraph(const char *words, const char *indent) {
    struct buffer text;
    buffer_init(&text, TEXT_BYTES_MAX);
    size_t column = 0;
    while (*words) {
        size_t length = strcspn(words, " ");
        bool is_wide = column > 0 && column + 1 + length > REFERENCE_COLUMNS;
        put(&text, is_wide ? "\n" : "");
        put(&text, column == 0 || is_wide ? indent : " ");
        column = column == 0 || is_wide ? strlen(indent) + length : column + 1 + length;
        AUTO(text_freep) char *word = x_strndup(words, length);
        put(&text, word);
        words += length;
        words += strspn(words, " ");
    }
    put(&text, "\n");
    return buffer_take(&text, NULL);
}
