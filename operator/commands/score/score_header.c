// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/score/score_header.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES_MAX = 1 << 20 };

/* The next field of a line, unquoted in place; *at: after it, NULL at the line's end. NULL: a quote
 * is open at the line's end, so the header goes on in the next line. */
static char *next_field(char **at, char separator) {
    char *field = *at, *to = field, *from = field;
    bool is_quoted = separator == ',' && *from == '"', is_inside = is_quoted;
    from += is_quoted;
    for (; *from && (is_inside || *from != separator); from++) {
        bool is_quote = is_quoted && *from == '"';
        if (is_quote && is_inside && from[1] == '"') {
            from++;
        } else if (is_quote) {
            is_inside = !is_inside;
            continue;
        }
        *to++ = *from;
    }
    *at = *from ? from + 1 : NULL;
    *to = 0;
    return is_inside ? NULL : field;
}

static json_t *split(char *line, char separator) {
    json_t *names = json_array();
    for (char *at = line; at;) {
        const char *field = next_field(&at, separator);
        if (!field || json_array_append_new(names, json_string(field)) < 0) {
            json_decref(names);
            return NULL;
        }
    }
    return names;
}

static json_t *keys_of(const char *line) {
    AUTO(tree_freep) json_t *row = NULL;
    struct error ignored = {0};
    const char *key;
    json_t *value;
    if (tree_parse(line, strlen(line), LINE_BYTES_MAX, &row, &ignored) < 0 ||
        !json_is_object(row)) {
        return NULL;
    }
    json_t *names = json_array();
    json_object_foreach(row, key, value) {
        json_array_append_new(names, json_string(key));
    }
    return names;
}

int score_header_read(const char *path, const char *format, json_t **ret_names, struct error *err) {
    static const char mark[] = "\xef\xbb\xbf";
    bool is_json = strcmp(format, "JSONLines") == 0, is_tsv = strcmp(format, "TSV") == 0;
    *ret_names = NULL;
    if (strcmp(format, "Parquet") == 0) {
        return 0;
    }
    AUTO(text_freep) char *line = x_calloc(1, LINE_BYTES_MAX);
    FILE *file = fopen(path, "re");
    if (!file) {
        return error_from_errno(err, errno, "cannot read %s", path);
    }
    char *got = fgets(line, LINE_BYTES_MAX, file);
    bool is_cut = got && !strchr(line, '\n') && fgetc(file) != EOF;
    fclose(file);
    if (!got || is_cut) {
        return 0;
    }
    line[strcspn(line, "\r\n")] = 0;
    char *text = text_starts(line, mark) ? line + strlen(mark) : line;
    *ret_names = is_json ? keys_of(text) : split(text, is_tsv ? '\t' : ',');
    return 0;
}
