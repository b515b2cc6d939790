// SPDX-License-Identifier: Apache-2.0
#include "agent/data/text/setting.h"

#include "lib/buffer.h"

#include <assert.h>
#include <string.h>

enum { SHOWN_MAX = 40 /* characters of a foreign name in a message */, SETTING_TYPES_MAX = 16 };

const char *setting_type(const json_t *object) {
    const char *type = json_string_value(json_object_get(object, "type"));
    return type ? type : "";
}

static const json_t *field_of(const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    return json_is_null(value) ? NULL : value;
}

int setting_bool(const json_t *object, const char *name, bool otherwise, bool *ret_value,
                 struct error *err) {
    const json_t *value = field_of(object, name);
    if (value && !json_is_boolean(value)) {
        return error_set(err, ERROR_INVALID, "%s: expected true or false", name);
    }
    *ret_value = value ? json_is_true(value) : otherwise;
    return 0;
}

int setting_string(const json_t *object, const char *name, struct setting_text *ret_text,
                   struct error *err) {
    const json_t *value = field_of(object, name);
    *ret_text = (struct setting_text){0};
    if (!value) {
        return 0;
    }
    if (!json_is_string(value)) {
        return error_set(err, ERROR_INVALID, "%s: expected a string", name);
    }
    *ret_text = (struct setting_text){json_string_value(value), json_string_length(value)};
    if (ret_text->size > SETTING_TEXT_MAX) {
        return error_set(err, ERROR_INVALID, "%s: it has %zu bytes, at most %d are read", name,
                         ret_text->size, SETTING_TEXT_MAX);
    }
    return 0;
}

int setting_needed(const json_t *object, const char *name, struct setting_text *ret_text,
                   struct error *err) {
    if (setting_string(object, name, ret_text, err) < 0) {
        return -1;
    }
    return ret_text->data ? 0 : error_set(err, ERROR_INVALID, "%s: missing", name);
}

int setting_whole(const json_t *object, const char *name, int64_t max, int64_t *ret_value,
                  struct error *err) {
    const json_t *value = json_object_get(object, name);
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > max) {
        return error_set(err, ERROR_INVALID, "%s: expected a whole number of 0 to %lld", name,
                         (long long)max);
    }
    *ret_value = json_integer_value(value);
    return 0;
}

/* "a, b, c" */
static void append_names(struct buffer *text, const char *const *names) {
    struct error ignored = {0};
    for (size_t i = 0; names[i]; i++) {
        if (buffer_printf(text, &ignored, "%s%s", i ? ", " : "", names[i]) < 0) {
            return;
        }
    }
}

int setting_choice(const json_t *object, const char *name, const char *const *names, int otherwise,
                   int *ret_place, struct error *err) {
    const json_t *value = field_of(object, name);
    if (!value && otherwise >= 0) {
        *ret_place = otherwise;
        return 0;
    }
    const char *text = json_string_value(value);
    for (int i = 0; text && names[i]; i++) {
        if (strcmp(text, names[i]) == 0) {
            *ret_place = i;
            return 0;
        }
    }
    AUTO(buffer_release) struct buffer all;
    buffer_init(&all, sizeof err->text);
    append_names(&all, names);
    return error_set(err, ERROR_INVALID, "%s: expected one of %s", name, all.data);
}

int setting_pattern(const json_t *object, struct setting_text *ret_text, bool *ret_is_regex,
                    struct error *err) {
    const json_t *pattern = json_object_get(object, "pattern");
    *ret_is_regex = json_object_get(pattern, "Regex") != NULL;
    const char *name = *ret_is_regex ? "Regex" : "String";
    if (!json_is_object(pattern) || setting_needed(pattern, name, ret_text, err) < 0 ||
        ret_text->size == 0) {
        error_clear(err);
        error_set(err, ERROR_INVALID, "expected {\"String\": TEXT} or {\"Regex\": TEXT}");
        return error_context(err, "pattern");
    }
    return 0;
}

int setting_unknown(const json_t *object, const char *const *names, struct error *err) {
    AUTO(buffer_release) struct buffer all;
    buffer_init(&all, sizeof err->text);
    append_names(&all, names);
    const char *type = setting_type(object);
    if (!*type) {
        return error_set(err, ERROR_INVALID, "type: missing; supported: %s", all.data);
    }
    char shown[SHOWN_MAX + 1];
    size_t size = 0;
    for (; type[size] && size < SHOWN_MAX; size++) {
        shown[size] = (char)(type[size] > ' ' && type[size] < 0x7f ? type[size] : '?');
    }
    shown[size] = 0;
    return error_set(err, ERROR_UNSUPPORTED, "type \"%s\" is not supported; supported: %s", shown,
                     all.data);
}

int setting_find(const json_t *object, const struct setting_types *types, struct error *err) {
    const char *names[SETTING_TYPES_MAX + 2] = {"Sequence"};
    assert(types->count <= SETTING_TYPES_MAX);
    for (size_t i = 0; i < types->count; i++) {
        memcpy(&names[i + 1], (const char *)types->rows + i * types->size, sizeof names[i + 1]);
        if (strcmp(setting_type(object), names[i + 1]) == 0) {
            return (int)i;
        }
    }
    return setting_unknown(object, names, err);
}

static int each(const json_t *component, const struct setting_sequence *sequence, int depth,
                struct error *err) {
    if (strcmp(setting_type(component), "Sequence") != 0) {
        return sequence->read(sequence->context, component, err);
    }
    const json_t *list = json_object_get(component, sequence->member);
    if (!json_is_array(list) || depth == SETTING_DEPTH_MAX) {
        return error_set(err, ERROR_INVALID, "%s: expected a list, nested at most %d deep",
                         sequence->member, SETTING_DEPTH_MAX);
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (each(json_array_get(list, i), sequence, depth + 1, err) < 0) {
            return error_context(err, "%s[%zu]", sequence->member, i);
        }
    }
    return 0;
}

int setting_each(const json_t *component, const struct setting_sequence *sequence,
                 struct error *err) {
    return each(component, sequence, 0, err);
}
