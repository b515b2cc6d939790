// SPDX-License-Identifier: Apache-2.0
#include "operator/show/shown_tree.h"

#include "lib/text/shown.h"

static json_t *shown_object(const json_t *object) {
    json_t *copy = json_object();
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        json_object_set_new(copy, key, shown_tree(value));
    }
    return copy;
}

static json_t *shown_array(const json_t *array) {
    json_t *copy = json_array();
    size_t i;
    json_t *value;
    json_array_foreach(array, i, value) {
        json_array_append_new(copy, shown_tree(value));
    }
    return copy;
}

json_t *shown_tree(const json_t *tree) {
    if (json_is_object(tree)) {
        return shown_object(tree);
    }
    if (json_is_array(tree)) {
        return shown_array(tree);
    }
    if (json_is_string(tree)) {
        AUTO(text_freep)
        char *text = shown_text(json_string_value(tree), json_string_length(tree));
        return json_string(text);
    }
    return json_incref((json_t *)tree); /* a number, true, false, null */
}
