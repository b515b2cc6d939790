// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/trial_spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TTL_SECONDS = 3600 };
#define NAME_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

/* ---- $(NAME) ---- */

/* The next $(NAME) from `at` on that is not escaped: its "$", and in *ret_end the position after
 * its ")". NULL: there is none. */
static const char *next_reference(const char *at, const char **ret_end) {
    while ((at = strchr(at, '$'))) {
        size_t dollars = strspn(at, "$");
        at += dollars;
        size_t length = *at == '(' ? strspn(at + 1, NAME_LETTERS) : 0;
        if (length > 0 && at[1 + length] == ')' && dollars % 2 == 1) {
            *ret_end = at + length + 2;
            return at - 1;
        }
    }
    return NULL;
}

/* The value of the reference; NULL: it is not a parameter. Borrowed. */
static const char *value_of(const char *reference, const char *end, const json_t *values) {
    AUTO(text_freep) char *name = x_strndup(reference + 2, (size_t)(end - reference) - 3);
    return json_string_value(json_object_get(values, name));
}

/* Whether the text has a reference to a parameter that is not active. */
static bool is_left_out(const char *text, const json_t *values) {
    const char *end, *reference;
    while ((reference = next_reference(text, &end))) {
        AUTO(text_freep) char *name = x_strndup(reference + 2, (size_t)(end - reference) - 3);
        if (json_is_null(json_object_get(values, name))) {
            return true;
        }
        text = end;
    }
    return false;
}

/* Copies to out, or only counts when out is NULL; returns the number of bytes. */
static size_t put(char *out, size_t at, const char *text, size_t length) {
    if (out) {
        memcpy(out + at, text, length);
    }
    return at + length;
}

static size_t replace_into(char *out, const char *text, const json_t *values) {
    const char *end, *reference;
    size_t size = 0;
    while ((reference = next_reference(text, &end))) {
        const char *value = value_of(reference, end, values);
        size = put(out, size, text, (size_t)((value ? reference : end) - text));
        size = value ? put(out, size, value, strlen(value)) : size;
        text = end;
    }
    return put(out, size, text, strlen(text));
}

static json_t *replace(const char *text, const json_t *values) {
    size_t size = replace_into(NULL, text, values);
    AUTO(text_freep) char *out = x_malloc(size + 1);
    replace_into(out, text, values);
    return json_stringn(out, size);
}

/* The value in the schema's type. A value that is not of that type stays a text, and the schema
 * check reports it. */
static json_t *typed(const char *value, const json_t *schema) {
    const char *type = tree_text(schema, "type", "string");
    bool is_open = tree_bool(schema, "x-kubernetes-int-or-string", false);
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    bool is_whole = *value && !*end && errno == 0 && !strchr(" \t+", *value);
    if (is_whole && (is_open || strcmp(type, "integer") == 0)) {
        return json_integer(number);
    }
    bool is_true = strcmp(value, "true") == 0;
    if (strcmp(type, "boolean") == 0 && (is_true || strcmp(value, "false") == 0)) {
        return json_boolean(is_true);
    }
    return json_string(value);
}

static json_t *fill_text(const char *text, const json_t *schema, const json_t *values) {
    const char *end, *reference = next_reference(text, &end);
    if (is_left_out(text, values)) {
        return NULL;
    }
    const char *value = reference == text && !*end ? value_of(reference, end, values) : NULL;
    return value ? typed(value, schema) : replace(text, values);
}

json_t *trial_spec_fill(const json_t *tree, const json_t *schema, const json_t *values) {
    if (json_is_string(tree)) {
        return fill_text(json_string_value(tree), schema, values);
    }
    if (json_is_array(tree)) {
        json_t *list = json_array();
        for (size_t i = 0; i < json_array_size(tree); i++) {
            json_t *one =
                trial_spec_fill(json_array_get(tree, i), json_object_get(schema, "items"), values);
            if (one) {
                json_array_append_new(list, one);
            }
        }
        return list;
    }
    if (!json_is_object(tree)) {
        return json_deep_copy(tree);
    }
    json_t *object = json_object(), *child;
    const char *key;
    json_object_foreach((json_t *)tree, key, child) {
        const json_t *inner = json_object_get(json_object_get(schema, "properties"), key);
        inner = inner ? inner : json_object_get(schema, "additionalProperties");
        json_t *one = trial_spec_fill(child, inner, values);
        if (one) {
            json_object_set_new(object, key, one);
        }
    }
    return object;
}

static bool text_uses(const char *text, const char *name) {
    const char *end, *reference;
    size_t length = strlen(name);
    while ((reference = next_reference(text, &end))) {
        if ((size_t)(end - reference) == length + 3 && strncmp(reference + 2, name, length) == 0) {
            return true;
        }
        text = end;
    }
    return false;
}

bool trial_spec_uses(const json_t *tree, const char *name) {
    if (json_is_string(tree)) {
        return text_uses(json_string_value(tree), name);
    }
    for (size_t i = 0; i < json_array_size(tree); i++) {
        if (trial_spec_uses(json_array_get(tree, i), name)) {
            return true;
        }
    }
    const char *key;
    json_t *child;
    json_object_foreach(json_is_object(tree) ? (json_t *)tree : NULL, key, child) {
        if (trial_spec_uses(child, name)) {
            return true;
        }
    }
    return false;
}

bool trial_spec_follows_option(const json_t *tree, const char *name) {
    AUTO(text_freep) char *alone = x_printf("$(%s)", name);
    const char *key;
    json_t *child;
    for (size_t i = 0; i < json_array_size(tree); i++) {
        const char *text = json_string_value(json_array_get(tree, i));
        const char *before = i > 0 ? json_string_value(json_array_get(tree, i - 1)) : NULL;
        bool follows = text && before && *before == '-' && strcmp(text, alone) == 0;
        if (follows || trial_spec_follows_option(json_array_get(tree, i), name)) {
            return true;
        }
    }
    json_object_foreach(json_is_object(tree) ? (json_t *)tree : NULL, key, child) {
        if (trial_spec_follows_option(child, name)) {
            return true;
        }
    }
    return false;
}

/* ---- extras ---- */

static void set_variable(json_t *environment, const char *name, const char *value) {
    if (!json_object_get(environment, name)) {
        json_object_set_new(environment, name, json_string(value));
    }
}

static void set_environment(json_t *spec, const json_t *values) {
    json_t *environment = tree_ensure_object(spec, "environment"), *value;
    const char *name;
    json_object_foreach((json_t *)values, name, value) {
        AUTO(text_freep) char *variable = x_printf(TRIAL_SPEC_VARIABLE "%s", name);
        set_variable(environment, variable, json_string_value(value));
    }
    set_variable(environment, "PYTHONUNBUFFERED", "1");
}

static void set_below(json_t *object, const char *folder) {
    const char *path = tree_text(object, "path", NULL);
    if (path) {
        AUTO(text_freep) char *below = x_printf("%s/%s", path, folder);
        json_object_set_new(object, "path", json_string(below));
    }
}

void trial_spec_extend(json_t *spec, const struct trial_spec_extras *extras) {
    set_environment(spec, extras->values);
    json_object_update(tree_ensure_object(spec, "metrics"), (json_t *)extras->metrics);
    if (!json_object_get(spec, "ttlSecondsAfterFinished")) {
        json_object_set_new(spec, "ttlSecondsAfterFinished", json_integer(TTL_SECONDS));
    }
    set_below(tree_get(spec, "trainer.output"), extras->folder);
    set_below(json_object_get(spec, "logs"), extras->folder);
    const json_t *outputs = json_object_get(spec, "outputs");
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        set_below(json_array_get(outputs, i), extras->folder);
    }
}
