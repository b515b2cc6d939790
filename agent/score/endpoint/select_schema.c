// SPDX-License-Identifier: Apache-2.0
/* Checks an answer's JSON against the schema that the spec names. */
#include "agent/score/endpoint/select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 32, PLACE_MAX = 200 };

struct fitting {
    char place[PLACE_MAX]; /* of the value: a JSON pointer */
    int depth;
    struct error *err;
};

static int fit(struct fitting *fitting, const json_t *schema, const json_t *value);

PRINTF_LIKE(2, 3)
static int refuse(struct fitting *fitting, const char *format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return error_set(fitting->err, ERROR_INVALID, "%s%s%s", fitting->place,
                     fitting->place[0] ? ": " : "", text);
}

static int fit_at(struct fitting *fitting, const json_t *schema, const json_t *value,
                  const char *part) {
    size_t size = strlen(fitting->place);
    snprintf(fitting->place + size, PLACE_MAX - size, "/%.60s", part);
    int result = fit(fitting, schema, value);
    fitting->place[size] = 0;
    return result;
}

/* ---- types ---------------------------------------------------------------------------------- */

static bool is_of_type(const json_t *value, const char *type) {
    bool is_whole =
        json_is_integer(value) ||
        (json_is_real(value) && json_real_value(value) >= -9e15 && json_real_value(value) <= 9e15 &&
         json_real_value(value) == (double)(int64_t)json_real_value(value));
    return strcmp(type, "object") == 0    ? json_is_object(value)
           : strcmp(type, "array") == 0   ? json_is_array(value)
           : strcmp(type, "string") == 0  ? json_is_string(value)
           : strcmp(type, "number") == 0  ? json_is_number(value)
           : strcmp(type, "integer") == 0 ? is_whole
           : strcmp(type, "boolean") == 0 ? json_is_boolean(value)
                                          : json_is_null(value);
}

static int fit_type(struct fitting *fitting, const json_t *schema, const json_t *value) {
    const json_t *type = json_object_get(schema, "type");
    bool fits = !type || (json_is_string(type) && is_of_type(value, json_string_value(type)));
    for (size_t i = 0; i < json_array_size(type); i++) {
        const char *name = json_string_value(json_array_get(type, i));
        fits = fits || is_of_type(value, name ? name : "");
    }
    AUTO(text_freep) char *wanted = tree_compact(type);
    return fits ? 0 : refuse(fitting, "is not of type %.60s", wanted);
}

static int fit_values(struct fitting *fitting, const json_t *schema, const json_t *value) {
    const json_t *choices = json_object_get(schema, "enum");
    const json_t *only = json_object_get(schema, "const");
    AUTO(text_freep) char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    bool is_listed = !choices;
    for (size_t i = 0; i < json_array_size(choices); i++) {
        is_listed = is_listed || json_equal(json_array_get(choices, i), value);
    }
    if (!is_listed) {
        return refuse(fitting, "%.100s is not in enum", text ? text : "");
    }
    return only && !json_equal(only, value) ? refuse(fitting, "%.100s differs from const", text)
                                            : 0;
}

/* ---- bounds --------------------------------------------------------------------------------- */

static size_t characters(const json_t *text) {
    size_t count = 0;
    for (const char *at = json_string_value(text); *at; at++) {
        count += ((unsigned char)*at & 0xC0) != 0x80;
    }
    return count;
}

static int fit_bounds(struct fitting *fitting, const json_t *schema, const json_t *value) {
    static const struct {
        const char *name;
        bool is_least, is_open;
    } rows[] = {{"minimum", true, false},         {"maximum", false, false},
                {"exclusiveMinimum", true, true}, {"exclusiveMaximum", false, true},
                {"minLength", true, false},       {"maxLength", false, false},
                {"minItems", true, false},        {"maxItems", false, false}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const json_t *bound = json_object_get(schema, rows[i].name);
        bool is_length = i == 4 || i == 5, is_items = i > 5;
        bool applies = is_length  ? json_is_string(value)
                       : is_items ? json_is_array(value)
                                  : json_is_number(value);
        if (!bound || !applies) {
            continue;
        }
        double given = is_length  ? (double)characters(value)
                       : is_items ? (double)json_array_size(value)
                                  : json_number_value(value);
        double most = json_number_value(bound);
        bool is_fine = rows[i].is_least ? given >= most : given <= most;
        is_fine = is_fine && (!rows[i].is_open || given != most);
        if (!is_fine) {
            return refuse(fitting, "%g is not within %s %g", given, rows[i].name, most);
        }
    }
    return 0;
}

/* ---- what is inside ------------------------------------------------------------------------- */

static int fit_object(struct fitting *fitting, const json_t *schema, const json_t *value) {
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *others = json_object_get(schema, "additionalProperties");
    const json_t *required = json_object_get(schema, "required");
    const char *name;
    json_t *member;
    for (size_t i = 0; i < json_array_size(required); i++) {
        name = json_string_value(json_array_get(required, i));
        if (name && !json_object_get(value, name)) {
            return refuse(fitting, "\"%.60s\" is missing", name);
        }
    }
    json_object_foreach((json_t *)(uintptr_t)value, name, member) {
        const json_t *inner = json_object_get(properties, name);
        if (!inner && json_is_false(others)) {
            return refuse(fitting, "\"%.60s\" is not a property of it", name);
        }
        inner = inner ? inner : others;
        if (json_is_object(inner) && fit_at(fitting, inner, member, name) < 0) {
            return -1;
        }
    }
    return 0;
}

static int fit_items(struct fitting *fitting, const json_t *schema, const json_t *value) {
    const json_t *items = json_object_get(schema, "items");
    for (size_t i = 0; items && i < json_array_size(value); i++) {
        char part[24];
        snprintf(part, sizeof part, "%zu", i);
        if (fit_at(fitting, items, json_array_get(value, i), part) < 0) {
            return -1;
        }
    }
    return 0;
}

static size_t count_fitting(const struct fitting *fitting, const json_t *schemas,
                            const json_t *value) {
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(schemas); i++) {
        struct error ignored = {0};
        struct fitting own = {.depth = fitting->depth, .err = &ignored};
        count += fit(&own, json_array_get(schemas, i), value) == 0;
    }
    return count;
}

static int fit_several(struct fitting *fitting, const json_t *schema, const json_t *value) {
    const json_t *all = json_object_get(schema, "allOf"), *any = json_object_get(schema, "anyOf");
    const json_t *one = json_object_get(schema, "oneOf"), *not = json_object_get(schema, "not");
    struct error ignored = {0};
    struct fitting own = {.depth = fitting->depth, .err = &ignored};
    for (size_t i = 0; i < json_array_size(all); i++) {
        if (fit(fitting, json_array_get(all, i), value) < 0) {
            return -1;
        }
    }
    if (any && count_fitting(fitting, any, value) == 0) {
        return refuse(fitting, "fits none of anyOf");
    }
    if (one && count_fitting(fitting, one, value) != 1) {
        return refuse(fitting, "does not fit exactly one of oneOf");
    }
    return not &&fit(&own, not, value) == 0 ? refuse(fitting, "fits the schema of not") : 0;
}

static int fit(struct fitting *fitting, const json_t *schema, const json_t *value) {
    if (json_is_boolean(schema)) {
        return json_is_true(schema)
                   ? 0
                   : refuse(fitting, "no value is allowed here (the schema false)");
    }
    if (fitting->depth >= DEPTH_MAX) {
        return refuse(fitting, "the schema is deeper than %d", DEPTH_MAX);
    }
    fitting->depth++;
    int result = fit_type(fitting, schema, value) < 0 || fit_values(fitting, schema, value) < 0 ||
                         fit_bounds(fitting, schema, value) < 0 ||
                         (json_is_object(value) && fit_object(fitting, schema, value) < 0) ||
                         (json_is_array(value) && fit_items(fitting, schema, value) < 0) ||
                         fit_several(fitting, schema, value) < 0
                     ? -1
                     : 0;
    fitting->depth--;
    return result;
}

int select_fits(const json_t *schema, const json_t *value, struct error *err) {
    struct fitting fitting = {.err = err};
    return fit(&fitting, schema, value);
}

/* ---- the schema itself ---------------------------------------------------------------------- */

enum keyword {
    UNSUPPORTED,
    PLAIN,
    TYPE,
    LIST,
    NAMES,
    BOUND,
    SCHEMA,
    SCHEMAS,
    PROPERTIES,
};

static bool is_among(const char *name, const char *spaced) {
    AUTO(text_freep) char *word = x_printf(" %s ", name);
    return !strchr(name, ' ') && strstr(spaced, word);
}

static enum keyword keyword_of(const char *name) {
    static const struct {
        enum keyword keyword;
        const char *names;
    } rows[] = {{PLAIN, " const title description default examples $schema $id $comment "},
                {TYPE, " type "},
                {LIST, " enum "},
                {NAMES, " required "},
                {BOUND, " minItems maxItems minLength maxLength minimum maximum exclusiveMinimum "
                        "exclusiveMaximum "},
                {SCHEMA, " items additionalProperties not "},
                {SCHEMAS, " allOf anyOf oneOf "},
                {PROPERTIES, " properties "}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (is_among(name, rows[i].names)) {
            return rows[i].keyword;
        }
    }
    return UNSUPPORTED;
}

static bool is_type(const json_t *value) {
    const char *name = json_string_value(value);
    return name && is_among(name, " object array string number integer boolean null ");
}

static bool is_each(const json_t *list, bool (*is_one)(const json_t *value)) {
    bool is_fine = json_array_size(list) > 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        is_fine = is_fine && is_one(json_array_get(list, i));
    }
    return is_fine;
}

static bool is_text(const json_t *value) {
    return json_is_string(value);
}

/* What a keyword's value must be; NULL: it is. Schemas inside are looked at by check. */
static const char *expectation_of(enum keyword keyword, const json_t *value) {
    switch (keyword) {
    case TYPE:
        return is_type(value) || is_each(value, is_type)
                   ? NULL
                   : "object, array, string, number, integer, boolean, null, or a list of them";
    case LIST:
        return json_array_size(value) > 0 ? NULL : "a list of values";
    case NAMES:
        return (json_is_array(value) && json_array_size(value) == 0) || is_each(value, is_text)
                   ? NULL
                   : "a list of names";
    case BOUND:
        return json_is_number(value) ? NULL : "a number";
    case SCHEMAS:
        return json_array_size(value) > 0 ? NULL : "a list of schemas";
    case PROPERTIES:
        return json_is_object(value) ? NULL : "an object of schemas";
    default:
        return NULL;
    }
}

static int check(const json_t *schema, int depth, struct error *err);
static int check_members(const json_t *schemas, int depth, struct error *err);

static int check_keyword(const char *name, const json_t *value, int depth, struct error *err) {
    enum keyword keyword = keyword_of(name);
    if (keyword == UNSUPPORTED) {
        return error_set(err, ERROR_INVALID,
                         "\"%.60s\" is not supported (docs/operate/model-servers.md)", name);
    }
    const char *wanted = expectation_of(keyword, value);
    if (wanted) {
        return error_set(err, ERROR_INVALID, "\"%.60s\" is not %s", name, wanted);
    }
    return keyword == SCHEMA                             ? check(value, depth + 1, err)
           : keyword == SCHEMAS || keyword == PROPERTIES ? check_members(value, depth + 1, err)
                                                         : 0;
}

static int check(const json_t *schema, int depth, struct error *err) {
    const char *name;
    json_t *value;
    if (depth > DEPTH_MAX) {
        return error_set(err, ERROR_INVALID, "is deeper than %d", DEPTH_MAX);
    }
    if (!json_is_object(schema) && !json_is_boolean(schema)) {
        return error_set(err, ERROR_INVALID, "is not a schema: an object, true or false");
    }
    json_object_foreach((json_t *)(uintptr_t)schema, name, value) {
        if (check_keyword(name, value, depth, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int check_members(const json_t *schemas, int depth, struct error *err) {
    const char *name;
    json_t *schema;
    json_object_foreach((json_t *)(uintptr_t)schemas, name, schema) {
        if (check(schema, depth, err) < 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < json_array_size(schemas); i++) {
        if (check(json_array_get(schemas, i), depth, err) < 0) {
            return -1;
        }
    }
    return 0;
}

int select_check_schema(const json_t *schema, struct error *err) {
    return check(schema, 0, err) < 0 ? error_context(err, "spec.scorer.endpoint.response.schema")
                                     : 0;
}
