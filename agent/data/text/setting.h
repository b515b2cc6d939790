/* setting.h: reads the fields of a tokenizer file's components. Errors name the field and what is
 * expected. */
#pragma once

#include "lib/tree.h"

/* Bytes of a string, borrowed from the tree; they may contain NUL. */
struct setting_text {
    const char *data; /* NULL: absent, or null */
    size_t size;
};
/* "type" of a component; never NULL: "" where there is none. */
const char *setting_type(const json_t *object);
NODISCARD int setting_bool(const json_t *object, const char *name, bool otherwise, bool *ret_value,
                           struct error *err);
/* Absent or null: data is NULL. INVALID: no string, or longer than SETTING_TEXT_MAX. */
NODISCARD int setting_string(const json_t *object, const char *name, struct setting_text *ret_text,
                             struct error *err);
/* The same for one that must be there. */
NODISCARD int setting_needed(const json_t *object, const char *name, struct setting_text *ret_text,
                             struct error *err);
NODISCARD int setting_whole(const json_t *object, const char *name, int64_t max, int64_t *ret_value,
                            struct error *err);
/* The place of the text in names; absent: `otherwise` (-1: it must be there). */
NODISCARD int setting_choice(const json_t *object, const char *name, const char *const *names,
                             int otherwise, int *ret_place, struct error *err);
/* "pattern": {"String": TEXT}, not empty, or {"Regex": TEXT}. */
NODISCARD int setting_pattern(const json_t *object, struct setting_text *ret_text,
                              bool *ret_is_regex, struct error *err);
/* UNSUPPORTED: names the component's type and those that are read. */
int setting_unknown(const json_t *object, const char *const *names, struct error *err);

/* A table whose rows, of `size` bytes each, begin with the name of a type, a const char *. */
struct setting_types {
    const void *rows;
    size_t count, size;
};
/* The row of the component's type; -1: none, with the error of setting_unknown. */
NODISCARD int setting_find(const json_t *object, const struct setting_types *types,
                           struct error *err);

/* A component, and those of which one of type "Sequence" consists: the list `member`, nested at
 * most SETTING_DEPTH_MAX deep. read: called for each other component, in order. */
struct setting_sequence {
    const char *member; /* "normalizers" */
    int (*read)(void *context, const json_t *component, struct error *err);
    void *context;
};
NODISCARD int setting_each(const json_t *component, const struct setting_sequence *sequence,
                           struct error *err);

enum { SETTING_TEXT_MAX = 64 << 10, SETTING_DEPTH_MAX = 8 };
