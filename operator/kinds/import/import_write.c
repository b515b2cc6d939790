// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/import/import_write.h"

#include "operator/manifest.h"
#include "operator/manifest_write.h"

#include <string.h>

/* The fields of a spec in the order in which people read them; others follow. */
static const char *const order[] = {"objective",
                                    "parameters",
                                    "algorithm",
                                    "earlyStopping",
                                    "maxTrials",
                                    "maxConcurrentTrials",
                                    "maxFailedTrials",
                                    "trial",
                                    "input",
                                    "scorer",
                                    "output",
                                    "miniBatchSize",
                                    "errorThreshold",
                                    "miniBatchErrorThreshold",
                                    "retry",
                                    "workers",
                                    "minWorkers",
                                    "slotsPerWorker",
                                    "gpus",
                                    "image",
                                    "imagePullSecrets",
                                    "launcher",
                                    "command",
                                    "prepare",
                                    "inputs",
                                    "outputs",
                                    "environment",
                                    "secrets",
                                    "sharedMemory",
                                    "logs"};

/* Owned. */
static json_t *in_order(const json_t *spec) {
    json_t *sorted = json_object(), *value;
    const char *name;
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        if ((value = json_object_get(spec, order[i]))) {
            json_object_set(sorted, order[i], value);
        }
    }
    json_object_foreach((json_t *)spec, name, value) {
        json_object_set(sorted, name, value);
    }
    AUTO(tree_freep) json_t *trial = json_incref(json_object_get(spec, "trial"));
    if (trial) {
        json_object_set_new(sorted, "trial", in_order(trial));
    }
    return sorted;
}

/* One text of all lines; owned. */
static json_t *join(const json_t *lines) {
    char *all = x_strdup("");
    for (size_t i = 0; i < json_array_size(lines); i++) {
        AUTO(text_freep) char *before = all;
        all =
            x_printf("%s%s%s", before, i ? "\n" : "", json_string_value(json_array_get(lines, i)));
    }
    AUTO(text_freep) char *made = all;
    return json_string(made);
}

/* Owned. */
static json_t *remarks_of(const struct import *import, const char *from) {
    json_t *remarks = json_object(), *lines;
    const char *field;
    AUTO(tree_freep) json_t *left_out = join(import->left_out);
    json_object_set_new(
        remarks, "",
        json_sprintf(
            "Made by `windlass import` of %s.\nLook at each comment: it says what is still to "
            "be done, or what has no counterpart.%s%s",
            from, json_array_size(import->left_out) > 0 ? "\n\nLeft out:\n" : "",
            json_string_value(left_out)));
    json_object_foreach(import->notes, field, lines) {
        AUTO(text_freep) char *path = x_printf("spec.%s", field);
        json_object_set_new(remarks, path, join(lines));
    }
    return remarks;
}

int import_write(const struct import *import, const char *kind, const char *from, char **ret_text,
                 struct error *err) {
    AUTO(tree_freep) json_t *metadata = json_pack("{s:s}", "name", import->name);
    json_object_update(metadata, import->metadata);
    AUTO(tree_freep)
    json_t *object = json_pack("{s:s, s:s, s:O, s:o}", "apiVersion", "windlass.dev/v1beta1", "kind",
                               kind, "metadata", metadata, "spec", in_order(import->spec));
    AUTO(tree_freep) json_t *remarks = remarks_of(import, from);
    AUTO(text_freep) char *text = manifest_write(object, remarks);
    AUTO(manifest_freep) struct manifest *read = NULL;
    if (manifest_parse_bare("the manifest of it", text, strlen(text), &read, err) < 0) {
        return -1;
    }
    if (read->count != 1 || !json_equal(read->documents[0].tree, object)) {
        return error_set(err, ERROR_INVALID, "it is longer than a manifest may be");
    }
    *ret_text = TAKE(text);
    return 0;
}
