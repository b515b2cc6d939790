// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/progress_fields.h"

#include <string.h>

enum { OUTPUTS_MAX = 16 };

void progress_fields_text(json_t *status, const json_t *progress, const char *name, size_t max) {
    const char *text = tree_text(progress, name, NULL);
    if (text && *text && strlen(text) <= max) {
        json_object_set_new(status, name, json_string(text));
    }
}

bool progress_fields_number(json_t *status, const json_t *progress, const char *name) {
    const json_t *number = json_object_get(progress, name);
    if (!json_is_integer(number) || json_integer_value(number) < 0) {
        return false;
    }
    json_object_set_new(status, name, json_integer(json_integer_value(number)));
    return true;
}

void progress_fields_outputs(json_t *status, const json_t *progress) {
    const json_t *outputs = json_object_get(progress, "outputs");
    AUTO(tree_freep) json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(outputs) && json_array_size(list) < OUTPUTS_MAX; i++) {
        const char *path = json_string_value(json_array_get(outputs, i));
        if (path && strlen(path) <= PROGRESS_FIELDS_PATH_MAX) {
            json_array_append_new(list, json_string(path));
        }
    }
    if (json_array_size(list) > 0) {
        json_object_set(status, "outputs", list);
    }
}
