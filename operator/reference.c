// SPDX-License-Identifier: Apache-2.0
#include "operator/reference.h"

#include "lib/buffer.h"
#include "operator/reference_words.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES_MAX = 1 << 20 };

struct page {
    struct buffer text;
    struct error *err;
    bool failed;
};

static void put(struct page *page, const char *text) {
    page->failed = page->failed || buffer_append(&page->text, text, strlen(text), page->err) < 0;
}

/* "|" ends a cell, even inside code. */
static void put_cell(struct page *page, const char *text) {
    for (; *text; text++) {
        char letter[3] = {*text == '|' ? '\\' : *text, *text == '|' ? '|' : 0, 0};
        put(page, letter);
    }
}

/* Collects the rules of a field and of its content: {message: [fields]}. prefix names the field. */
static void collect_rules(const json_t *schema, const char *prefix, json_t *found) {
    const json_t *rules = json_object_get(schema, "x-kubernetes-validations");
    for (size_t i = 0; i < json_array_size(rules); i++) {
        const json_t *rule = json_array_get(rules, i);
        const char *field = tree_text(rule, "fieldPath", "");
        const char *message = tree_text(rule, "message", "");
        json_t *fields = tree_ensure_list(found, message);
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

static void put_paragraph(struct page *page, const char *words) {
    AUTO(text_freep) char *text = reference_paragraph(words, "");
    put(page, text);
}

static void put_fields(struct page *page, const json_t *schema, const char *prefix);

static void put_field(struct page *page, const json_t *parent, const char *name,
                      const json_t *schema, const char *prefix) {
    const json_t *standard = json_object_get(schema, "default");
    AUTO(text_freep) char *path = x_printf("%s%s", prefix, name);
    put(page, "| `");
    put(page, path);
    put(page, "` | ");
    AUTO(text_freep) char *takes = reference_takes(schema, "`");
    put(page, takes);
    put(page, " | ");
    if (standard) {
        AUTO(text_freep) char *text = tree_canonical(standard);
        put(page, "`");
        put_cell(page, text);
        put(page, "`");
    } else {
        put(page, reference_requires(parent, name) ? "**required**" : "");
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
        "\n`windlass check -f FILE` checks a manifest against all of this without a cluster.\n\n");
    put_paragraph(&page, reference_paths);
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
