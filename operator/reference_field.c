// SPDX-License-Identifier: Apache-2.0
/* A field of a definition, as docs/api.md and `windlass explain` show it. */
#include "operator/manifest.h"
#include "operator/reference.h"
#include "operator/reference_words.h"

#include <stdlib.h>
#include <string.h>

struct place {
    const json_t *schema, *parent;
    char path[MANIFEST_FIELD_MAX]; /* as far as it was found */
    int depth;
};

/* What a list or a map holds has its members. */
static const json_t *content(const json_t *schema) {
    for (;;) {
        const json_t *inner = json_object_get(schema, "items");
        if (!inner) {
            inner = json_object_get(schema, "additionalProperties");
        }
        if (!json_is_object(inner)) {
            return schema;
        }
        schema = inner;
    }
}

static int enter(struct place *place, const char *name, struct error *err) {
    const json_t *holder = content(place->schema);
    const json_t *properties = json_object_get(holder, "properties");
    const json_t *found = json_object_get(properties, name);
    if (!found) {
        return schema_refuse_field(properties, name, place->path, err);
    }
    char path[sizeof place->path];
    manifest_field(path, sizeof path, place->path, name);
    memcpy(place->path, path, sizeof path);
    place->parent = holder;
    place->schema = found;
    place->depth++;
    return 0;
}

static int find(struct place *place, const char *path, struct error *err) {
    const char *top = path;
    while (*path) {
        size_t length = strcspn(path, ".");
        size_t name_length = length;
        while (name_length > 0 && strchr("[]0123456789", path[name_length - 1]) &&
               memchr(path, '[', name_length)) {
            name_length--;
        }
        AUTO(text_freep) char *name = x_strndup(path, name_length);
        /* `spec` may be left out. */
        if (path == top && !json_object_get(json_object_get(place->schema, "properties"), name) &&
            enter(place, "spec", err) < 0) {
            return -1;
        }
        if (enter(place, name, err) < 0) {
            return -1;
        }
        path += length;
        path += *path == '.';
    }
    return 0;
}

/* " (text, at most 63 characters; required)" */
static char *facts(const json_t *parent, const char *name, const json_t *schema) {
    AUTO(text_freep) char *takes = reference_takes(schema, "");
    const json_t *standard = json_object_get(schema, "default");
    AUTO(text_freep) char *value = standard ? tree_canonical(standard) : NULL;
    return x_printf("%s%s%s", takes,
                    value                              ? "; default "
                    : reference_requires(parent, name) ? "; required"
                                                       : "",
                    value ? value : "");
}

static void append(char **text, char *added) {
    char *longer = x_printf("%s%s", *text, added);
    free(*text);
    free(added);
    *text = longer;
}

static void append_members(char **text, const json_t *schema) {
    const json_t *holder = content(schema);
    const char *name;
    json_t *member;
    json_object_foreach(json_object_get(holder, "properties"), name, member) {
        AUTO(text_freep) char *about = facts(holder, name, member);
        append(text, x_printf("\n  %s (%s)\n", name, about));
        const char *meaning = tree_text(member, "description", "");
        if (*meaning) {
            append(text, reference_paragraph(meaning, "      "));
        }
    }
}

int reference_field(const struct schema *schema, const char *path, char **ret_text, int *ret_depth,
                    struct error *err) {
    struct place place = {.schema = schema_root(schema)};
    int result = find(&place, path, err);
    *ret_depth = place.depth;
    if (result < 0) {
        return error_context(err, "%s", schema_kind(schema));
    }
    const char *name = strrchr(place.path, '.');
    AUTO(text_freep)
    char *about = facts(place.parent, name ? name + 1 : place.path, place.schema);
    char *text = x_printf("%s%s%s (%s)\n", schema_kind(schema), place.depth > 0 ? " " : "",
                          place.path, about);
    const char *meaning = tree_text(place.schema, "description", "");
    if (*meaning) {
        append(&text, reference_paragraph(meaning, "  "));
    }
    AUTO(text_freep) char *forms = reference_path_forms(place.schema);
    if (forms) {
        append(&text, reference_paragraph(forms, "  "));
    }
    append_members(&text, place.schema);
    *ret_text = text;
    return 0;
}
