// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/accepted.h"

#include "operator/kinds/job/conditions.h"
#include "operator/kinds/job/owned.h"
#include "operator/kinds/job/spec.h"

#include <stdio.h>
#include <string.h>

enum { DIGITS = 8 }; /* of uid and hash in the name */
#define ROLE_SPEC "spec"

char *accepted_name(const char *job, const char *uid, const char *hash, int slot) {
    AUTO(text_freep) char *prefix = owned_prefix(job, OWNED_PREFIX_MAX);
    return slot < ACCEPTED_SLOTS ? x_printf("%s-%.*s-%d", prefix, DIGITS, uid, slot + 1)
                                 : x_printf("%s-%.*s-%.*s", prefix, DIGITS, uid, DIGITS, hash);
}

json_t *accepted_revision(const json_t *object, const char *hash, int slot) {
    AUTO(text_freep)
    char *name = accepted_name(tree_text(object, "metadata.name", ""),
                               tree_text(object, "metadata.uid", ""), hash, slot);
    return json_pack("{s:s, s:s, s:o, s:I, s:{s:O}}", "apiVersion", "apps/v1", "kind",
                     "ControllerRevision", "metadata", owned_metadata(object, name, ROLE_SPEC),
                     "revision", (json_int_t)tree_integer(object, "metadata.generation", 1), "data",
                     "spec", json_object_get(object, "spec"));
}

const json_t *accepted_read(const json_t *revision, const char *const *mutable_fields,
                            const char *hash) {
    const json_t *spec = tree_get(revision, "data.spec");
    char theirs[65];
    if (!json_is_object(spec)) {
        return NULL;
    }
    job_hash(spec, mutable_fields, theirs);
    return strcmp(theirs, hash) == 0 ? spec : NULL;
}

bool accepted_differs(const json_t *object, const char *const *mutable_fields) {
    const char *recorded = tree_text(object, "status.specHash", NULL);
    char hash[65];
    if (!recorded) {
        return false;
    }
    job_hash(json_object_get(object, "spec"), mutable_fields, hash);
    return strcmp(hash, recorded) != 0;
}

bool accepted_is_changed(const json_t *object, const char *const *mutable_fields) {
    const char *told = tree_text(conditions_find(object, "SpecChanged"), "status", "");
    const char *held = tree_text(conditions_find(object, "Stalled"), "reason", "");
    bool is_new = tree_integer(object, "metadata.generation", 0) !=
                  tree_integer(object, "status.observedGeneration", -1);
    bool may_be = is_new || strcmp(told, "True") == 0 || strcmp(held, "SpecChanged") == 0;
    return may_be && accepted_differs(object, mutable_fields);
}

/* Sets or removes the field at a path "a.b"; value NULL: removes it. */
static void put_field(json_t *tree, const char *path, json_t *value) {
    const char *dot = strchr(path, '.');
    if (!dot && value) {
        json_object_set(tree, path, value);
    } else if (!dot) {
        json_object_del(tree, path);
    } else {
        AUTO(text_freep) char *first = x_strndup(path, (size_t)(dot - path));
        put_field(value ? tree_ensure_object(tree, first) : json_object_get(tree, first), dot + 1,
                  value);
    }
}

json_t *accepted_apply(const json_t *object, const json_t *spec,
                       const char *const *mutable_fields) {
    json_t *applied = json_copy((json_t *)object);
    json_t *merged = json_deep_copy(spec);
    for (; *mutable_fields; mutable_fields++) {
        put_field(merged, *mutable_fields,
                  tree_get(json_object_get(object, "spec"), *mutable_fields));
    }
    json_object_set_new(applied, "spec", merged);
    return applied;
}

json_t *accepted_fill(const struct schema *schema, json_t *applied_new) {
    json_t *filled = schema ? schema_filled(schema, applied_new) : NULL;
    if (!filled) {
        return applied_new;
    }
    json_t *before = json_object_get(applied_new, SCHEMA_FILLED); /* of fields that may change */
    if (before) {
        json_array_extend(json_object_get(filled, SCHEMA_FILLED), before);
    }
    json_decref(applied_new);
    return filled;
}

/* Appends the paths of what differs, one level below the spec's fields. */
static void append_path(char *fields, const char *first, const char *second) {
    size_t used = strlen(fields);
    snprintf(fields + used, ACCEPTED_FIELDS_MAX - used, "%s%s%s%s", used ? ", " : "", first,
             second ? "." : "", second ? second : "");
}

static void append_parts(const json_t *ours, const json_t *theirs, const char *first,
                         char *fields) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)ours, name, value) {
        if (!json_equal(value, json_object_get(theirs, name))) {
            append_path(fields, first, name);
        }
    }
    json_object_foreach((json_t *)theirs, name, value) {
        if (!json_object_get(ours, name)) {
            append_path(fields, first, name);
        }
    }
}

void accepted_name_changes(const json_t *object, const json_t *spec,
                           const char *const *mutable_fields,
                           char ret_fields[static ACCEPTED_FIELDS_MAX]) {
    AUTO(tree_freep) json_t *applied = accepted_apply(object, spec, mutable_fields);
    AUTO(tree_freep) json_t *all = json_copy(json_object_get(applied, "spec"));
    const json_t *theirs = json_object_get(object, "spec");
    const char *name;
    json_t *value;
    json_object_update_missing(all, (json_t *)theirs);
    ret_fields[0] = 0;
    json_object_foreach(all, name, value) {
        const json_t *before = tree_get(applied, "spec"), *now = json_object_get(theirs, name);
        before = json_object_get(before, name);
        if (json_is_object(before) && json_is_object(now)) {
            append_parts(before, now, name, ret_fields);
        } else if (!before || !now || !json_equal(before, now)) {
            append_path(ret_fields, name, NULL);
        }
    }
}
