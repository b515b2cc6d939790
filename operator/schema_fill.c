// SPDX-License-Identifier: Apache-2.0
/* Fills in the defaults of a definition, and takes them out again; makes decimals texts. */
#include "operator/schema.h"

#include "lib/number/decimal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One walk serves both: to see whether a default is missing, and to fill them in. */
struct filling {
    bool only_looks; /* changes nothing and ends at the first one */
    json_t *path;   /* array: names and indices, from the root to the value; NULL: none is needed */
    json_t *filled; /* array: gets the path of each field that is filled in */
};

static void step_in(const struct filling *filling, const char *member) {
    if (filling->path) {
        json_array_append_new(filling->path, json_string(member));
    }
}

static void step_into(const struct filling *filling, size_t element) {
    if (filling->path) {
        json_array_append_new(filling->path, json_integer((json_int_t)element));
    }
}

static void step_out(const struct filling *filling) {
    if (filling->path) {
        json_array_remove(filling->path, json_array_size(filling->path) - 1);
    }
}

static const json_t *schema_of_member(const json_t *schema, const char *name) {
    const json_t *own = json_object_get(json_object_get(schema, "properties"), name);
    return own ? own : json_object_get(schema, "additionalProperties");
}

/* Like an API server: a null is removed, and counts as missing, unless the schema allows null. */
static bool drop_nulls(const json_t *schema, json_t *object, const struct filling *filling) {
    const char *key;
    json_t *child;
    void *next;
    bool had = false;
    json_object_foreach_safe(object, next, key, child) {
        const json_t *own = schema_of_member(schema, key);
        if (own && json_is_null(child) && !tree_bool(own, "nullable", false)) {
            had = true;
            if (!filling->only_looks) {
                json_object_del(object, key);
            }
        }
    }
    return had;
}

static bool fill_missing(const json_t *schema, json_t *object, struct filling *filling) {
    const char *key;
    json_t *property;
    bool lacked = false;
    json_object_foreach(json_object_get(schema, "properties"), key, property) {
        const json_t *standard = json_object_get(property, "default");
        if (!standard || json_object_get(object, key)) {
            continue;
        }
        lacked = true;
        if (!filling->only_looks) {
            json_object_set_new(object, key, json_deep_copy(standard));
        }
        if (filling->path) {
            step_in(filling, key);
            json_array_append_new(filling->filled, json_copy(filling->path));
            step_out(filling);
        }
    }
    return lacked;
}

/* Without the zeros and the plus sign of C's exponents: 1e-05 is 1e-5, 1e+21 is 1e21. */
static void tidy_exponent(char *text) {
    char *to = strchr(text, 'e'), *from = to ? to + 1 : NULL;
    if (!to) {
        return;
    }
    to++;
    if (*from == '-') {
        *to++ = *from++;
    }
    from += *from == '+';
    from += strspn(from, "0");
    memmove(to, from, strlen(from) + 1);
}

/* A number's shortest text that reads back as the same number; owned. */
static char *decimal_text(const json_t *number) {
    char text[DECIMAL_BYTES];
    if (json_is_integer(number)) {
        return x_printf("%lld", (long long)json_integer_value(number));
    }
    decimal_shortest(json_real_value(number), text);
    tidy_exponent(text);
    return x_strdup(text);
}

/* Whether the value is a decimal that is written as a number. */
static bool is_numeric(const json_t *schema, const json_t *value) {
    return (json_is_real(value) ||
            (json_is_integer(value) && json_object_get(schema, "minimum"))) &&
           schema_is_decimal(schema);
}

static json_t *text_of(const json_t *number) {
    AUTO(text_freep) char *text = decimal_text(number);
    return json_string(text);
}

static bool write_members(const json_t *schema, json_t *object, const struct filling *filling) {
    const char *key;
    json_t *value;
    bool found = false;
    json_object_foreach(object, key, value) {
        if (!is_numeric(schema_of_member(schema, key), value)) {
            continue;
        }
        found = true;
        if (filling->only_looks) {
            break;
        }
        json_object_set_new(object, key, text_of(value)); /* the key is there: the loop may go on */
    }
    return found;
}

static bool write_elements(const json_t *items, json_t *list, const struct filling *filling) {
    bool found = false;
    for (size_t i = 0; items && i < json_array_size(list); i++) {
        const json_t *value = json_array_get(list, i);
        if (!is_numeric(items, value)) {
            continue;
        }
        found = true;
        if (filling->only_looks) {
            break;
        }
        json_array_set_new(list, i, text_of(value));
    }
    return found;
}

/* Whether a default was missing, or a decimal was a number. */
static bool fill(const json_t *schema, json_t *value, struct filling *filling) {
    const json_t *items = json_object_get(schema, "items");
    bool lacked = write_elements(items, value, filling);
    for (size_t i = 0; items && i < json_array_size(value); i++) {
        step_into(filling, i);
        lacked |= fill(items, json_array_get(value, i), filling);
        step_out(filling);
    }
    if (!json_is_object(value)) {
        return lacked;
    }
    lacked |= drop_nulls(schema, value, filling);
    lacked |= write_members(schema, value, filling);
    lacked |= fill_missing(schema, value, filling);
    const char *key;
    json_t *child;
    json_object_foreach(value, key, child) {
        const json_t *inner = schema_of_member(schema, key);
        if (lacked && filling->only_looks) {
            break;
        }
        if (inner) {
            step_in(filling, key);
            lacked |= fill(inner, child, filling);
            step_out(filling);
        }
    }
    return lacked;
}

void schema_fill_defaults(const struct schema *schema, json_t *object) {
    struct filling filling = {0};
    fill(schema_root(schema), object, &filling);
}

json_t *schema_filled(const struct schema *schema, const json_t *object) {
    const json_t *root = tree_get(schema_root(schema), "properties.spec");
    struct filling look = {.only_looks = true};
    if (!fill(root, json_object_get(object, "spec"), &look)) {
        return NULL;
    }
    AUTO(tree_freep) json_t *path = json_pack("[s]", "spec");
    json_t *copy = json_copy((json_t *)object), *filled = json_array();
    json_t *spec = json_deep_copy(json_object_get(object, "spec"));
    struct filling filling = {.path = path, .filled = filled};
    fill(root, spec, &filling);
    json_object_set_new(copy, "spec", spec);
    json_object_set_new(copy, SCHEMA_FILLED, filled);
    return copy;
}

static json_t *member(json_t *of, const json_t *step) {
    return json_is_integer(step) ? json_array_get(of, (size_t)json_integer_value(step))
                                 : json_object_get(of, json_string_value(step));
}

void schema_unfill(json_t *object) {
    AUTO(tree_freep) json_t *filled = json_incref(json_object_get(object, SCHEMA_FILLED));
    for (size_t i = 0; i < json_array_size(filled); i++) {
        const json_t *path = json_array_get(filled, i);
        size_t last = json_array_size(path) - 1; /* a path has at least one step */
        json_t *parent = object;
        for (size_t k = 0; k < last; k++) {
            parent = member(parent, json_array_get(path, k));
        }
        json_object_del(parent, json_string_value(json_array_get(path, last)));
    }
    json_object_del(object, SCHEMA_FILLED);
}
