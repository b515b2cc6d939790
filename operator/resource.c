// SPDX-License-Identifier: Apache-2.0
#include "operator/resource.h"

#include "operator/embedded.h"
#include "operator/kinds/batchscore/schedule.h"
#include "operator/kinds/batchscore/spec.h"
#include "operator/kinds/disttrain/spec.h"
#include "operator/kinds/sweep/spec.h"
#include "operator/kinds/sweep/trial.h"
#include "operator/manifest.h"

#include <string.h>

/* One row per kind: its definition and the rules between its fields. */
static const struct {
    const char *crd;
    int (*check)(const json_t *object, struct error *err);
    int (*check_today)(const json_t *object, struct error *err); /* NULL: all is carried out */
    /* What it makes others of, held against the definition of those; NULL: it makes none. */
    int (*check_made)(const json_t *object, const struct schema *made, struct error *err);
    const char *made;
} kinds[] = {
    {"crds/batchscore.yaml", batchscore_check, schedule_check, NULL, NULL},
    {"crds/disttrain.yaml", disttrain_check, NULL, NULL, NULL},
    {"crds/sweep.yaml", sweep_check, NULL, trial_check, "crds/disttrain.yaml"},
};

static const char *crd_text(const char *name) {
    const struct embedded *row = embedded_crds;
    while (row->name && strcmp(row->name, name) != 0) {
        row++;
    }
    return row->text ? row->text : "";
}

static int find_kind(const char *api_version, const char *kind, struct schema **ret_schema,
                     size_t *ret_row, struct error *err) {
    char known[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        AUTO(schema_freep) struct schema *schema = NULL;
        const char *text = crd_text(kinds[i].crd);
        if (schema_parse(text, strlen(text), &schema, err) < 0) {
            return -1;
        }
        if (strcmp(schema_kind(schema), kind) == 0 &&
            strcmp(schema_api_version(schema), api_version) == 0) {
            *ret_schema = TAKE(schema);
            *ret_row = i;
            return 0;
        }
        int length = snprintf(known + used, sizeof known - used, "%s%s %s", i ? ", " : "",
                              schema_api_version(schema), schema_kind(schema));
        used = MIN(used + (size_t)MAX(length, 0), sizeof known - 1);
    }
    return error_set(err, ERROR_INVALID, "kind: %.60s %.60s is not known; known is: %s",
                     *api_version ? api_version : "(no apiVersion)", *kind ? kind : "(no kind)",
                     known);
}

int resource_schema(const char *api_version, const char *kind, struct schema **ret_schema,
                    struct error *err) {
    size_t row;
    return find_kind(api_version, kind, ret_schema, &row, err);
}

static int check_made(const json_t *object, size_t row, struct error *err) {
    AUTO(schema_freep) struct schema *made = NULL;
    if (!kinds[row].check_made) {
        return 0;
    }
    const char *text = crd_text(kinds[row].made);
    return schema_parse(text, strlen(text), &made, err) < 0
               ? -1
               : kinds[row].check_made(object, made, err);
}

/* Fills defaults in and checks, in the order of an API server. */
static int admit(json_t *object, bool today, struct error *err) {
    AUTO(schema_freep) struct schema *schema = NULL;
    size_t row = 0;
    if (find_kind(tree_text(object, "apiVersion", ""), tree_text(object, "kind", ""), &schema, &row,
                  err) < 0) {
        return -1;
    }
    schema_fill_defaults(schema, object);
    json_object_del(object, "status");
    if (schema_check(schema, object, err) < 0 || kinds[row].check(object, err) < 0 ||
        check_made(object, row, err) < 0 ||
        (today && kinds[row].check_today && kinds[row].check_today(object, err) < 0)) {
        return -1;
    }
    json_t *metadata = json_object_get(object, "metadata");
    if (!json_object_get(metadata, "namespace")) {
        json_object_set_new(metadata, "namespace", json_string("default"));
    }
    return 0;
}

static int admit_only(const struct manifest *manifest, bool today, json_t **ret_object,
                      struct error *err) {
    if (manifest->count != 1) {
        return error_set(err, ERROR_INVALID, "%s: %s, exactly one is needed", manifest->name,
                         manifest->count ? "more than one resource" : "no resource");
    }
    const struct manifest_document *document = &manifest->documents[0];
    if (admit(document->tree, today, err) < 0) {
        return err->kind == ERROR_INVALID ? manifest_context(manifest, document, err) : -1;
    }
    *ret_object = json_incref(document->tree);
    return 0;
}

int resource_parse(const char *name, const char *text, size_t size, json_t **ret_object,
                   struct error *err) {
    AUTO(manifest_freep) struct manifest *manifest = NULL;
    if (manifest_parse(name, text, size, &manifest, err) < 0) {
        return -1;
    }
    return admit_only(manifest, false, ret_object, err);
}

static int load(const char *path, bool today, json_t **ret_object, struct error *err) {
    AUTO(manifest_freep) struct manifest *manifest = NULL;
    if (manifest_load(path, &manifest, err) < 0) {
        return -1;
    }
    return admit_only(manifest, today, ret_object, err);
}

int resource_load(const char *path, json_t **ret_object, struct error *err) {
    return load(path, false, ret_object, err);
}

int resource_load_today(const char *path, json_t **ret_object, struct error *err) {
    return load(path, true, ret_object, err);
}
