// SPDX-License-Identifier: Apache-2.0
#include "operator/resource.h"

#include "operator/kinds/job/parameters/parameters.h"
#include "operator/kinds/kinds.h"
#include "operator/local/volume_beside.h"
#include "operator/manifest.h"
#include "operator/manifest_excerpt.h"

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
    if (!row->children) {
        return 0;
    }
    return kinds_children_schema(row, &made, err) < 0 ? -1
                                                      : row->children->check(object, made, err);
}

struct admission {
    enum resource_use use;
    const char *folder;       /* of the file; NULL: there is none */
    const json_t *parameters; /* spec.parameters before --set */
    json_t *more;             /* gets the texts of further errors; NULL: not wanted */
    json_t *shown;            /* gets the lines of the file below all errors; NULL: not wanted */
};

/* The kind's rules. What lacks only a declaration of folders beside the file is said with them. */
static int check_rules(const json_t *object, const struct kind_row *row,
                       const struct admission *admission, struct error *err) {
    struct error why = {0}, other = {0};
    if (row->check(object, &why) == 0) {
        return 0;
    }
    AUTO(tree_freep) json_t *copy = json_deep_copy(object);
    AUTO(text_freep)
    char *names = admission->folder && admission->use != RESOURCE_LOCAL
                      ? volume_beside_declare(copy, row->local.within, admission->folder)
                      : NULL;
    if (!names || (row->check(copy, &other) < 0 && strcmp(other.text, why.text) == 0)) {
        *err = why;
        return -1;
    }
    int first = (int)strcspn(names, ",");
    return error_set(err, why.kind,
                     "%s; a folder beside the manifest is a volume for `windlass run` alone: for a "
                     "cluster add to %s.volumes {name: %.*s, persistentVolumeClaim: {claimName: "
                     "%.*s}}",
                     why.text, row->local.within, first, names, first, names);
}

/* Fills in defaults and checks, in the order of an API server. */
static int admit(json_t *object, const struct admission *admission, struct error *err) {
    AUTO(schema_freep) struct schema *schema = NULL;
    const struct kind_row *row = NULL;
    if (find_kind(tree_text(object, "apiVersion", ""), tree_text(object, "kind", ""), &row, err) <
            0 ||
        kinds_schema(row, &schema, err) < 0) {
        return -1;
    }
    if (admission->use == RESOURCE_LOCAL) {
        free(volume_beside_declare(object, row->local.within, admission->folder));
    }
    schema_fill_defaults(schema, object);
    json_object_del(object, "status");
    if (schema_check_all(schema, object, admission->more, err) < 0 ||
        check_rules(object, row, admission, err) < 0 || check_made(object, row, err) < 0 ||
        (admission->use != RESOURCE_OF_CLUSTER && row->check_supported &&
         row->check_supported(object, err) < 0)) {
        return -1;
    }
    json_t *metadata = json_object_get(object, "metadata");
    if (!json_object_get(metadata, "namespace")) {
        json_object_set_new(metadata, "namespace", json_string("default"));
    }
    return 0;
}

/* Adds the file's lines below the errors, before they get their place in the file. */
static void add_shown(struct manifest *manifest, const struct manifest_document *document,
                      const struct admission *admission, const char *first) {
    size_t count = 1 + json_array_size(admission->more);
    for (size_t i = 0; i < 2 * count && admission->shown; i++) {
        size_t at = i % count;
        const char *text = at ? json_string_value(json_array_get(admission->more, at - 1)) : first;
        if (i < count) {
            manifest_cover(manifest, document, text);
            continue;
        }
        AUTO(text_freep) char *lines = manifest_show(manifest, document, text);
        json_array_append_new(admission->shown, lines ? json_string(lines) : json_null());
    }
}

/* Gives each text its file and line. */
static void add_lines(const struct manifest *manifest, const struct manifest_document *document,
                      json_t *more) {
    for (size_t i = 0; i < json_array_size(more); i++) {
        struct error error = {0};
        error_set(&error, ERROR_INVALID, "%s", json_string_value(json_array_get(more, i)));
        (void)!manifest_context(manifest, document, &error);
        json_array_set_new(more, i, json_string(error.text));
    }
}

static int admit_document(struct manifest *manifest, size_t index,
                          const struct admission *admission, json_t **ret_object,
                          struct error *err) {
    const struct manifest_document *document = &manifest->documents[index];
    if (admit(document->tree, admission, err) < 0) {
        add_shown(manifest, document, admission, err->text);
        add_lines(manifest, document, admission->more);
        return err->kind == ERROR_INVALID ? manifest_context(manifest, document, err) : -1;
    }
    *ret_object = json_incref(document->tree);
    return 0;
}

static int admit_only(struct manifest *manifest, json_t **ret_object, struct error *err) {
    static const struct admission admission = {.use = RESOURCE_OF_CLUSTER};
    if (manifest->count != 1) {
        return error_set(err, ERROR_INVALID, "%s: %s, expected exactly one", manifest->name,
                         manifest->count ? "more than one resource" : "no resource");
    }
    return admit_document(manifest, 0, &admission, ret_object, err);
}

int resource_parse(const char *name, const char *text, size_t size, json_t **ret_object,
                   struct error *err) {
    AUTO(manifest_freep) struct manifest *manifest = NULL;
    if (manifest_parse(name, text, size, &manifest, err) < 0) {
        return -1;
    }
    return admit_only(manifest, ret_object, err);
}

/* The folder of a file; of standard input the current one; owned. */
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? x_strndup(path, MAX(1, (size_t)(slash - path))) : x_strdup(".");
}

/* Where the resource has such parameters. */
static int set_parameters(json_t *tree, const struct option_list *sets, struct error *err) {
    for (size_t i = 0; sets && i < sets->count; i++) {
        AUTO(text_freep) char *name = NULL;
        const char *value;
        if (parameters_split(sets->values[i], &name, &value, err) < 0) {
            return -1;
        }
        (void)parameters_set(tree, name, value);
    }
    return 0;
}

/* Calls for one resource of the file. */
static int load_document(struct manifest *manifest, size_t index, const struct admission *admission,
                         resource_each *each, void *context, struct error *err) {
    json_t *object = NULL;
    struct error why = {0};
    AUTO(tree_freep) json_t *written = json_deep_copy(manifest->documents[index].tree);
    (void)!admit_document(manifest, index, admission, &object, &why);
    struct resource_read read = {
        object,          written,         admission->parameters, why.kind ? &why : NULL,
        admission->more, admission->shown};
    return each(context, &read, err);
}

int resource_load_each(const struct resource_source *source, resource_each *each, void *context,
                       struct error *err) {
    const char *path = source->path;
    AUTO(manifest_freep) struct manifest *manifest = NULL;
    AUTO(text_freep) char *folder = folder_of(path);
    AUTO(text_freep) char *text = NULL;
    size_t size;
    struct error not_yaml = {0};
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    if (manifest_read(path, &text, &size, err) < 0) {
        return -1;
    }
    if (manifest_parse(name, text, size, &manifest, &not_yaml) < 0) {
        AUTO(text_freep)
        char *lines = manifest_excerpt_of_text(text, size, name, not_yaml.text);
        AUTO(tree_freep) json_t *shown = json_pack("[s?]", lines);
        return each(context, &(struct resource_read){.why = &not_yaml, .shown = shown}, err);
    }
    for (size_t i = 0; i < manifest->count; i++) {
        AUTO(tree_freep) json_t *more = json_array();
        AUTO(tree_freep) json_t *shown = json_array();
        AUTO(tree_freep)
        json_t *parameters =
            json_deep_copy(tree_get(manifest->documents[i].tree, "spec.parameters"));
        const struct admission admission = {.use = source->use,
                                            .folder = folder,
                                            .parameters = parameters,
                                            .more = more,
                                            .shown = shown};
        if (set_parameters(manifest->documents[i].tree, source->sets, err) < 0 ||
            load_document(manifest, i, &admission, each, context, err) < 0) {
            return -1;
        }
    }
    return 0;
}
