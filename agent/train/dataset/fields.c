// SPDX-License-Identifier: Apache-2.0
#include "agent/train/dataset/fields.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int fields_text(const json_t *object, const char *name, const char **ret_text, struct error *err) {
    const char *text = json_string_value(json_object_get(object, name));
    if (!text || !*text) {
        return error_set(err, ERROR_INVALID, "%s: a string is expected", name);
    }
    *ret_text = text;
    return 0;
}

int fields_integer(const json_t *object, const char *name, const int64_t range[2],
                   int64_t *ret_value, struct error *err) {
    const json_t *member = json_object_get(object, name);
    int64_t value = json_integer_value(member);
    if (!json_is_integer(member) || value < range[0] || value > range[1]) {
        return error_set(err, ERROR_INVALID, "%s: an integer from %lld to %lld is expected", name,
                         (long long)range[0], (long long)range[1]);
    }
    *ret_value = value;
    return 0;
}

int fields_number(const json_t *object, const char *name, double *ret_value, struct error *err) {
    const json_t *member = json_object_get(object, name);
    const char *text = json_string_value(member);
    double value = json_number_value(member);
    bool is_number = json_is_number(member);
    if (text && *text) {
        char *end;
        errno = 0;
        value = strtod(text, &end);
        is_number = *end == 0 && errno == 0;
    }
    if (!is_number || !isfinite(value)) {
        return error_set(err, ERROR_INVALID, "%s: a number is expected", name);
    }
    *ret_value = value;
    return 0;
}

int fields_flag(const json_t *object, const char *name, bool *ret_value, struct error *err) {
    const json_t *member = json_object_get(object, name);
    if (!json_is_boolean(member)) {
        return error_set(err, ERROR_INVALID, "%s: true or false is expected", name);
    }
    *ret_value = json_is_true(member);
    return 0;
}

int fields_array(const json_t *object, const char *name, size_t max, const json_t **ret_array,
                 struct error *err) {
    const json_t *member = json_object_get(object, name);
    size_t size = json_array_size(member);
    if (size < 1 || size > max) {
        return error_set(err, ERROR_INVALID, "%s: a list of 1 to %zu items is expected", name, max);
    }
    *ret_array = member;
    return 0;
}

int fields_choice(const json_t *object, const char *name, const char *const *names, int *ret_index,
                  struct error *err) {
    const char *text = json_string_value(json_object_get(object, name));
    char known[200] = "";
    for (int i = 0; names[i]; i++) {
        if (text && strcmp(text, names[i]) == 0) {
            *ret_index = i;
            return 0;
        }
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", names[i]);
    }
    return error_set(err, ERROR_INVALID, "%s: one of %s is expected", name, known);
}
