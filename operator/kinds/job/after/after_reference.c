// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/after/after_reference.h"

#include <stdlib.h>
#include <string.h>

#define OPENS "$(after."
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-"
#define FIELD_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

enum { NAME_MAX_LENGTH = 63, FIELD_MAX_LENGTH = 15, TEXT_MAX = 64 << 10 };

/* One in a text. */
struct reference {
    const char *start, *end; /* "$", and after ")" */
    char name[NAME_MAX_LENGTH + 1], field[FIELD_MAX_LENGTH + 1];
};

static bool read_part(const char **at, const char *letters, char *out, size_t max) {
    size_t length = strspn(*at, letters);
    if (length == 0 || length > max) {
        return false;
    }
    memcpy(out, *at, length);
    out[length] = 0;
    *at += length;
    return true;
}

/* At a $ that begins a reference. */
static bool read_reference(const char *start, struct reference *ret) {
    const char *at = start + strlen(OPENS);
    ret->start = start;
    if (!text_starts(start, OPENS) || !read_part(&at, NAME_LETTERS, ret->name, NAME_MAX_LENGTH) ||
        *at++ != '.' || !read_part(&at, FIELD_LETTERS, ret->field, FIELD_MAX_LENGTH) ||
        *at++ != ')') {
        return false;
    }
    ret->end = at;
    return true;
}

/* The next one from `at` on that is not escaped; false: there is none. */
static bool next_reference(const char *at, struct reference *ret) {
    while ((at = strchr(at, '$'))) {
        size_t dollars = strspn(at, "$");
        at += dollars;
        if (dollars % 2 == 1 && read_reference(at - 1, ret)) {
            return true;
        }
    }
    return false;
}

bool after_reference_begins(const char *path) {
    struct reference ignored;
    return read_reference(path, &ignored);
}

/* ---- in all texts of a spec ---- */

/* Where the values go. */
enum use {
    USE_PATH,    /* VOLUME/path */
    USE_PROGRAM, /* $(VOLUME)/path, which is replaced by the folder as in any word of a program */
};

/* Of a member: what its texts are. */
static enum use use_of(const char *name, enum use outside) {
    static const char *const of_programs[] = {"command", "prepare",  "arguments",  "args",
                                              "env",     "template", "environment"};
    for (size_t i = 0; i < ARRAY_LEN(of_programs); i++) {
        if (strcmp(of_programs[i], name) == 0) {
            return USE_PROGRAM;
        }
    }
    return outside;
}

/* A text and its path. */
struct place {
    const char *text, *field;
    enum use use;
};

typedef int visitor(const struct place *place, const json_t *list, struct error *err);

struct visit {
    visitor *each;
    const json_t *list;
};

/* Calls it for each text; field: the path of the tree. */
static int visit(const struct visit *how, const json_t *tree, const char *field, enum use use,
                 struct error *err) {
    const char *name;
    json_t *child;
    if (json_is_string(tree)) {
        const struct place place = {json_string_value(tree), field, use};
        return how->each(&place, how->list, err);
    }
    for (size_t i = 0; i < json_array_size(tree); i++) {
        AUTO(text_freep) char *path = x_printf("%s[%zu]", field, i);
        if (visit(how, json_array_get(tree, i), path, use, err) < 0) {
            return -1;
        }
    }
    json_object_foreach((json_t *)tree, name, child) {
        AUTO(text_freep) char *path = x_printf("%s.%s", field, name);
        if (strcmp(path, "spec.after") != 0 &&
            visit(how, child, path, use_of(name, use), err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* list: spec.after. */
static int check_name(const struct place *place, const json_t *list, struct error *err) {
    struct reference reference;
    const char *text = place->text, *field = place->field;
    while (next_reference(text, &reference)) {
        text = reference.end;
        if (!tree_find(list, "name", reference.name)) {
            return error_set(err, ERROR_INVALID,
                             "%.300s: $(after.%s.%s) is of a job that spec.after does not name",
                             field, reference.name, reference.field);
        }
        if (strcmp(reference.field, "output") != 0 && strcmp(reference.field, "model") != 0) {
            return error_set(err, ERROR_INVALID,
                             "%.300s: $(after.%s.%s) is not known; output and model are", field,
                             reference.name, reference.field);
        }
    }
    return 0;
}

static char *fill_text(const char *text, const json_t *values, enum use use);

/* The value is part of a word, perhaps of a shell's program, which would take a blank, a quote or a
 * $ for its own. */
static bool is_plain(const char *value) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "._/:=@+-";
    return value[strspn(value, plain)] == 0;
}

static int check_one(const struct place *place, const struct reference *reference,
                     const json_t *job, struct error *err) {
    const char *value = tree_text(job, reference->field, NULL);
    if (!value) {
        return error_set(err, ERROR_INVALID, "%.300s: %s %s has no %s", place->field,
                         tree_text(job, "kind", "job"), reference->name, reference->field);
    }
    return place->use == USE_PROGRAM && !is_plain(value)
               ? error_set(err, ERROR_INVALID,
                           "%.300s: the %s of %s %s is \"%.100s\": a program gets only paths of "
                           "letters, digits and . _ / : = @ + -",
                           place->field, reference->field, tree_text(job, "kind", "job"),
                           reference->name, value)
               : 0;
}

/* list: status.after. */
static int check_value(const struct place *place, const json_t *list, struct error *err) {
    struct reference reference;
    const char *at = place->text;
    while (next_reference(at, &reference)) {
        at = reference.end;
        if (check_one(place, &reference, tree_find(list, "name", reference.name), err) < 0) {
            return -1;
        }
    }
    AUTO(text_freep) char *filled = fill_text(place->text, list, place->use);
    return at != place->text && !filled
               ? error_set(err, ERROR_INVALID, "%.300s: would be longer than %d characters",
                           place->field, TEXT_MAX)
               : 0;
}

static int check_entries(const json_t *object, struct error *err) {
    const json_t *entries = tree_get(object, "spec.after");
    const char *ours = tree_text(object, "metadata.name", "");
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);
        const char *kind = tree_text(entry, "kind", NULL);
        if (strcmp(tree_text(entry, "name", ""), ours) == 0 &&
            (!kind || strcmp(kind, tree_text(object, "kind", "")) == 0)) {
            return error_set(err, ERROR_INVALID,
                             "spec.after: names this job itself; name earlier ones");
        }
    }
    bool is_series = tree_get(object, "spec.schedule") || tree_get(object, "spec.trigger") ||
                     strcmp(tree_text(object, "spec.rerun", ""), "OnChange") == 0;
    return entries && is_series
               ? error_set(err, ERROR_INVALID,
                           "spec.after: is not for trigger, schedule and rerun: OnChange, which "
                           "say when runs start")
               : 0;
}

static int check_written(const char *path, const char *field, struct error *err) {
    return path && strstr(path, OPENS)
               ? error_set(err, ERROR_INVALID,
                           "%s: may not contain $(after...), which others would read as it is; "
                           "write the path out",
                           field)
               : 0;
}

/* What it writes, itself or by its trials, is named by its spec alone: jobs that come after it,
 * and programs that show results, read the path there. within: "spec", "spec.trial". */
static int check_all_written(const json_t *object, const char *within, struct error *err) {
    static const char *const fields[] = {"output.path", "trainer.output.path", "logs.path",
                                         "register.path"};
    const json_t *spec = tree_get(object, within);
    const json_t *outputs = json_object_get(spec, "outputs");
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        AUTO(text_freep) char *field = x_printf("%s.%s", within, fields[i]);
        if (check_written(tree_text(spec, fields[i], NULL), field, err) < 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        AUTO(text_freep) char *field = x_printf("%s.outputs[%zu].path", within, i);
        if (check_written(tree_text(json_array_get(outputs, i), "path", NULL), field, err) < 0) {
            return -1;
        }
    }
    return 0;
}

int after_reference_check(const json_t *object, struct error *err) {
    const json_t *spec = json_object_get(object, "spec");
    return check_entries(object, err) < 0 || check_all_written(object, "spec", err) < 0 ||
                   check_all_written(object, "spec.trial", err) < 0
               ? -1
               : visit(&(struct visit){check_name, json_object_get(spec, "after")}, spec, "spec",
                       USE_PATH, err);
}

int after_reference_check_values(const json_t *object, const json_t *values, struct error *err) {
    return visit(&(struct visit){check_value, values}, json_object_get(object, "spec"), "spec",
                 USE_PATH, err);
}

/* ---- replaced ---- */

/* A value as it is used there; owned; "": there is none. */
static char *value_for(const char *value, enum use use) {
    if (!value || use == USE_PATH || strstr(value, "://")) {
        return x_strdup(value ? value : "");
    }
    int length = (int)strcspn(value, "/");
    return x_printf("$(%.*s)%s", length, value, value + length);
}

/* NULL: there is nothing to replace, or the result would be too long. Owned. */
static char *fill_text(const char *text, const json_t *values, enum use use) {
    struct reference reference;
    char *filled = NULL;
    while (next_reference(text, &reference)) {
        const char *value =
            tree_text(tree_find(values, "name", reference.name), reference.field, NULL);
        int length = (int)((value ? reference.start : reference.end) - text);
        AUTO(text_freep) char *used = value_for(value, use);
        char *longer = x_printf("%s%.*s%s", filled ? filled : "", length, text, used);
        free(filled);
        filled = longer;
        text = reference.end;
        if (strlen(filled) > TEXT_MAX) {
            free(filled);
            return NULL;
        }
    }
    if (filled) {
        char *whole = x_printf("%s%s", filled, text);
        free(filled);
        filled = whole;
    }
    return filled;
}

/* The tree with its texts replaced; a new reference. */
static json_t *fill(const json_t *tree, const json_t *values, enum use use) {
    const char *name;
    json_t *child;
    if (json_is_string(tree)) {
        AUTO(text_freep) char *text = fill_text(json_string_value(tree), values, use);
        return text ? json_string(text) : json_incref((json_t *)tree);
    }
    if (!json_is_array(tree) && !json_is_object(tree)) {
        return json_incref((json_t *)tree);
    }
    json_t *copy = json_copy((json_t *)tree);
    for (size_t i = 0; i < json_array_size(tree); i++) {
        json_array_set_new(copy, i, fill(json_array_get(tree, i), values, use));
    }
    json_object_foreach((json_t *)tree, name, child) {
        json_object_set_new(copy, name, fill(child, values, use_of(name, use)));
    }
    return copy;
}

void after_reference_fill_in(json_t *object, const json_t *values) {
    json_object_set_new(object, "spec", fill(json_object_get(object, "spec"), values, USE_PATH));
}

json_t *after_reference_fill(const json_t *object) {
    const json_t *values = tree_get(object, "status.after");
    if (json_array_size(values) == 0 || !tree_get(object, "spec.after")) {
        return NULL;
    }
    json_t *filled = json_copy((json_t *)object);
    after_reference_fill_in(filled, values);
    return filled;
}
