// SPDX-License-Identifier: Apache-2.0
#include "operator/reference.h"

#include "lib/buffer.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES_MAX = 1 << 20, COLUMNS_MAX = 100 };

struct page {
    struct buffer text;
    struct error *err;
    bool failed;
};

static void put(struct page *page, const char *text) {
    page->failed = page->failed || buffer_append(&page->text, text, strlen(text), page->err) < 0;
}

static void put_number(struct page *page, const char *before, const json_t *number,
                       const char *after) {
    if (number) {
        AUTO(text_freep) char *text = tree_canonical(number);
        put(page, before);
        put(page, text);
        put(page, after);
    }
}

/* "|" ends a cell, even inside code. */
static void put_cell(struct page *page, const char *text) {
    for (; *text; text++) {
        char letter[3] = {*text == '|' ? '\\' : *text, *text == '|' ? '|' : 0, 0};
        put(page, letter);
    }
}

static void put_bounds(struct page *page, const json_t *schema) {
    const json_t *min = json_object_get(schema, "minimum");
    const json_t *max = json_object_get(schema, "maximum");
    if (min && max) {
        put_number(page, ", ", min, "");
        put_number(page, " to ", max, "");
    } else {
        put_number(page, ", at least ", min, "");
        put_number(page, ", at most ", max, "");
    }
    put_number(page, ", at most ", json_object_get(schema, "maxLength"), " characters");
    put_number(page, ", at most ", json_object_get(schema, "maxItems"), " entries");
    put_number(page, ", at most ", json_object_get(schema, "maxProperties"), " entries");
}

static const char *type_told(const json_t *schema) {
    static const struct {
        const char *type, *told;
    } names[] = {
        {"object", "fields"},        {"array", "list"},    {"string", "text"},
        {"integer", "whole number"}, {"number", "number"}, {"boolean", "true or false"},
    };
    if (tree_bool(schema, "x-kubernetes-int-or-string", false)) {
        return "whole number or text";
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

static void put_type(struct page *page, const json_t *schema) {
    const json_t *options = json_object_get(schema, "enum");
    if (!options) {
        put(page, type_told(schema));
        put_bounds(page, schema);
        return;
    }
    for (size_t i = 0; i < json_array_size(options); i++) {
        put(page, i ? ", `" : "`");
        put(page, json_string_value(json_array_get(options, i)) ?: "?");
        put(page, "`");
    }
}

static bool is_required(const json_t *parent, const char *key) {
    const json_t *list = json_object_get(parent, "required");
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (strcmp(json_string_value(json_array_get(list, i)), key) == 0) {
            return true;
        }
    }
    return false;
}

/* Collects the rules of a field and of its content: {message: [fields]}. prefix names the field. */
static void collect_rules(const json_t *schema, const char *prefix, json_t *found) {
    const json_t *rules = json_object_get(schema, "x-kubernetes-validations");
    for (size_t i = 0; i < json_array_size(rules); i++) {
        const json_t *rule = json_array_get(rules, i);
        const char *field = tree_text(rule, "fieldPath", "");
        const char *message = tree_text(rule, "message", "");
        json_t *fields = json_object_get(found, message);
        if (!fields) {
            fields = json_array();
            json_object_set_new(found, message, fields);
        }
        json_array_append_new(
            fields, json_sprintf("%s%s", prefix, *prefix || *field != '.' ? field : field + 1));
    }
    const char *name;
    json_t *child;
    json_object_foreach(json_object_get(schema, "properties"), name, child) {
        AUTO(text_freep) char *inner = x_printf("%s%s%s", prefix, *prefix ? "." : "", name);
        collect_rules(child, inner, found);
    }
    const json_t *items = json_object_get(schema, "items");
    if (items) {
        AUTO(text_freep) char *inner = x_printf("%s[]", prefix);
        collect_rules(items, inner, found);
    }
}

static void put_rules(struct page *page, const json_t *schema) {
    AUTO(tree_freep) json_t *rules = json_object();
    const char *message;
    json_t *fields;
    collect_rules(schema, "", rules);
    put(page, "\n## Rules between fields\n\nA resource that breaks a rule is refused with this "
              "message.\n\n| field | message |\n|---|---|\n");
    json_object_foreach(rules, message, fields) {
        for (size_t i = 0; i < json_array_size(fields); i++) {
            put(page, i ? ", `" : "| `");
            put_cell(page, json_string_value(json_array_get(fields, i)) ?: "?");
            put(page, "`");
        }
        put(page, " | ");
        put_cell(page, message);
        put(page, " |\n");
    }
}

/* Breaks the lines of a paragraph. */
static void put_paragraph(struct page *page, const char *text) {
    size_t column = 0;
    while (*text) {
        size_t length = strcspn(text, " ");
        bool is_wide = column > 0 && column + 1 + length > COLUMNS_MAX;
        put(page, column == 0 ? "" : is_wide ? "\n" : " ");
        column = (column == 0 || is_wide ? 0 : column + 1) + length;
        AUTO(text_freep) char *word = x_strndup(text, length);
        put(page, word);
        text += length;
        text += strspn(text, " ");
    }
    put(page, "\n");
}

static void put_fields(struct page *page, const json_t *schema, const char *prefix);

static void put_field(struct page *page, const json_t *parent, const char *name,
                      const json_t *schema, const char *prefix) {
    const json_t *standard = json_object_get(schema, "default");
    AUTO(text_freep) char *path = x_printf("%s%s", prefix, name);
    put(page, "| `");
    put(page, path);
    put(page, "` | ");
    put_type(page, schema);
    put(page, " | ");
    if (standard) {
        AUTO(text_freep) char *text = tree_canonical(standard);
        put(page, "`");
        put_cell(page, text);
        put(page, "`");
    } else {
        put(page, is_required(parent, name) ? "**required**" : "");
    }
    put(page, " | ");
    put_cell(page, tree_text(schema, "description", ""));
    put(page, " |\n");
    const json_t *items = json_object_get(schema, "items");
    AUTO(text_freep) char *inner = x_printf("%s%s", path, items ? "[]." : ".");
    put_fields(page, items ? items : schema, inner);
}

static void put_fields(struct page *page, const json_t *schema, const char *prefix) {
    const char *name;
    json_t *child;
    json_object_foreach(json_object_get(schema, "properties"), name, child) {
        put_field(page, schema, name, child, prefix);
    }
}

static void put_section(struct page *page, const json_t *root, const char *name) {
    const json_t *schema = json_object_get(json_object_get(root, "properties"), name);
    AUTO(text_freep) char *prefix = x_printf("%s.", name);
    put(page, "\n## ");
    put(page, name);
    put(page, "\n\n");
    const char *about = tree_text(schema, "description", "");
    if (*about) {
        put_paragraph(page, about);
        put(page, "\n");
    }
    put(page, "| field | takes | default | meaning |\n|---|---|---|---|\n");
    put_fields(page, schema, prefix);
}

static void put_columns(struct page *page, const json_t *crd) {
    const json_t *columns = tree_get(crd, "spec.versions[0].additionalPrinterColumns");
    put(page, "\n## What kubectl get shows\n\n| column | from | meaning |\n|---|---|---|\n");
    for (size_t i = 0; i < json_array_size(columns); i++) {
        const json_t *column = json_array_get(columns, i);
        put(page, "| ");
        put_cell(page, tree_text(column, "name", ""));
        put(page, tree_integer(column, "priority", 0) ? " (`-o wide`) | `" : " | `");
        put_cell(page, tree_text(column, "jsonPath", ""));
        put(page, "` | ");
        put_cell(page, tree_text(column, "description", ""));
        put(page, " |\n");
    }
}

int reference_page(const struct schema *schema, char **ret_text, struct error *err) {
    struct page page = {.err = err};
    buffer_init(&page.text, PAGE_BYTES_MAX);
    const json_t *crd = schema_crd(schema);
    put(&page, "# ");
    put(&page, schema_kind(schema));
    put(&page,
        "\n\n<!-- Made by `windlass explain` of the definition in crds/: `make api`. -->\n\n");
    AUTO(text_freep)
    char *about = x_printf("`%s`, `kubectl get %s`. %s", schema_api_version(schema),
                           tree_text(crd, "spec.names.shortNames[0]", ""),
                           tree_text(schema_root(schema), "description", ""));
    put_paragraph(&page, about);
    put(&page,
        "\n`windlass check -f FILE` checks a manifest against all of this without a cluster.\n");
    put_section(&page, schema_root(schema), "metadata");
    put_section(&page, schema_root(schema), "spec");
    put_rules(&page, schema_root(schema));
    put_section(&page, schema_root(schema), "status");
    put_columns(&page, crd);
    if (page.failed) {
        buffer_release(&page.text);
        return -1;
    }
    size_t size;
    *ret_text = buffer_take(&page.text, &size);
    return 0;
}
