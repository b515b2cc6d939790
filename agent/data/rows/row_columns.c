// SPDX-License-Identifier: Apache-2.0
#include "agent/data/rows/row_columns.h"

#include "agent/data/rows/row_number.h"

#include <stdlib.h>
#include <string.h>

/* What values of a column were. */
enum {
    SEEN_BOOLEAN = 1,
    SEEN_INTEGER = 2,
    SEEN_FRACTION = 4,
    SEEN_TEXT = 8,
    SEEN_LIST = 16,
    SEEN_OTHER = 32, /* only JSON holds it */
    /* Of single numbers, and of those in lists: */
    NO_DOUBLE = 64,
    NO_FLOAT = 128,
    LIST_FRACTION = 256,
    LIST_NO_DOUBLE = 512,
    LIST_NO_FLOAT = 1024,
    LIST_NO_INTEGER = 2048,
    LIST_NULL = 4096,
    SCALARS = SEEN_BOOLEAN | SEEN_INTEGER | SEEN_FRACTION | SEEN_TEXT,
};

static const char *const type_names[ROW_TYPE_COUNT] = {
    [ROW_BOOLEAN] = "Boolean",
    [ROW_INTEGER] = "Integer",
    [ROW_NUMBER] = "Number",
    [ROW_TEXT] = "Text",
    [ROW_JSON] = "JSON",
    [ROW_INTEGERS] = "lists of integers",
    [ROW_NUMBERS] = "lists of numbers",
    [ROW_FLOATS] = "Vector",
};

const char *row_type_name(enum row_type type) {
    return type_names[type];
}

/* ---- columns -------------------------------------------------------------------------------- */

static struct row_column *add_column(struct row_columns *columns, const char *name,
                                     const char *spelled, size_t spelled_size) {
    if (columns->count == columns->room) {
        columns->room = MAX(columns->room * 2, (size_t)16);
        columns->columns =
            x_realloc_array(columns->columns, columns->room, sizeof *columns->columns);
    }
    struct row_column *column = &columns->columns[columns->count++];
    *column = (struct row_column){.name = x_strdup(name),
                                  .spelled = x_strndup(spelled, spelled_size),
                                  .count_min = INT64_MAX,
                                  .count_max = -1,
                                  .row = -1};
    return column;
}

/* With the type that the spec gives it. */
static struct row_column *add_named(struct row_columns *columns, const char *name) {
    AUTO(tree_freep) json_t *text = json_string(name);
    AUTO(text_freep) char *spelled = json_dumps(text, JSON_ENCODE_ANY | JSON_COMPACT);
    return add_column(columns, name, spelled, strlen(spelled));
}

static bool has_column(const struct row_columns *columns, const char *name) {
    for (size_t i = 0; i < columns->count; i++) {
        if (strcmp(columns->columns[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static enum row_type type_named(const char *name) {
    int type = 0;
    while (type + 1 < ROW_TYPE_COUNT && strcmp(type_names[type], name ? name : "") != 0) {
        type++;
    }
    return (enum row_type)type;
}

static void give_types(struct row_columns *columns, const json_t *types) {
    const char *name;
    json_t *type;
    json_object_foreach((json_t *)types, name, type) {
        if (!has_column(columns, name)) {
            add_named(columns, name);
        }
        for (size_t i = 0; i < columns->count; i++) {
            struct row_column *column = &columns->columns[i];
            if (strcmp(column->name, name) == 0) {
                column->type = type_named(json_string_value(type));
                column->is_given = true;
            }
        }
    }
}

void row_columns_init(struct row_columns *columns, const json_t *heads, const json_t *types,
                      bool are_of_network) {
    size_t i;
    json_t *name;
    *columns = (struct row_columns){.are_of_network = are_of_network};
    json_array_foreach(heads, i, name) {
        if (!has_column(columns, json_string_value(name))) {
            add_named(columns, json_string_value(name))->is_head = true;
        }
    }
    give_types(columns, types);
}

void row_columns_release(struct row_columns *columns) {
    for (size_t i = 0; i < columns->count; i++) {
        free(columns->columns[i].name);
        free(columns->columns[i].spelled);
    }
    free(columns->columns);
    *columns = (struct row_columns){0};
}

struct row_column *row_columns_find(const struct row_columns *columns,
                                    const struct jsontext_member *member, size_t hint) {
    for (size_t i = 0; i < columns->count; i++) {
        struct row_column *column = &columns->columns[(hint + i) % columns->count];
        if (jsontext_is_named(member, column->spelled)) {
            return column;
        }
    }
    return NULL;
}

/* ---- values --------------------------------------------------------------------------------- */

/* Columns of the input are not a network's: their digits say nothing about float32. */
static bool is_float(const struct row_columns *columns, const struct row_column *column,
                     const struct row_number *number) {
    return columns->are_of_network && !column->is_head ? number->is_short_float : number->is_float;
}

static unsigned classify_number(const struct row_columns *columns, const struct row_column *column,
                                const char *value, const char *end) {
    struct row_number number;
    row_number_read(value, end, &number);
    unsigned seen = number.is_integer ? SEEN_INTEGER : SEEN_FRACTION;
    seen |= is_float(columns, column, &number) ? 0 : NO_FLOAT;
    seen |= number.is_double ? 0 : NO_DOUBLE;
    bool is_held = number.is_integer || number.is_double;
    return is_held ? seen : SEEN_OTHER;
}

/* A string that UTF-8 cannot hold (a lone surrogate), or with a NUL, stays JSON. */
static unsigned classify_text(const char *value, size_t size) {
    if (!memchr(value, '\\', size)) {
        return SEEN_TEXT;
    }
    AUTO(tree_freep) json_t *text = json_loadb(value, size, JSON_DECODE_ANY, NULL);
    return text ? SEEN_TEXT : SEEN_OTHER;
}

static unsigned classify_element(const struct row_columns *columns, const struct row_column *column,
                                 const char **at, const char *end) {
    struct row_number number;
    if (**at == 'n') {
        *at += strlen("null");
        return LIST_NULL;
    }
    *at = row_number_read(*at, end, &number);
    unsigned seen = number.is_integer ? 0 : LIST_FRACTION | LIST_NO_INTEGER;
    seen |= is_float(columns, column, &number) ? 0 : LIST_NO_FLOAT;
    seen |= number.is_double ? 0 : LIST_NO_DOUBLE;
    return number.is_integer || number.is_double ? seen : SEEN_OTHER;
}

/* A list of numbers and nulls; everything else is JSON. */
static unsigned classify_list(const struct row_columns *columns, const char *value, const char *end,
                              struct row_column *column) {
    const char *at = jsontext_space(value + 1, end);
    unsigned seen = SEEN_LIST;
    int64_t count = 0;
    while (at < end && *at != ']') {
        if (!strchr("-0123456789n", *at)) {
            return SEEN_OTHER;
        }
        seen |= classify_element(columns, column, &at, end);
        count++;
        at = jsontext_space(at, end);
        at = jsontext_space(at + (at < end && *at == ','), end);
    }
    column->count_min = MIN(column->count_min, count);
    column->count_max = MAX(column->count_max, count);
    return seen;
}

static unsigned classify_value(const struct row_columns *columns,
                               const struct jsontext_member *member, struct row_column *column) {
    const char *end = member->value + member->value_size;
    switch (*member->value) {
    case 'n':
        return 0;
    case 't':
    case 'f':
        return SEEN_BOOLEAN;
    case '"':
        return classify_text(member->value, member->value_size);
    case '[':
        return classify_list(columns, member->value, end, column);
    case '{':
        return SEEN_OTHER;
    default:
        return classify_number(columns, column, member->value, end);
    }
}

/* ---- rows ----------------------------------------------------------------------------------- */

static int refuse(const struct row_columns *columns, const char *what, struct error *err) {
    return error_set(err, ERROR_INVALID, "row %lld %s", (long long)columns->rows + 1, what);
}

static struct row_column *make_column(struct row_columns *columns,
                                      const struct jsontext_member *member, struct error *err) {
    AUTO(tree_freep)
    json_t *name = json_loadb(member->name, member->name_size, JSON_DECODE_ANY, NULL);
    if (!name) {
        refuse(columns, "has a name that is not UTF-8, or has a NUL byte", err);
        return NULL;
    }
    if (columns->count == ROW_COLUMNS_MAX) {
        error_set(err, ERROR_EXHAUSTED, "row %lld: column \"%.100s\": more than %d columns",
                  (long long)columns->rows + 1, json_string_value(name), ROW_COLUMNS_MAX);
        return NULL;
    }
    return add_column(columns, json_string_value(name), member->name, member->name_size);
}

static int classify_member(struct row_columns *columns, const struct jsontext_member *member,
                           size_t hint, struct error *err) {
    struct row_column *column = row_columns_find(columns, member, hint);
    if (!column) {
        column = make_column(columns, member, err);
    }
    if (!column) {
        return -1;
    }
    if (column->row == columns->rows) {
        return error_set(err, ERROR_INVALID, "row %lld has column \"%.100s\" twice",
                         (long long)columns->rows + 1, column->name);
    }
    column->row = columns->rows;
    column->seen |= classify_value(columns, member, column);
    /* (An empty text is null where a type is given: an empty field of CSV.) */
    bool is_empty = column->is_given && column->type != ROW_TEXT && column->type != ROW_JSON &&
                    member->value_size == 2 && *member->value == '"';
    column->values += *member->value != 'n' && !is_empty;
    return 0;
}

int row_columns_see(struct row_columns *columns, const char *row, size_t size, struct error *err) {
    const char *end = row + size, *at = jsontext_space(row, end);
    struct jsontext_member member;
    if (at == end || *at != '{' || !jsontext_is_value(row, size)) {
        return refuse(columns, "is not a JSON object", err);
    }
    for (size_t i = 0; jsontext_next_member(&at, end, &member); i++) {
        if (classify_member(columns, &member, i, err) < 0) {
            return -1;
        }
    }
    columns->rows++;
    return 0;
}

static enum row_type list_type(unsigned seen) {
    if (!(seen & (LIST_FRACTION | LIST_NO_INTEGER))) {
        return ROW_INTEGERS;
    }
    return !(seen & LIST_NO_FLOAT) ? ROW_FLOATS : seen & LIST_NO_DOUBLE ? ROW_JSON : ROW_NUMBERS;
}

static enum row_type type_of(unsigned seen) {
    switch (seen & (SCALARS | SEEN_LIST | SEEN_OTHER)) {
    case 0: /* nothing but nulls */
    case SEEN_TEXT:
        return ROW_TEXT;
    case SEEN_BOOLEAN:
        return ROW_BOOLEAN;
    case SEEN_INTEGER:
        return ROW_INTEGER;
    case SEEN_FRACTION:
    case SEEN_FRACTION | SEEN_INTEGER:
        return seen & NO_DOUBLE ? ROW_JSON : ROW_NUMBER;
    case SEEN_LIST:
        return list_type(seen);
    default:
        return ROW_JSON;
    }
}

void row_columns_end(struct row_columns *columns) {
    for (size_t i = 0; i < columns->count; i++) {
        struct row_column *column = &columns->columns[i];
        column->type = column->is_given ? column->type : type_of(column->seen);
        column->fits_floats = !(column->seen & (NO_FLOAT | LIST_NO_FLOAT));
        column->has_nulls = column->values < columns->rows || (column->seen & LIST_NULL);
    }
}
