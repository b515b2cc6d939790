// SPDX-License-Identifier: Apache-2.0
#include "operator/resource.h"

#include "operator/kinds/kinds.h"
#include "operator/manifest.h"

#include <stdlib.h>
#include <string.h>

/* "windlass.dev/v1beta1 BatchScore, ..." */
static char *known_kinds(void) {
    char *known = x_strdup("");
    for (const struct kind_row *const *row = kind_rows; *row; row++) {
        char *longer = x_printf("%s%s%s %s", known, *known ? ", " : "", (*row)->loop->api_version,
                                (*row)->loop->name);
        free(known);
        known = longer;
    }
    return known;
}

static int find_kind(const char *api_version, const char *kind, const struct kind_row **ret_row,
                     struct error *err) {
    const struct kind_row *row = kinds_find(kind);
    AUTO(schema_freep) struct schema *schema = NULL;
    if (row && kinds_schema(row, &schema, err) < 0) {
        return -1;
    }
    if (row && schema_serves(schema, api_version)) {
        *ret_row = row;
        return 0;
    }
    AUTO(text_freep) char *known = known_kinds();
    return error_set(err, ERROR_INVALID, "kind: unknown %.60s %.60s, expected one of: %s",
                     *api_version ? api_version : "(no apiVersion)", *kind ? kind : "(no kind)",
                     known);
}

static int check_made(const json_t *object, const struct kind_row *row, struct error *err) {
    AUTO(schema_freep) struct schema *made = NULL;
    if (!row->made) {
        return 0;
    }
    return kinds_made_schema(row, &made, err) < 0 ? -1 : row->made->check(object, made, err);
}

/* Fills in defaults and checks, in the order of an API server. */
static int admit(json_t *object, bool today, struct error *err) {
    AUTO(schema_freep) struct schema *schema = NULL;
    const struct kind_row *row = NULL;
    if (find_kind(tree_text(object, "apiVersion", ""), tree_text(object, "kind", ""), &row, err) <
            0 ||
        kinds_schema(row, &schema, err) < 0) {
        return -1;
    }
    schema_fill_defaults(schema, object);
    json_object_del(object, "status");
    if (schema_check(schema, object, err) < 0 || row->check(object, err) < 0 ||
        check_made(object, row, err) < 0 ||
        (today && row->check_today && row->check_today(object, err) < 0)) {
        return -1;
    }
    json_t *metadata = json_object_get(object, "metadata");
    if (!json_object_get(metadata, "namespace")) {
        json_object_set_new(metadata, "namespace", json_string("default"));
    }
    return 0;
}

static int admit_document(const struct manifest *manifest, size_t index, bool today,
                          json_t **ret_object, struct error *err) {
    const struct manifest_document *document = &manifest->documents[index];
    if (admit(document->tree, today, err) < 0) {
        return err->kind == ERROR_INVALID ? manifest_context(manifest, document, err) : -1;
    }
    *ret_object = json_incref(document->tree);
    return 0;
}

static int admit_only(const struct manifest *manifest, bool today, json_t **ret_object,
                      struct error *err) {
    if (manifest->count != 1) {
        return error_set(err, ERROR_INVALID, "%s: %s, expected exactly one", manifest->name,
                         manifest->count ? "more than one resource" : "no resource");
    }
    return admit_document(manifest, 0, today, ret_object, err);
}

int resource_parse(const char *name, const char *text, size_t size, json_t **ret_object,
                   struct error *err) {
    AUTO(manifest_freep) struct manifest *manifest = NULL;
    if (manifest_parse(name, text, size, &manifest, err) < 0) {
        return -1;
    }
    return admit_only(manifest, false, ret_object, err);
}

int resource_load_each(const char *path, bool today, resource_each *each, void *context,
                       struct error *err) {
    AUTO(manifest_freep) struct manifest *manifest = NULL;
    if (manifest_load(path, &manifest, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < manifest->count; i++) {
        json_t *object = NULL;
        struct error why = {0};
        AUTO(tree_freep) json_t *written = json_deep_copy(manifest->documents[i].tree);
        (void)!admit_document(manifest, i, today, &object, &why);
        struct resource_read read = {object, written, why.kind ? &why : NULL};
        if (each(context, &read, err) < 0) {
            return -1;
        }
    }
    return 0;
}
