// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/after/after_reference.h"

#include "operator/kinds/job/parameters/spec_texts.h"

#include <stdlib.h>
#include <string.h>

#define OPENS "$(after."
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-"
#define FIELD_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

enum { NAME_MAX_LENGTH = 63, FIELD_MAX_LENGTH = 15 };

/* One in a text. */
struct reference {
    const char *start, *end; /* "$", and after ")" */
    char name[NAME_MAX_LENGTH + 1], field[FIELD_MAX_LENGTH + 1];
};

/* At a $ that begins a reference. */
static bool read_reference(const char *start, struct reference *ret) {
    const char *at = start + strlen(OPENS);
    ret->start = start;
    if (!text_starts(start, OPENS) ||
        !spec_text_read(&at, NAME_LETTERS, ret->name, NAME_MAX_LENGTH) || *at++ != '.' ||
        !spec_text_read(&at, FIELD_LETTERS, ret->field, FIELD_MAX_LENGTH) || *at++ != ')') {
        return false;
    }
    ret->end = at;
    return true;
}

/* The next one from `at` on that is not escaped; false: there is none. */
static bool next_reference(const char *at, struct reference *ret) {
    for (; (at = spec_text_find(at, OPENS)); at++) {
        if (read_reference(at, ret)) {
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

/* list: spec.after. */
static int check_name(const struct spec_text *place, const void *list, struct error *err) {
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

static char *fill_text(const char *text, enum spec_text_use use, const void *values);

/* In a program the value is part of a word, perhaps of a shell's program, which would take a blank,
 * a quote or a $ for its own. */
static int check_one(const struct spec_text *place, const struct reference *reference,
                     const json_t *job, struct error *err) {
    const char *value = tree_text(job, reference->field, NULL);
    if (!value) {
        return error_set(err, ERROR_INVALID, "%.300s: %s %s has no %s", place->field,
                         tree_text(job, "kind", "job"), reference->name, reference->field);
    }
    return place->use == SPEC_TEXT_PROGRAM && !spec_text_is_plain(value)
               ? error_set(err, ERROR_INVALID,
                           "%.300s: the %s of %s %s is \"%.100s\": a program gets only paths of "
                           "letters, digits and . _ / : = @ + -",
                           place->field, reference->field, tree_text(job, "kind", "job"),
                           reference->name, value)
               : 0;
}

/* list: status.after. */
static int check_value(const struct spec_text *place, const void *list, struct error *err) {
    struct reference reference;
    const char *at = place->text;
    while (next_reference(at, &reference)) {
        at = reference.end;
        if (check_one(place, &reference, tree_find(list, "name", reference.name), err) < 0) {
            return -1;
        }
    }
    AUTO(text_freep) char *filled = fill_text(place->text, place->use, list);
    return at != place->text && !filled
               ? error_set(err, ERROR_INVALID, "%.300s: would be longer than %d characters",
                           place->field, SPEC_TEXT_MAX)
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
               : spec_texts_visit(spec, check_name, json_object_get(spec, "after"), err);
}

int after_reference_check_values(const json_t *object, const json_t *values, struct error *err) {
    return spec_texts_visit(json_object_get(object, "spec"), check_value, values, err);
}

/* ---- replaced ---- */

/* NULL: there is nothing to replace, or the result would be too long. Owned. */
static char *fill_text(const char *text, enum spec_text_use use, const void *values) {
    struct reference reference;
    char *filled = NULL;
    while (next_reference(text, &reference)) {
        const char *value =
            tree_text(tree_find(values, "name", reference.name), reference.field, NULL);
        int length = (int)((value ? reference.start : reference.end) - text);
        AUTO(text_freep) char *used = value ? spec_text_place(value, use) : x_strdup("");
        char *longer = x_printf("%s%.*s%s", filled ? filled : "", length, text, used);
        free(filled);
        filled = longer;
        text = reference.end;
        if (strlen(filled) > SPEC_TEXT_MAX) {
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

void after_reference_fill_in(json_t *object, const json_t *values) {
    json_object_set_new(object, "spec",
                        spec_texts_fill(json_object_get(object, "spec"), fill_text, values));
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
