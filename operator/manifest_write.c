// SPDX-License-Identifier: Apache-2.0
#include "operator/manifest_write.h"

#include "lib/buffer.h"
#include "lib/number/decimal.h"
#include "operator/manifest.h"
#include "operator/scalar.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INDENT = 2, FLOW_BYTES_MAX = 90 };

struct writing {
    struct buffer text;
    const json_t *remarks;
};

/* The number of the character at `at`, one of three bytes at most, if YAML allows it neither in its
 * strings nor in comments, while JSON does (YAML 1.2, 5.1), or takes it for the end of a line
 * (1.1): DEL, U+0080 to U+009F, U+2028, U+2029, U+FEFF, U+FFFE, U+FFFF. 0: it is none of them. */
static unsigned find_unprintable(const char *at, size_t *ret_size) {
    const unsigned char *bytes = (const unsigned char *)at;
    *ret_size = bytes[0] == 0x7f ? 1 : bytes[0] == 0xc2 ? 2 : 3;
    if (bytes[0] == 0x7f) {
        return 0x7f;
    }
    if (bytes[0] == 0xc2) {
        return bytes[1] < 0xa0 ? bytes[1] : 0;
    }
    if (bytes[0] == 0xe2) {
        bool is_break = bytes[1] == 0x80 && (bytes[2] == 0xa8 || bytes[2] == 0xa9);
        return is_break ? 0x2000u | (bytes[2] - 0x80u) : 0;
    }
    bool is_mark = bytes[0] == 0xef && bytes[1] == 0xbb && bytes[2] == 0xbf;
    bool is_none = bytes[0] == 0xef && bytes[1] == 0xbf && bytes[2] >= 0xbe;
    return is_mark ? 0xfeff : is_none ? 0xff00u | (bytes[2] + 0x40u) : 0;
}

/* These characters as \uXXXX, which YAML's double quotes read as JSON's do; a text that has one is
 * in quotes, or in a comment. */
static void add(struct writing *writing, const char *text) {
    struct error ignored = {0};
    while (*text) {
        size_t size = strcspn(text, "\x7f\xc2\xe2\xef");
        (void)!buffer_append(&writing->text, text, size, &ignored);
        text += size;
        unsigned number = *text ? find_unprintable(text, &size) : 0;
        if (number) {
            (void)!buffer_printf(&writing->text, &ignored, "\\u%04x", number);
        } else if (*text) {
            (void)!buffer_append(&writing->text, text, size = 1, &ignored);
        }
        text += *text ? size : 0;
    }
}

static void add_indent(struct writing *writing, int depth) {
    for (int i = 0; i < depth * INDENT; i++) {
        add(writing, " ");
    }
}

/* Whether a reader takes these characters for this text, also in a list of [a, b]. */
static bool is_plain(const char *text) {
    AUTO(tree_freep) json_t *value = NULL;
    struct error ignored = {0};
    for (const char *at = text; *at; at++) {
        if (!isalnum((unsigned char)*at) && !strchr("_./-", *at)) {
            return false;
        }
    }
    return (isalnum((unsigned char)*text) || *text == '/') && !scalar_is_ambiguous(text) &&
           scalar_resolve(text, &value, &ignored) == 0 && json_is_string(value);
}

/* As short as the number allows: 0.1, not 0.10000000000000001; owned. */
static char *real_text(double number) {
    char text[DECIMAL_BYTES];
    decimal_shortest(number, text);
    return x_printf("%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

/* A scalar, or a tree on one line; owned. JSON is YAML. */
static char *on_one_line(const json_t *value) {
    if (json_is_string(value) && is_plain(json_string_value(value))) {
        return x_strdup(json_string_value(value));
    }
    if (json_is_real(value)) {
        return real_text(json_real_value(value));
    }
    if (!json_is_array(value) && !json_is_object(value)) {
        return json_dumps(value, JSON_ENCODE_ANY);
    }
    bool is_list = json_is_array(value);
    char *all = x_strdup(is_list ? "[" : "{");
    const char *between = "", *key;
    json_t *member;
    size_t i;
    json_array_foreach(value, i, member) {
        AUTO(text_freep) char *before = all;
        AUTO(text_freep) char *one = on_one_line(member);
        all = x_printf("%s%s%s", before, between, one);
        between = ", ";
    }
    json_object_foreach((json_t *)value, key, member) {
        AUTO(text_freep) char *before = all;
        AUTO(text_freep) char *one = on_one_line(member);
        AUTO(tree_freep) json_t *name = json_string(key);
        AUTO(text_freep) char *shown = on_one_line(name);
        all = x_printf("%s%s%s: %s", before, between, shown, one);
        between = ", ";
    }
    AUTO(text_freep) char *before = all;
    return x_printf("%s%s", before, is_list ? "]" : "}");
}

static void add_remark(struct writing *writing, const char *field, int depth) {
    const char *at = json_string_value(json_object_get(writing->remarks, field));
    while (at && *at) {
        AUTO(text_freep) char *line = x_strndup(at, strcspn(at, "\r\n"));
        add_indent(writing, depth);
        add(writing, *line ? "# " : "#");
        add(writing, line);
        add(writing, "\n");
        at += strlen(line);
        at += *at != 0;
    }
}

static bool has_remarks_below(const struct writing *writing, const char *field) {
    const char *key;
    json_t *ignored;
    size_t length = strlen(field);
    json_object_foreach((json_t *)writing->remarks, key, ignored) {
        if (strncmp(key, field, length) == 0 && (key[length] == '.' || key[length] == '[')) {
            return true;
        }
    }
    return false;
}

/* Whether it is a list of objects, of which each has its own line. */
static bool is_list_of_objects(const json_t *value) {
    return json_is_array(value) && json_is_object(json_array_get(value, 0));
}

static void add_items(struct writing *writing, const json_t *list, int depth) {
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item) {
        AUTO(text_freep) char *line = on_one_line(item);
        add_indent(writing, depth);
        add(writing, "- ");
        add(writing, line);
        add(writing, "\n");
    }
}

static void add_members(struct writing *writing, const json_t *object, const char *field,
                        int depth) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        char path[MANIFEST_FIELD_MAX];
        AUTO(tree_freep) json_t *name = json_string(key);
        AUTO(text_freep) char *shown = on_one_line(name);
        AUTO(text_freep) char *line = on_one_line(value);
        (void)manifest_field(path, sizeof path, field, key);
        size_t length = (size_t)depth * INDENT + strlen(key) + strlen(line);
        bool is_deep = json_is_object(value) && json_object_size(value) > 0 &&
                       (depth == 0 || length > FLOW_BYTES_MAX || has_remarks_below(writing, path) ||
                        json_is_object(json_object_iter_value(json_object_iter(value))));
        add_remark(writing, path, depth);
        add_indent(writing, depth);
        add(writing, shown);
        add(writing, ":");
        if (is_deep || is_list_of_objects(value)) {
            add(writing, "\n");
        } else {
            add(writing, " ");
            add(writing, line);
            add(writing, "\n");
        }
        if (is_deep) {
            add_members(writing, value, path, depth + 1);
        } else if (is_list_of_objects(value)) {
            add_items(writing, value, depth + 1);
        }
    }
}

char *manifest_write(const json_t *tree, const json_t *remarks) {
    struct writing writing = {.remarks = remarks};
    buffer_init(&writing.text, MANIFEST_BYTES_MAX);
    add_remark(&writing, "", 0);
    add_members(&writing, tree, "", 0);
    return buffer_take(&writing.text, NULL);
}
