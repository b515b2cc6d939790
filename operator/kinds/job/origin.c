// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/origin.h"

#include "operator/kinds/job/pod.h"

#include <stdlib.h>
#include <string.h>

static void leave_out_values(json_t *tree);

static void leave_out_variable(json_t *variable) {
    if (json_object_get(variable, "value")) {
        json_object_set_new(variable, "value", json_string("(left out)"));
    }
}

static void leave_out_member(const char *key, json_t *child) {
    const char *name;
    json_t *value;
    void *next;
    if (strcmp(key, "environment") == 0 && json_is_object(child)) {
        json_object_foreach_safe(child, next, name, value) {
            json_object_set_new(child, name, json_string("(left out)"));
        }
    } else if (strcmp(key, "env") == 0 && json_is_array(child)) {
        for (size_t i = 0; i < json_array_size(child); i++) {
            leave_out_variable(json_array_get(child, i));
        }
    } else {
        leave_out_values(child);
    }
}

static void leave_out_values(json_t *tree) {
    const char *key;
    json_t *child;
    json_object_foreach(tree, key, child) {
        leave_out_member(key, child);
    }
    for (size_t i = 0; i < json_array_size(tree); i++) {
        leave_out_values(json_array_get(tree, i));
    }
}

json_t *origin_manifest(const struct job_spec *spec) {
    json_t *own_spec = json_deep_copy(spec->json);
    leave_out_values(own_spec);
    json_t *manifest = json_object();
    json_object_set(manifest, "apiVersion", json_object_get(spec->object, "apiVersion"));
    json_object_set(manifest, "kind", json_object_get(spec->object, "kind"));
    json_object_set_new(manifest, "metadata",
                        json_pack("{s:s, s:s}", "name", spec->name, "namespace", spec->namespace));
    json_object_set_new(manifest, "spec", own_spec);
    return manifest;
}

void origin_add(json_t *environment, const struct job_spec *spec, json_t *images_new) {
    const json_t *key = json_object_get(spec->json, "signingKey");
    AUTO(tree_freep) json_t *images = images_new;
    AUTO(tree_freep) json_t *manifest = origin_manifest(spec);
    pod_add_tree(environment, "WINDLASS_MANIFEST", manifest);
    pod_add_tree(environment, "WINDLASS_IMAGES", images);
    if (key) {
        pod_add_secret(environment, "WINDLASS_SIGNING_KEY", tree_text(key, "secretName", ""),
                       tree_text(key, "key", ""));
    }
}
