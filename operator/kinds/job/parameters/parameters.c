// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/parameters/parameters.h"

#include "lib/time/clock.h"
#include "operator/kinds/job/parameters/spec_texts.h"

#include <stdlib.h>
#include <string.h>

#define OPENS "$(parameters."
#define NAME_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

enum { NAME_MAX_LENGTH = 63, VALUE_MAX_LENGTH = 256, TIME_LENGTH = 20 };

/* One in a text. */
struct reference {
    const char *start, *end; /* "$", and after ")" */
    char name[NAME_MAX_LENGTH + 1];
};

/* At OPENS. */
static bool read_reference(const char *start, struct reference *ret) {
    const char *at = start + strlen(OPENS);
    ret->start = start;
    if (!spec_text_read(&at, NAME_LETTERS, ret->name, NAME_MAX_LENGTH) || *at++ != ')') {
        return false;
    }
    ret->end = at;
    return true;
}

static const json_t *list_of(const json_t *object) {
    return tree_get(object, "spec.parameters");
}

static bool is_sweep(const json_t *object) {
    return strcmp(tree_text(object, "kind", ""), "Sweep") == 0;
}

static bool is_on_change(const json_t *object) {
    return strcmp(tree_text(object, "spec.rerun", ""), "OnChange") == 0;
}

/* Its value is VOLUME/path, or an address. */
static bool is_path(const json_t *one) {
    return strcmp(tree_text(one, "from", ""), "Path") == 0;
}

/* ---- values in place ---- */

/* list: of parameters with their values. NULL: nothing is replaced, or the text would be too long.
 * Owned. */
static char *fill_text(const char *text, enum spec_text_use use, const void *list) {
    struct reference reference;
    char *filled = NULL;
    const char *copied = text;
    for (const char *at = text; (at = spec_text_find(at, OPENS)); at++) {
        const json_t *one =
            read_reference(at, &reference) ? tree_find(list, "name", reference.name) : NULL;
        const char *value = tree_text(one, "value", NULL);
        if (!value) {
            continue;
        }
        AUTO(text_freep) char *used = is_path(one) ? spec_text_place(value, use) : x_strdup(value);
        AUTO(text_freep) char *before = filled;
        filled = x_printf("%s%.*s%s", before ? before : "", (int)(at - copied), copied, used);
        copied = reference.end;
        at = reference.end - 1;
        if (strlen(filled) > SPEC_TEXT_MAX) {
            free(filled);
            return NULL;
        }
    }
    AUTO(text_freep) char *begun = filled;
    return begun ? x_printf("%s%s", begun, copied) : NULL;
}

static void fill_spec(json_t *object, const json_t *list) {
    json_object_set_new(object, "spec",
                        spec_texts_fill(json_object_get(object, "spec"), fill_text, list));
}

/* ---- what is refused ---- */

/* A field by its path: what a value is there. */
enum place { PLACE_PATH, PLACE_WORDS, PLACE_NAME, PLACE_NONE };

static bool lies_in(const char *field, const char *const *parents, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(parents[i]);
        if (strncmp(field, parents[i], length) == 0 && strchr(".[", field[length])) {
            return true;
        }
    }
    return false;
}

static enum place place_of(const struct spec_text *text) {
    static const char *const paths[] = {"path",  "manifest", "labels",   "images",
                                        "masks", "samples",  "tokenizer"};
    static const char *const none[] = {"spec.volumes", "spec.stores", "spec.buckets"};
    const char *dot = strrchr(text->field, '.'), *member = dot ? dot + 1 : "";
    if (text->use == SPEC_TEXT_PROGRAM) {
        return PLACE_WORDS;
    }
    if (lies_in(text->field, none, ARRAY_LEN(none))) {
        return PLACE_NONE;
    }
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        if (strcmp(member, paths[i]) == 0) {
            return PLACE_PATH;
        }
    }
    bool is_input = text_starts(text->field, "spec.input.");
    return is_input && strcmp(member, "pattern") == 0 ? PLACE_NAME
           : is_input && strcmp(member, "sql") == 0   ? PLACE_WORDS
                                                      : PLACE_NONE;
}

/* What the texts of one object are checked against. */
struct checking {
    const json_t *object, *list;
};

/* from: known only when a run starts. */
static int check_from(const struct checking *checking, const struct spec_text *text,
                      const json_t *one, struct error *err) {
    const char *name = tree_text(one, "name", "");
    bool is_input = text_starts(text->field, "spec.input.");
    if (text->use == SPEC_TEXT_PROGRAM) {
        return 0;
    }
    if (is_path(one)) {
        return error_set(err, ERROR_INVALID,
                         "%.300s: $(parameters.%s) is a whole path, for what a program "
                         "gets alone (a trigger's text is the input's path already)",
                         text->field, name);
    }
    if (is_input && !is_on_change(checking->object)) {
        return 0;
    }
    return error_set(err, ERROR_INVALID,
                     is_input ? "%.300s: $(parameters.%s) is known only when a run starts, and "
                                "rerun: OnChange looks at the input before"
                              : "%.300s: $(parameters.%s) is known only when a run starts; it is "
                                "for input, and for what a program gets",
                     text->field, name);
}

static int check_value(const struct spec_text *text, enum place place, const char *name,
                       const char *value, struct error *err) {
    size_t length = strlen(value);
    bool has_edge = length == 0 || value[0] == '/' || value[length - 1] == '/';
    if (place == PLACE_PATH && (has_edge || strstr(value, "//"))) {
        return error_set(err, ERROR_INVALID,
                         "%.300s: the value of %s is part of a path here, and \"%.100s\" begins or "
                         "ends with / or has //",
                         text->field, name, value);
    }
    return place == PLACE_NAME && strchr(value, '/')
               ? error_set(err, ERROR_INVALID,
                           "%.300s: the value of %s is part of a file's name here, and \"%.100s\" "
                           "has /",
                           text->field, name, value)
               : 0;
}

static int check_reference(const struct checking *checking, const struct spec_text *text,
                           const char *name, struct error *err) {
    const json_t *one = tree_find(checking->list, "name", name);
    enum place place = place_of(text);
    if (is_sweep(checking->object)) {
        return error_set(err, ERROR_INVALID,
                         "%.300s: $(parameters.%s) is not for a Sweep, whose trials get the values "
                         "of its parameters as $(NAME)",
                         text->field, name);
    }
    if (!one) {
        return error_set(err, ERROR_INVALID,
                         "%.300s: $(parameters.%s) is not in spec.parameters; add {name: %s, "
                         "value: ...}",
                         text->field, name, name);
    }
    if (place == PLACE_NONE) {
        return error_set(err, ERROR_INVALID,
                         "%.300s: takes no $(parameters.%s); paths, and what a program gets, do",
                         text->field, name);
    }
    const char *value = tree_text(one, "value", NULL);
    return value ? check_value(text, place, name, value, err)
                 : check_from(checking, text, one, err);
}

static int check_text(const struct spec_text *text, const void *context, struct error *err) {
    const struct checking *checking = context;
    struct reference reference;
    bool has_value = false;
    for (const char *at = text->text; (at = spec_text_find(at, OPENS)); at++) {
        if (!read_reference(at, &reference)) {
            return error_set(
                err, ERROR_INVALID,
                "%.300s: %.40s is not a reference; write $(parameters.NAME), or $$( for "
                "these characters",
                text->field, at);
        }
        if (check_reference(checking, text, reference.name, err) < 0) {
            return -1;
        }
        has_value |=
            tree_text(tree_find(checking->list, "name", reference.name), "value", NULL) != NULL;
    }
    AUTO(text_freep) char *filled = fill_text(text->text, text->use, checking->list);
    return has_value && !filled
               ? error_set(err, ERROR_INVALID, "%.300s: would be longer than %d characters",
                           text->field, SPEC_TEXT_MAX)
               : 0;
}

static int check_one(const json_t *object, const json_t *one, size_t index, struct error *err) {
    const char *from = tree_text(one, "from", NULL), *value = tree_text(one, "value", NULL);
    if (!from == !value) {
        return error_set(err, ERROR_INVALID,
                         "spec.parameters[%zu]: exactly one of value and from must be given",
                         index);
    }
    bool is_series = tree_get(object, "spec.trigger") || tree_get(object, "spec.schedule") ||
                     is_on_change(object);
    if (from && !is_series) {
        return error_set(err, ERROR_INVALID,
                         "spec.parameters: from is for trigger, schedule and rerun: OnChange, "
                         "whose runs have a time; give value");
    }
    return is_path(one) && !tree_get(object, "spec.trigger")
               ? error_set(err, ERROR_INVALID,
                           "spec.parameters: from: Path is for trigger, which names a path; take "
                           "Time or Date")
               : 0;
}

int parameters_check(const json_t *object, struct error *err) {
    const struct checking checking = {object, list_of(object)};
    for (size_t i = 0; i < json_array_size(checking.list) && !is_sweep(object); i++) {
        if (check_one(object, json_array_get(checking.list, i), i, err) < 0) {
            return -1;
        }
    }
    const json_t *spec = json_object_get(object, "spec");
    return tree_mentions(spec, OPENS) ? spec_texts_visit(spec, check_text, &checking, err) : 0;
}

/* ---- a whole object ---- */

json_t *parameters_fill(const json_t *object) {
    const json_t *list = list_of(object);
    struct error ignored = {0};
    AUTO(tree_freep) json_t *left = json_array();
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (!tree_get(json_array_get(list, i), "value")) {
            json_array_append(left, json_array_get(list, i));
        }
    }
    if (is_sweep(object) || json_array_size(left) == json_array_size(list) ||
        parameters_check(object, &ignored) < 0) {
        return NULL;
    }
    json_t *filled = json_copy((json_t *)object);
    fill_spec(filled, list);
    if (json_array_size(left) > 0) {
        json_object_set(json_object_get(filled, "spec"), "parameters", left);
    } else {
        json_object_del(json_object_get(filled, "spec"), "parameters");
    }
    return filled;
}

/* "2026-11-21", or the time as in the name of the run's folder. */
static char *format_time(int64_t time_ms, bool is_date) {
    char text[TIME_LENGTH + 1], *to = text;
    clock_format(time_ms, text);
    if (is_date) {
        return x_strndup(text, strcspn(text, "T"));
    }
    for (const char *at = text; *at; at++) {
        if (*at != '-' && *at != ':') {
            *to++ = *at;
        }
    }
    *to = 0;
    return x_strdup(text);
}

/* Gives the parameter the run's value. */
static int set_from(json_t *one, size_t index, const struct parameters_run *run,
                    struct error *err) {
    const char *from = tree_text(one, "from", NULL), *path = run->path ? run->path : "";
    if (!from) {
        return 0;
    }
    if (is_path(one) && (!*path || !spec_text_is_plain(path))) {
        return error_set(err, ERROR_INVALID,
                         "spec.parameters[%zu]: the path that changed is \"%.100s\": expected "
                         "letters, digits and . _ / : = @ + -",
                         index, path);
    }
    AUTO(text_freep)
    char *value =
        is_path(one) ? x_strdup(path) : format_time(run->time_ms, strcmp(from, "Date") == 0);
    json_object_set_new(one, "value", json_string(value));
    return 0;
}

int parameters_fill_run(json_t *object, const struct parameters_run *run, struct error *err) {
    AUTO(tree_freep) json_t *values = json_deep_copy(list_of(object));
    const struct checking checking = {object, values};
    for (size_t i = 0; i < json_array_size(values); i++) {
        if (set_from(json_array_get(values, i), i, run, err) < 0) {
            return -1;
        }
    }
    if (!values) {
        return 0;
    }
    if (spec_texts_visit(json_object_get(object, "spec"), check_text, &checking, err) < 0) {
        return -1;
    }
    fill_spec(object, values);
    json_object_del(json_object_get(object, "spec"), "parameters");
    return 0;
}

/* ---- --set ---- */

static bool is_value(const json_t *given, const char *value) {
    char *end;
    if (json_is_string(given)) {
        return strcmp(json_string_value(given), value) == 0;
    }
    double number = strtod(value, &end);
    return json_is_number(given) && !*end && number == json_number_value(given);
}

static bool has_value(const json_t *values, const char *value) {
    for (size_t i = 0; i < json_array_size(values); i++) {
        if (is_value(json_array_get(values, i), value)) {
            return true;
        }
    }
    return false;
}

/* What a Sweep varies only while `name` has another value is never active now. Parents come before
 * their children. */
static void drop_inactive(json_t *list, const char *name, const char *value) {
    AUTO(tree_freep) json_t *gone = json_array();
    for (size_t i = 0; i < json_array_size(list);) {
        json_t *one = json_array_get(list, i), *when = json_object_get(one, "when");
        const char *parent = tree_text(when, "parameter", "");
        bool is_child = strcmp(parent, name) == 0;
        bool is_active = !is_child || has_value(json_object_get(when, "values"), value);
        if (!is_active || tree_has_text(gone, parent)) {
            json_array_append_new(gone, json_string(tree_text(one, "name", "")));
            json_array_remove(list, i);
            continue;
        }
        if (is_child) {
            json_object_set_new(when, "values", json_pack("[s]", value));
        }
        i++;
    }
}

bool parameters_set(json_t *object, const char *name, const char *value) {
    json_t *one = (json_t *)tree_find(list_of(object), "name", name);
    if (!one) {
        return false;
    }
    json_t *when = json_incref(json_object_get(one, "when"));
    json_object_clear(one);
    json_object_set_new(one, "name", json_string(name));
    if (is_sweep(object)) {
        json_object_set_new(one, "choice", json_pack("[s]", value));
        drop_inactive((json_t *)list_of(object), name, value);
    } else {
        json_object_set_new(one, "value", json_string(value));
    }
    if (when) {
        json_object_set_new(one, "when", when);
    }
    return true;
}

int parameters_split(const char *text, char **ret_name, const char **ret_value, struct error *err) {
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : 0;
    if (length == 0 || length > NAME_MAX_LENGTH || strspn(text, NAME_LETTERS) != length) {
        return error_set(err, ERROR_INVALID,
                         "--set %.100s: expected NAME=VALUE, where NAME is one of spec.parameters",
                         text);
    }
    const char *value = equals + 1;
    if (!*value || strlen(value) > VALUE_MAX_LENGTH || !spec_text_is_plain(value)) {
        return error_set(err, ERROR_INVALID,
                         "--set %.100s: expected a value of 1 to %d letters, digits and . _ / : = "
                         "@ + -",
                         text, VALUE_MAX_LENGTH);
    }
    *ret_name = x_strndup(text, length);
    *ret_value = value;
    return 0;
}
