// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/spec_snapshot.h"

#include "operator/kinds/job/owned.h"

#include <string.h>

/* Without the spec, if that makes it too long. */
static char *write_line(json_t *begun) {
    AUTO(text_freep) char *text = tree_canonical(begun);
    if (strlen(text) <= SPEC_SNAPSHOT_MAX) {
        return TAKE(text);
    }
    json_object_del(begun, "spec");
    return tree_canonical(begun);
}

char *spec_snapshot_write(const struct job_spec *spec, bool has_begun) {
    const char *standard = spec->is_image_given ? NULL : spec->image;
    AUTO(tree_freep)
    json_t *begun = json_pack("{s:s*, s:I, s:s, s:s, s:O}", "agentImage", standard, "generation",
                              (json_int_t)spec->generation, "run", spec->run, "specHash",
                              spec->hash, "spec", spec->json);
    if (has_begun) {
        json_object_set_new(begun, "begun", json_true());
    }
    return write_line(begun);
}

/* NULL unless it is complete; owned by the caller. */
static json_t *read_begun(const json_t *service) {
    const char *text = owned_annotation(service, ANNOTATION_SPEC_SNAPSHOT);
    struct error ignored = {0};
    json_t *begun = NULL;
    if (!text || !owned_annotation(service, ANNOTATION_SECRET) ||
        !owned_annotation(service, ANNOTATION_CERTIFICATE_SHA256) ||
        tree_parse(text, strlen(text), SPEC_SNAPSHOT_MAX, &begun, &ignored) < 0) {
        return NULL;
    }
    if (!*tree_text(begun, "run", "") || !*tree_text(begun, "specHash", "") ||
        tree_integer(begun, "generation", -1) < 0) {
        tree_freep(&begun);
    }
    return begun;
}

json_t *spec_snapshot_read(const json_t *service, const char *const *mutable_fields,
                           const char *hash) {
    AUTO(tree_freep) json_t *begun = read_begun(service);
    const json_t *spec = json_object_get(begun, "spec");
    char theirs[65];
    if (!json_is_object(spec)) {
        return NULL;
    }
    job_hash(spec, mutable_fields, theirs);
    return strcmp(theirs, hash) == 0 ? json_incref((json_t *)spec) : NULL;
}

char *spec_snapshot_move(const json_t *service, const json_t *object) {
    AUTO(tree_freep) json_t *begun = read_begun(service);
    json_t *hash = tree_get(object, "status.specHash");
    if (!begun || !json_is_string(hash) ||
        strcmp(json_string_value(hash), tree_text(begun, "specHash", "")) == 0) {
        return NULL;
    }
    json_object_set(begun, "specHash", hash);
    json_object_set(begun, "spec", json_object_get(object, "spec"));
    json_object_set(begun, "generation", tree_get(object, "metadata.generation"));
    json_object_set_new(begun, "begun", json_true());
    return write_line(begun);
}

static json_t *status_of(const json_t *object, const json_t *service, const json_t *begun) {
    static const char *const fields[] = {"run", "specHash", "agentImage"};
    const json_t *old = json_object_get(object, "status");
    json_t *status = json_is_object(old) ? json_copy((json_t *)old) : json_object();
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        json_t *value = json_object_get(begun, fields[i]);
        if (json_is_string(value)) {
            json_object_set(status, fields[i], value);
        }
    }
    json_object_set(status, "observedGeneration", json_object_get(begun, "generation"));
    json_object_set_new(status, "credentials",
                        json_pack("{s:s, s:s, s:b}", "secret",
                                  owned_annotation(service, ANNOTATION_SECRET), "certificateSHA256",
                                  owned_annotation(service, ANNOTATION_CERTIFICATE_SHA256),
                                  "created", false));
    return status;
}

json_t *spec_snapshot_restore(const json_t *object, const json_t *service, bool has_pods) {
    bool is_written = tree_get(object, "status.credentials") != NULL;
    AUTO(tree_freep) json_t *begun = is_written ? NULL : read_begun(service);
    bool is_same =
        tree_integer(begun, "generation", -1) == tree_integer(object, "metadata.generation", 0);
    if (!begun || (!has_pods && !is_same && !tree_bool(begun, "begun", false))) {
        return json_incref((json_t *)object);
    }
    json_t *recalled = json_copy((json_t *)object);
    json_object_set_new(recalled, "status", status_of(object, service, begun));
    return recalled;
}
