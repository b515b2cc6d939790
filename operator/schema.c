// SPDX-License-Identifier: Apache-2.0
#include "operator/schema.h"

#include "lib/text/nearest.h"
#include "operator/manifest.h"
#include "operator/schema_patterns.h"

#include <stdlib.h>
#include <string.h>

struct schema {
    json_t *crd;
    const json_t *root;
    struct schema_patterns *patterns;
    char *api_version;
    const char *kind;
    int more_owners;
};

/* Where errors go: the first into `first`, others into the list, if there is one. And what all
 * values of a check share. */
struct findings {
    const struct schema_patterns *patterns;
    struct error *first;
    json_t *others; /* texts; NULL: the check ends with the first */
};

enum { OTHERS_MAX = 20 };

static int check_value(const json_t *schema, const json_t *value, const char *field,
                       struct findings *findings);

/* Adds an error, once; always returns -1. */
static int find(struct findings *findings, const struct error *error) {
    if (!findings->first->kind) {
        *findings->first = *error;
    } else if (findings->others && json_array_size(findings->others) < OTHERS_MAX &&
               strcmp(findings->first->text, error->text) != 0 &&
               !tree_mentions(findings->others, error->text)) {
        json_array_append_new(findings->others, json_string(error->text));
    }
    return -1;
}

/* Messages truncate long texts. */
#define TEXT_SHOWN "%.60s"

static const char *type_name(const json_t *value) {
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "fields";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_NULL:
        return "empty";
    default:
        return "true or false";
    }
}

static const struct {
    const char *name, *told;
} types[] = {
    {"object", "fields"},          {"array", "a list"},    {"string", "a string"},
    {"integer", "a whole number"}, {"number", "a number"}, {"boolean", "true or false"},
};

static bool has_type(const json_t *value, const char *type) {
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return strcmp(type, "object") == 0;
    case JSON_ARRAY:
        return strcmp(type, "array") == 0;
    case JSON_STRING:
        return strcmp(type, "string") == 0;
    case JSON_INTEGER:
        return strcmp(type, "integer") == 0 || strcmp(type, "number") == 0;
    case JSON_REAL:
        return strcmp(type, "number") == 0;
    case JSON_NULL:
        return false;
    default:
        return strcmp(type, "boolean") == 0;
    }
}

static int check_type(const json_t *schema, const json_t *value, const char *field,
                      struct error *err) {
    if (schema_is_decimal(schema) && !json_is_number(value) && !json_is_string(value)) {
        return error_set(err, ERROR_INVALID, "%s: must be a number%s, not %s", field,
                         json_object_get(schema, "minimum") ? "" : " or a string",
                         type_name(value));
    }
    if (tree_bool(schema, "x-kubernetes-int-or-string", false)) {
        if (json_is_integer(value) || json_is_string(value)) {
            return 0;
        }
        return error_set(err, ERROR_INVALID, "%s: must be a whole number or a string, not %s",
                         field, json_is_real(value) ? "a fraction" : type_name(value));
    }
    const char *type = tree_text(schema, "type", NULL);
    if (!type || has_type(value, type)) {
        return 0;
    }
    const char *told = type;
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        told = strcmp(types[i].name, type) == 0 ? types[i].told : told;
    }
    if (json_is_real(value) && strcmp(type, "string") == 0) { /* an API server refuses it, too */
        return error_set(err, ERROR_INVALID,
                         "%s: must be a string, not a fraction; put it in quotes: \"%g\"", field,
                         json_real_value(value));
    }
    return error_set(err, ERROR_INVALID, "%s: must be %s, not %s", field, told,
                     json_is_real(value) ? "a fraction" : type_name(value));
}

static int check_enum(const json_t *schema, const json_t *value, const char *field,
                      struct error *err) {
    const json_t *allowed = json_object_get(schema, "enum");
    if (!allowed) {
        return 0;
    }
    char list[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < json_array_size(allowed); i++) {
        const json_t *one = json_array_get(allowed, i);
        if (json_equal(one, value)) {
            return 0;
        }
        int length = snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                              json_is_string(one) ? json_string_value(one) : "?");
        used = MIN(used + (size_t)MAX(length, 0), sizeof list - 1);
    }
    return error_set(err, ERROR_INVALID, "%s: \"" TEXT_SHOWN "\" is not one of: %s", field,
                     json_is_string(value) ? json_string_value(value) : "?", list);
}

/* Kubernetes counts characters, not bytes. */
static int64_t character_count(const char *text) {
    int64_t count = 0;
    for (; *text; text++) {
        count += ((unsigned char)*text & 0xC0) != 0x80;
    }
    return count;
}

static int check_pattern(const struct schema_patterns *patterns, const json_t *schema,
                         const char *text, const char *field, struct error *err) {
    const char *pattern = tree_text(schema, "pattern", NULL);
    if (!pattern || schema_patterns_fit(patterns, pattern, text)) {
        return 0;
    }
    const char *about = tree_text(schema, "description", NULL);
    return error_set(err, ERROR_INVALID, "%s: \"" TEXT_SHOWN "\" does not match %s%s%s", field,
                     text, pattern, about ? ": " : "", about ? about : "");
}

static int check_string(const struct schema_patterns *patterns, const json_t *schema,
                        const json_t *value, const char *field, struct error *err) {
    const char *text = json_string_value(value);
    int64_t count = character_count(text);
    int64_t min = tree_integer(schema, "minLength", 0);
    int64_t max = tree_integer(schema, "maxLength", INT64_MAX);
    if (count < min) {
        return error_set(err, ERROR_INVALID, "%s: has %lld character%s, at least %lld are required",
                         field, (long long)count, count == 1 ? "" : "s", (long long)min);
    }
    if (count > max) {
        return error_set(err, ERROR_INVALID, "%s: has %lld character%s, at most %lld are allowed",
                         field, (long long)count, count == 1 ? "" : "s", (long long)max);
    }
    return check_pattern(patterns, schema, text, field, err);
}

static int check_number(const json_t *schema, const json_t *value, const char *field,
                        struct error *err) {
    double number = json_number_value(value);
    const json_t *min = json_object_get(schema, "minimum");
    const json_t *max = json_object_get(schema, "maximum");
    if (min && number < json_number_value(min)) {
        return error_set(err, ERROR_INVALID, "%s: is %.15g, at least %.15g is needed", field,
                         number, json_number_value(min));
    }
    if (max && number > json_number_value(max)) {
        return error_set(err, ERROR_INVALID, "%s: is %.15g, at most %.15g is allowed", field,
                         number, json_number_value(max));
    }
    return 0;
}

/* Checks x-kubernetes-list-type map (by its keys) and set (by value). */
static int check_duplicates(const json_t *schema, const json_t *list, const char *field,
                            struct error *err) {
    const char *list_type = tree_text(schema, "x-kubernetes-list-type", "atomic");
    if (strcmp(list_type, "atomic") == 0) {
        return 0;
    }
    const char *key = tree_text(schema, "x-kubernetes-list-map-keys[0]", NULL);
    for (size_t i = 1; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        one = key ? json_object_get(one, key) : one;
        for (size_t k = 0; k < i && one; k++) {
            const json_t *other = json_array_get(list, k);
            other = key ? json_object_get(other, key) : other;
            if (json_equal(one, other)) {
                return error_set(err, ERROR_INVALID, "%s[%zu]: %s \"" TEXT_SHOWN "\" is used twice",
                                 field, i, key ? key : "value",
                                 json_is_string(one) ? json_string_value(one) : "?");
            }
        }
    }
    return 0;
}

static int check_count(const json_t *schema, const json_t *list, const char *field,
                       struct error *err) {
    int64_t count = (int64_t)json_array_size(list);
    int64_t min = tree_integer(schema, "minItems", 0);
    int64_t max = tree_integer(schema, "maxItems", INT64_MAX);
    if (count < min || count > max) {
        return error_set(err, ERROR_INVALID, "%s: %lld entries, at %s %lld are %s", field,
                         (long long)count, count < min ? "least" : "most",
                         (long long)(count < min ? min : max),
                         count < min ? "required" : "allowed");
    }
    return 0;
}

/* Whether to look for more after an error: others are wanted, and there is room for them. */
static bool goes_on(const struct findings *findings) {
    return findings->others && json_array_size(findings->others) < OTHERS_MAX;
}

static int check_array(const json_t *schema, const json_t *list, const char *field,
                       struct findings *findings) {
    struct error error = {0};
    if (check_count(schema, list, field, &error) < 0) {
        return find(findings, &error);
    }
    const json_t *items = json_object_get(schema, "items");
    int result = 0;
    for (size_t i = 0; i < json_array_size(list) && (result == 0 || goes_on(findings)); i++) {
        char child[MANIFEST_FIELD_MAX];
        manifest_field_at(child, sizeof child, field, i);
        result = MIN(result, check_value(items, json_array_get(list, i), child, findings));
    }
    if (result == 0 && check_duplicates(schema, list, field, &error) < 0) {
        return find(findings, &error);
    }
    return result;
}

int schema_refuse_field(const json_t *properties, const char *key, const char *field,
                        struct error *err) {
    const char *near = nearest_key(properties, key);
    char child[MANIFEST_FIELD_MAX];
    manifest_field(child, sizeof child, field, key);
    if (near) {
        return error_set(err, ERROR_INVALID, "%s: unknown field, did you mean %s?", child, near);
    }
    char list[200] = "";
    size_t used = 0;
    const char *known;
    json_t *ignored;
    json_object_foreach((json_t *)properties, known, ignored) {
        int length = snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", known);
        used = MIN(used + (size_t)MAX(length, 0), sizeof list - 1);
    }
    return error_set(err, ERROR_INVALID, "%s: unknown field; %s%s%s", child,
                     *field ? field : "a resource", used ? " has: " : " has no fields", list);
}

static int missing_field(const json_t *schema, const char *key, const char *field,
                         struct error *err) {
    char child[MANIFEST_FIELD_MAX];
    manifest_field(child, sizeof child, field, key);
    const json_t *property = json_object_get(json_object_get(schema, "properties"), key);
    const char *about = tree_text(property, "description", NULL);
    return error_set(err, ERROR_INVALID, "%s: is missing%s%s", child, about ? ": " : "",
                     about ? about : "");
}

static int check_required(const json_t *schema, const json_t *object, const char *field,
                          struct findings *findings) {
    const json_t *required = json_object_get(schema, "required");
    int result = 0;
    for (size_t i = 0; i < json_array_size(required) && (result == 0 || goes_on(findings)); i++) {
        const char *key = json_string_value(json_array_get(required, i));
        struct error error = {0};
        if (!json_object_get(object, key) && missing_field(schema, key, field, &error) < 0) {
            result = find(findings, &error);
        }
    }
    return result;
}

/* Fields that the schema does not have. */
static int check_known(const json_t *schema, const json_t *object, const char *field,
                       struct findings *findings) {
    const json_t *properties = json_object_get(schema, "properties");
    const char *key;
    json_t *value;
    int result = 0;
    if (json_object_get(schema, "additionalProperties") ||
        tree_bool(schema, "x-kubernetes-preserve-unknown-fields", false)) {
        return 0;
    }
    json_object_foreach((json_t *)object, key, value) {
        struct error error = {0};
        if ((result == 0 || goes_on(findings)) && !json_object_get(properties, key) &&
            schema_refuse_field(properties, key, field, &error) < 0) {
            result = find(findings, &error);
        }
    }
    return result;
}

static int check_object(const json_t *schema, const json_t *object, const char *field,
                        struct findings *findings) {
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *additional = json_object_get(schema, "additionalProperties");
    int64_t max = tree_integer(schema, "maxProperties", INT64_MAX);
    struct error error = {0};
    if ((int64_t)json_object_size(object) > max) {
        error_set(&error, ERROR_INVALID, "%s: %zu entries, at most %lld are allowed", field,
                  json_object_size(object), (long long)max);
        return find(findings, &error);
    }
    int result = check_known(schema, object, field, findings);
    if (result == 0 || goes_on(findings)) {
        result = MIN(result, check_required(schema, object, field, findings));
    }
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        const json_t *property = json_object_get(properties, key);
        property = property ? property : additional;
        char child[MANIFEST_FIELD_MAX];
        manifest_field(child, sizeof child, field, key);
        if (property && (result == 0 || goes_on(findings))) {
            result = MIN(result, check_value(property, value, child, findings));
        }
    }
    return result;
}

static int check_scalar(const struct schema_patterns *patterns, const json_t *schema,
                        const json_t *value, const char *field, struct error *err) {
    switch (json_typeof(value)) {
    case JSON_STRING:
        return check_string(patterns, schema, value, field, err);
    case JSON_INTEGER:
    case JSON_REAL:
        return check_number(schema, value, field, err);
    default:
        return 0;
    }
}

static int check_value(const json_t *schema, const json_t *value, const char *field,
                       struct findings *findings) {
    struct error error = {0};
    if (json_is_null(value) && tree_bool(schema, "nullable", false)) {
        return 0;
    }
    if (check_type(schema, value, field, &error) < 0 ||
        check_enum(schema, value, field, &error) < 0 ||
        check_scalar(findings->patterns, schema, value, field, &error) < 0) {
        return find(findings, &error);
    }
    return json_is_object(value)  ? check_object(schema, value, field, findings)
           : json_is_array(value) ? check_array(schema, value, field, findings)
                                  : 0;
}

/* Checks what every object has. The schema only restricts the name. */
static int check_metadata(const struct schema *schema, const json_t *metadata,
                          struct findings *findings) {
    static const char *const known[] = {
        "name",
        "generateName",
        "namespace",
        "labels",
        "annotations",
        "ownerReferences",
        "finalizers",
        "uid",
        "generation",
        "resourceVersion",
        "creationTimestamp",
        "deletionTimestamp",
        "selfLink",
        "managedFields",
        "deletionGracePeriodSeconds",
    };
    static const char open[] = "x-kubernetes-preserve-unknown-fields";
    AUTO(tree_freep) json_t *properties = json_object();
    AUTO(tree_freep) json_t *any = json_pack("{s:b, s:{s:b}}", open, 1, "items", open, 1);
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        json_object_set(properties, known[i], any);
    }
    json_object_set_new(
        properties, "name",
        json_deep_copy(tree_get(schema->root, "properties.metadata.properties.name")));
    AUTO(tree_freep)
    json_t *texts =
        json_pack("{s:s, s:{s:s}}", "type", "object", "additionalProperties", "type", "string");
    json_object_set(properties, "labels", texts);
    json_object_set(properties, "annotations", texts);
    json_object_set_new(properties, "namespace",
                        json_pack("{s:s, s:i}", "type", "string", "maxLength", 63));
    AUTO(tree_freep)
    json_t *whole = json_pack("{s:s, s:O, s:[s]}", "type", "object", "properties", properties,
                              "required", "name");
    return check_value(whole, metadata, "metadata", findings);
}

int schema_check_all(const struct schema *schema, const json_t *object, json_t *others,
                     struct error *err) {
    const json_t *metadata = json_object_get(object, "metadata");
    struct findings findings = {.patterns = schema->patterns, .first = err, .others = others};
    struct error error = {0};
    if (!metadata) {
        error_set(&error, ERROR_INVALID, "metadata: is missing: name the resource there");
        return find(&findings, &error);
    }
    int result = check_value(schema->root, object, "", &findings);
    return result < 0 && !others ? -1 : MIN(result, check_metadata(schema, metadata, &findings));
}

int schema_check(const struct schema *schema, const json_t *object, struct error *err) {
    return schema_check_all(schema, object, NULL, err);
}

/* A keyword, and whether check or fill must handle it. */
static const struct {
    const char *name;
    bool subschemas; /* an object of schemas */
    bool subschema;
} keywords[] = {
    {"type", false, false},
    {"description", false, false},
    {"format", false, false},
    {"properties", true, false},
    {"required", false, false},
    {"additionalProperties", false, true},
    {"items", false, true},
    {"enum", false, false},
    {"default", false, false},
    {"nullable", false, false},
    {"minimum", false, false},
    {"maximum", false, false},
    {"minLength", false, false},
    {"maxLength", false, false},
    {"pattern", false, false},
    {"minItems", false, false},
    {"maxItems", false, false},
    {"maxProperties", false, false},
    {"not", false, false},
    {"x-kubernetes-int-or-string", false, false},
    {"x-kubernetes-preserve-unknown-fields", false, false},
    {"x-kubernetes-list-type", false, false},
    {"x-kubernetes-list-map-keys", false, false},
    {"x-kubernetes-validations", false, false},
};

static int understand(struct schema_patterns **patterns, const json_t *schema, const char *field,
                      struct error *err);

static int understand_keyword(struct schema_patterns **patterns, const char *name,
                              const json_t *value, const char *field, struct error *err) {
    for (size_t i = 0; i < ARRAY_LEN(keywords); i++) {
        if (strcmp(keywords[i].name, name) != 0) {
            continue;
        }
        if (keywords[i].subschema) {
            return understand(patterns, value, field, err);
        }
        const char *key;
        json_t *child;
        json_object_foreach(keywords[i].subschemas ? (json_t *)value : NULL, key, child) {
            char inner[MANIFEST_FIELD_MAX];
            manifest_field(inner, sizeof inner, field, key);
            if (understand(patterns, child, inner, err) < 0) {
                return -1;
            }
        }
        return 0;
    }
    return error_set(err, ERROR_BUG, "schema of %s: unsupported keyword %s", field, name);
}

static int understand(struct schema_patterns **patterns, const json_t *schema, const char *field,
                      struct error *err) {
    if (!json_is_object(schema)) {
        return error_set(err, ERROR_BUG, "schema of %s: not an object", field);
    }
    const char *pattern = tree_text(schema, "pattern", NULL);
    if (pattern && schema_patterns_add(patterns, pattern) < 0) {
        return error_set(err, ERROR_BUG, "schema of %s: not a pattern: %s", field, pattern);
    }
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)schema, name, value) {
        if (understand_keyword(patterns, name, value, field, err) < 0) {
            return -1;
        }
    }
    return 0;
}

int schema_parse(const char *crd, size_t size, struct schema **ret_schema, struct error *err) {
    AUTO(manifest_freep) struct manifest *manifest = NULL;
    if (manifest_parse_bare("the embedded schema", crd, size, &manifest, err) < 0) {
        return -1;
    }
    json_t *tree = manifest->count == 1 ? manifest->documents[0].tree : NULL;
    json_t *root = tree_get(tree, "spec.versions[0].schema.openAPIV3Schema");
    const char *kind = tree_text(tree, "spec.names.kind", NULL);
    const char *group = tree_text(tree, "spec.group", NULL);
    const char *version = tree_text(tree, "spec.versions[0].name", NULL);
    json_t *metadata = tree_get(root, "properties.metadata");
    if (!json_is_object(metadata) || !kind || !group || !version) {
        return error_set(err, ERROR_BUG,
                         "the embedded schema is not a CustomResourceDefinition with a "
                         "group, a version and properties.metadata");
    }
    struct schema_patterns *patterns = NULL;
    if (understand(&patterns, root, "", err) < 0) {
        schema_patterns_free(patterns);
        return -1;
    }
    /* check_metadata checks the other fields of an object's metadata. */
    json_object_set_new(metadata, "x-kubernetes-preserve-unknown-fields", json_true());
    struct schema *schema = x_calloc(1, sizeof *schema);
    *schema = (struct schema){.crd = json_incref(tree),
                              .root = root,
                              .patterns = patterns,
                              .api_version = x_printf("%s/%s", group, version),
                              .kind = kind};
    *ret_schema = schema;
    return 0;
}

struct schema *schema_share(struct schema *schema) {
    schema->more_owners++;
    return schema;
}

void schema_free(struct schema *schema) {
    if (schema && schema->more_owners-- == 0) {
        json_decref(schema->crd);
        schema_patterns_free(schema->patterns);
        free(schema->api_version);
        free(schema);
    }
}

void schema_freep(struct schema **schema) {
    schema_free(*schema);
    *schema = NULL;
}

const char *schema_api_version(const struct schema *schema) {
    return schema->api_version;
}

bool schema_serves(const struct schema *schema, const char *api_version) {
    const char *group = tree_text(schema->crd, "spec.group", "");
    size_t length = strlen(group), i;
    json_t *version;
    if (strncmp(api_version, group, length) != 0 || api_version[length] != '/') {
        return false;
    }
    json_array_foreach(tree_get(schema->crd, "spec.versions"), i, version) {
        if (strcmp(tree_text(version, "name", ""), api_version + length + 1) == 0) {
            return true;
        }
    }
    return false;
}

const char *schema_kind(const struct schema *schema) {
    return schema->kind;
}

const json_t *schema_root(const struct schema *schema) {
    return schema->root;
}

const json_t *schema_crd(const struct schema *schema) {
    return schema->crd;
}
