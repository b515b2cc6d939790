// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parquet/parquet_schema.h"

#include "lib/buffer.h"
#include "lib/text/utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS_MAX = 1 << 18 };

static const char *const kind_names[] = {
    "null", "boolean", "int",       "uint",  "float", "double", "half", "decimal",
    "date", "time",    "timestamp", "int96", "text",  "bytes",  "uuid", "interval"};
static_assert(ARRAY_LEN(kind_names) == PARQUET_MEANS_COUNT, "a name for each");

const char *parquet_meaning_name(enum parquet_meaning kind) {
    return kind_names[kind];
}

/* ---- elements ------------------------------------------------------------------------------- */

struct element {
    int type;       /* enum parquet_type; -1: a group */
    int repetition; /* enum parquet_repetition */
    int children;
    int converted; /* enum parquet_converted; -1: none */
    int logical;   /* enum parquet_logical; 0: none */
    int bits;      /* of LOGICAL_INTEGER */
    bool is_signed, is_utc;
    int unit; /* enum parquet_unit */
    int32_t width, scale, precision;
    struct thrift_bytes name;
};

static void read_unit(struct thrift_reader *reader, const struct thrift_field *field,
                      struct element *element) {
    if (thrift_reader_enter(reader, field)) {
        for (struct thrift_field unit = {0}; thrift_reader_next(reader, &unit);) {
            element->unit = unit.id;
            thrift_reader_skip(reader, &unit);
        }
        thrift_reader_leave(reader);
    }
}

/* The parameters of a decimal, time, timestamp or integer. */
static void read_parameters(struct thrift_reader *reader, const struct thrift_field *kind,
                            struct element *element) {
    bool is_decimal = kind->id == PARQUET_LOGICAL_DECIMAL;
    bool is_time = kind->id == PARQUET_LOGICAL_TIME || kind->id == PARQUET_LOGICAL_TIMESTAMP;
    bool is_integer = kind->id == PARQUET_LOGICAL_INTEGER;
    if (!thrift_reader_enter(reader, kind)) {
        return;
    }
    for (struct thrift_field field = {0}; thrift_reader_next(reader, &field);) {
        if (is_decimal && field.id == 1) {
            element->scale = thrift_reader_i32(reader, &field);
        } else if (is_decimal && field.id == 2) {
            element->precision = thrift_reader_i32(reader, &field);
        } else if (is_time && field.id == 1) {
            element->is_utc = thrift_reader_flag(reader, &field);
        } else if (is_time && field.id == 2) {
            read_unit(reader, &field, element);
        } else if (is_integer && field.id == 1) {
            element->bits = thrift_reader_i32(reader, &field);
        } else if (is_integer && field.id == 2) {
            element->is_signed = thrift_reader_flag(reader, &field);
        } else {
            thrift_reader_skip(reader, &field);
        }
    }
    thrift_reader_leave(reader);
}

static void read_logical(struct thrift_reader *reader, const struct thrift_field *field,
                         struct element *element) {
    if (thrift_reader_enter(reader, field)) {
        for (struct thrift_field kind = {0}; thrift_reader_next(reader, &kind);) {
            element->logical = kind.id;
            read_parameters(reader, &kind, element);
        }
        thrift_reader_leave(reader);
    }
}

static void read_element(struct thrift_reader *reader, const struct thrift_field *of,
                         struct element *element) {
    *element = (struct element){.type = -1, .converted = -1};
    if (!thrift_reader_enter(reader, of)) {
        return;
    }
    for (struct thrift_field field = {0}; thrift_reader_next(reader, &field);) {
        int32_t *const numbers[] = {
            [1] = &element->type,     [2] = &element->width,     [3] = &element->repetition,
            [5] = &element->children, [6] = &element->converted, [7] = &element->scale,
            [8] = &element->precision};
        if (field.id == 4) {
            element->name = thrift_reader_bytes(reader, &field);
        } else if (field.id == 10) {
            read_logical(reader, &field, element);
        } else if (!thrift_reader_numbers(reader, &field, numbers, ARRAY_LEN(numbers))) {
            thrift_reader_skip(reader, &field);
        }
    }
    thrift_reader_leave(reader);
}

/* ---- what a leaf means ----------------------------------------------------------------------- */

static bool is_bytes(const struct parquet_leaf *column) {
    return column->type == PARQUET_BYTE_ARRAY || column->type == PARQUET_FIXED_LEN_BYTE_ARRAY;
}

static bool is_whole(const struct parquet_leaf *column) {
    return column->type == PARQUET_INT32 || column->type == PARQUET_INT64;
}

/* LOGICAL_*, also of files that have only a converted type; fills in its parameters. */
static int find_logical(struct element *element) {
    static const uint8_t of[] = {
        [PARQUET_CONVERTED_UTF8] = PARQUET_LOGICAL_STRING,
        [PARQUET_CONVERTED_ENUM] = PARQUET_LOGICAL_ENUM,
        [PARQUET_CONVERTED_DECIMAL] = PARQUET_LOGICAL_DECIMAL,
        [PARQUET_CONVERTED_DATE] = PARQUET_LOGICAL_DATE,
        [PARQUET_CONVERTED_TIME_MILLIS] = PARQUET_LOGICAL_TIME,
        [PARQUET_CONVERTED_TIME_MICROS] = PARQUET_LOGICAL_TIME,
        [PARQUET_CONVERTED_TIMESTAMP_MILLIS] = PARQUET_LOGICAL_TIMESTAMP,
        [PARQUET_CONVERTED_TIMESTAMP_MICROS] = PARQUET_LOGICAL_TIMESTAMP,
        [PARQUET_CONVERTED_UINT_8] = PARQUET_LOGICAL_INTEGER,
        [PARQUET_CONVERTED_UINT_16] = PARQUET_LOGICAL_INTEGER,
        [PARQUET_CONVERTED_UINT_32] = PARQUET_LOGICAL_INTEGER,
        [PARQUET_CONVERTED_UINT_64] = PARQUET_LOGICAL_INTEGER,
        [PARQUET_CONVERTED_JSON] = PARQUET_LOGICAL_JSON,
        [PARQUET_CONVERTED_INTERVAL] = 0,
    };
    int converted = element->converted;
    if (element->logical || converted < 0 || converted >= (int)ARRAY_LEN(of)) {
        return element->logical;
    }
    element->is_utc = true;
    element->is_signed = false;
    element->unit = converted == PARQUET_CONVERTED_TIME_MILLIS ||
                            converted == PARQUET_CONVERTED_TIMESTAMP_MILLIS
                        ? PARQUET_MILLIS
                        : PARQUET_MICROS;
    return of[converted];
}

/* The kind by type alone. */
static enum parquet_meaning plain_kind(const struct parquet_leaf *column) {
    static const uint8_t kinds[] = {
        [PARQUET_BOOLEAN] = PARQUET_MEANS_BOOLEAN,
        [PARQUET_INT32] = PARQUET_MEANS_INT,
        [PARQUET_INT64] = PARQUET_MEANS_INT,
        [PARQUET_INT96] = PARQUET_MEANS_INT96,
        [PARQUET_FLOAT] = PARQUET_MEANS_FLOAT,
        [PARQUET_DOUBLE] = PARQUET_MEANS_DOUBLE,
        [PARQUET_BYTE_ARRAY] = PARQUET_MEANS_BYTES,
        [PARQUET_FIXED_LEN_BYTE_ARRAY] = PARQUET_MEANS_BYTES,
    };
    static_assert(ARRAY_LEN(kinds) == PARQUET_TYPE_COUNT, "one for each");
    return (enum parquet_meaning)kinds[column->type];
}

/* The kind that the annotation gives; KIND_COUNT: it does not fit the type. */
static enum parquet_meaning annotated_kind(const struct parquet_leaf *column, int logical,
                                           const struct element *element) {
    const int32_t width = column->type == PARQUET_FIXED_LEN_BYTE_ARRAY ? column->width : 0;
    bool is_unit = element->unit >= PARQUET_MILLIS && element->unit <= PARQUET_NANOS;
    switch (logical) {
    case PARQUET_LOGICAL_STRING:
    case PARQUET_LOGICAL_ENUM:
    case PARQUET_LOGICAL_JSON:
        return is_bytes(column) ? PARQUET_MEANS_TEXT : PARQUET_MEANS_COUNT;
    case PARQUET_LOGICAL_DECIMAL:
        return is_whole(column) || is_bytes(column) ? PARQUET_MEANS_DECIMAL : PARQUET_MEANS_COUNT;
    case PARQUET_LOGICAL_DATE:
        return column->type == PARQUET_INT32 ? PARQUET_MEANS_DATE : PARQUET_MEANS_COUNT;
    case PARQUET_LOGICAL_TIME:
        return is_whole(column) && is_unit ? PARQUET_MEANS_TIME : PARQUET_MEANS_COUNT;
    case PARQUET_LOGICAL_TIMESTAMP:
        return column->type == PARQUET_INT64 && is_unit ? PARQUET_MEANS_TIMESTAMP
                                                        : PARQUET_MEANS_COUNT;
    case PARQUET_LOGICAL_INTEGER:
        return !is_whole(column)    ? PARQUET_MEANS_COUNT
               : element->is_signed ? PARQUET_MEANS_INT
                                    : PARQUET_MEANS_UINT;
    case PARQUET_LOGICAL_UNKNOWN:
        return PARQUET_MEANS_NULL;
    case PARQUET_LOGICAL_UUID:
        return width == 16 ? PARQUET_MEANS_UUID : PARQUET_MEANS_COUNT;
    case PARQUET_LOGICAL_FLOAT16:
        return width == 2 ? PARQUET_MEANS_HALF : PARQUET_MEANS_COUNT;
    default:
        return plain_kind(column);
    }
}

static bool is_decimal_sound(const struct parquet_leaf *column) {
    bool is_bounded = column->precision >= 1 && column->precision <= 76 && column->scale >= 0 &&
                      column->scale <= column->precision;
    return column->kind != PARQUET_MEANS_DECIMAL ||
           (is_bounded && (column->type != PARQUET_FIXED_LEN_BYTE_ARRAY || column->width <= 32));
}

/* NULL, or what is wrong with the leaf. */
static const char *describe(struct element element, struct parquet_leaf *column) {
    if (element.type >= PARQUET_TYPE_COUNT) {
        return "is of an unknown type";
    }
    column->type = (enum parquet_type)element.type;
    column->width = column->type == PARQUET_INT96                  ? 12
                    : column->type == PARQUET_FIXED_LEN_BYTE_ARRAY ? element.width
                                                                   : 0;
    if (column->type == PARQUET_FIXED_LEN_BYTE_ARRAY &&
        (column->width < 1 || column->width > PARQUET_WIDTH_MAX)) {
        return "has values of a fixed length that is not in 1 to 1,048,576 bytes";
    }
    int logical = find_logical(&element);
    column->scale = element.scale;
    column->precision = element.precision;
    column->unit = (enum parquet_unit)element.unit;
    column->is_utc = element.is_utc;
    column->kind = element.converted == PARQUET_CONVERTED_INTERVAL && column->width == 12 &&
                           column->type == PARQUET_FIXED_LEN_BYTE_ARRAY
                       ? PARQUET_MEANS_INTERVAL
                       : annotated_kind(column, logical, &element);
    if (column->kind == PARQUET_MEANS_COUNT) {
        column->kind = plain_kind(column);
        return "has a logical type that does not fit its physical type";
    }
    return is_decimal_sound(column) ? NULL
                                    : "is a decimal of a precision or scale that is not read";
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* Where an element is: below a group that is a list, below the repeated group in it. */
enum place { PLACE_GROUP, PLACE_LIST, PLACE_ELEMENT };

struct walk {
    const struct element *elements;
    size_t count, at;
    struct parquet_schema *schema;
    struct buffer path; /* as a JSON pointer */
    struct error *err;
};

struct node {
    enum place place;
    int depth, definition, repetition, list_definition;
    const char *refusal;
};

static int bad_schema(struct walk *walk, const char *what) {
    return error_set(walk->err, ERROR_INVALID, "the schema %s", what);
}

/* Appends the element's name to the path. */
static int add_name(struct walk *walk, const struct element *element) {
    const char *name = element->name.data;
    size_t size = element->name.size;
    if (size == 0 || memchr(name, 0, size) || utf8_valid_size(name, size) != size) {
        return bad_schema(walk, "has a column whose name is empty, or not UTF-8");
    }
    struct error full = {0};
    int result = buffer_append(&walk->path, "/", 1, &full);
    for (size_t i = 0; i < size && result == 0; i++) {
        const char *escaped = name[i] == '~' ? "~0" : name[i] == '/' ? "~1" : NULL;
        result = escaped ? buffer_append(&walk->path, escaped, 2, &full)
                         : buffer_append(&walk->path, &name[i], 1, &full);
    }
    return result < 0 ? bad_schema(walk, "has a column whose name is longer than 4 KiB") : 0;
}

/* The name of a path of one part, or the path. */
static char *column_name(const char *pointer) {
    if (strchr(pointer + 1, '/')) {
        return x_strdup(pointer);
    }
    char *name = x_strdup(pointer + 1), *to = name;
    for (const char *from = name; *from; from++) {
        bool is_escape = *from == '~';
        *to++ = !is_escape ? *from : from[1] == '1' ? '/' : '~';
        from += is_escape;
    }
    *to = 0;
    return name;
}

/* Adds a column. Leaves of a refused group are one column of its name. */
static int add_column(struct walk *walk, const struct node *node, const struct element *element) {
    struct parquet_schema *schema = walk->schema;
    const struct parquet_leaf *last = schema->count ? &schema->columns[schema->count - 1] : NULL;
    const char *pointer = walk->path.data;
    struct parquet_leaf column = {.refusal = node->refusal,
                                  .definition_max = (uint8_t)node->definition,
                                  .list_definition = (uint8_t)node->list_definition,
                                  .leaf = schema->leaves};
    const char *what = describe(*element, &column);
    column.refusal = column.refusal ? column.refusal : what;
    column.name = column_name(pointer);
    schema->leaves++;
    if (last && last->refusal && strcmp(last->name, column.name) == 0) {
        free(column.name);
        return 0;
    }
    if (schema->count == PARQUET_LEAVES_MAX) {
        free(column.name);
        return bad_schema(walk, "has more than 65,536 columns");
    }
    if (schema->count % 64 == 0) {
        schema->columns =
            x_realloc_array(schema->columns, schema->count + 64, sizeof *schema->columns);
    }
    schema->columns[schema->count++] = column;
    return 0;
}

static bool is_list(const struct element *element) {
    return element->logical == PARQUET_LOGICAL_LIST ||
           (!element->logical && element->converted == PARQUET_CONVERTED_LIST);
}

static bool is_map(const struct element *element) {
    return element->logical == PARQUET_LOGICAL_MAP || element->converted == PARQUET_CONVERTED_MAP ||
           element->converted == PARQUET_CONVERTED_MAP_KEY_VALUE;
}

/* Where a group's children are, and why they are not read. */
static void enter_group(const struct element *group, struct node *node) {
    const char *why = NULL;
    enum place place = PLACE_GROUP;
    if (is_map(group)) {
        why = "is a map";
    } else if (node->place == PLACE_ELEMENT) {
        why = is_list(group) ? "is a list of lists" : "is a list of groups";
    } else if (node->place == PLACE_LIST) {
        why = group->children == 1 ? NULL : "is a list of groups";
        place = PLACE_ELEMENT;
    } else if (group->repetition == PARQUET_REPEATED) {
        why = "is a list of groups";
    } else if (is_list(group)) {
        why = group->children == 1 ? NULL : "is a list of an unknown form";
        place = PLACE_LIST;
    }
    node->refusal = node->refusal ? node->refusal : why;
    node->place = place;
}

static int walk_element(struct walk *walk, struct node node) {
    if (walk->at == walk->count || node.depth > THRIFT_DEPTH_MAX) {
        return bad_schema(walk, node.depth > THRIFT_DEPTH_MAX ? "is nested too deeply"
                                                              : "ends within a group");
    }
    const struct element *element = &walk->elements[walk->at++];
    size_t path_size = walk->path.size;
    bool is_repeated = element->repetition == PARQUET_REPEATED;
    if (element->repetition < 0 || element->repetition > PARQUET_REPEATED ||
        element->children < 0 || (element->children == 0 && element->type < 0)) {
        return bad_schema(walk, "has an element that is neither a column nor a group");
    }
    node.definition += element->repetition != PARQUET_REQUIRED;
    node.repetition += is_repeated;
    node.list_definition = is_repeated ? node.definition : node.list_definition;
    if (node.repetition > 1 && !node.refusal) {
        node.refusal = "is a list of lists";
    }
    if (node.place == PLACE_LIST && !is_repeated && !node.refusal) {
        node.refusal = "is a list of an unknown form";
    }
    bool is_named = node.place == PLACE_GROUP && !node.refusal;
    if (is_named && add_name(walk, element) < 0) {
        return -1;
    }
    int result = 0;
    if (element->children == 0) {
        result = add_column(walk, &node, element);
    } else {
        enter_group(element, &node);
        node.depth++;
        for (int i = 0; i < element->children && result == 0; i++) {
            result = walk_element(walk, node);
        }
    }
    if (is_named) {
        walk->path.size = path_size;
        walk->path.data[path_size] = 0;
    }
    return result;
}

static int by_name(const void *a, const void *b) {
    const struct parquet_leaf *const *one = a, *const *other = b;
    return strcmp((*one)->name, (*other)->name);
}

static int check_names(const struct parquet_schema *schema, struct error *err) {
    const struct parquet_leaf **sorted = x_calloc(schema->count + 1, sizeof(void *));
    int result = 0;
    for (size_t i = 0; i < schema->count; i++) {
        sorted[i] = &schema->columns[i];
    }
    qsort(sorted, schema->count, sizeof(void *), by_name);
    for (size_t i = 1; i < schema->count && result == 0; i++) {
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0) {
            result = error_set(err, ERROR_INVALID, "has two columns of the name \"%.64s\"",
                               sorted[i]->name);
        }
    }
    free(sorted);
    return result;
}

static int walk_tree(struct walk *walk, struct parquet_schema *schema, struct error *err) {
    const struct element *root = walk->elements;
    if (walk->count == 0 || root->children < 0) {
        return error_set(err, ERROR_INVALID, "the schema is empty");
    }
    walk->at = 1;
    for (int i = 0; i < root->children; i++) {
        if (walk_element(walk, (struct node){.place = PLACE_GROUP}) < 0) {
            return -1;
        }
    }
    return walk->at == walk->count ? check_names(schema, err)
                                   : bad_schema(walk, "has elements outside of its groups");
}

int parquet_schema_read(struct thrift_reader *reader, const struct thrift_field *field,
                        struct parquet_schema *ret_schema, struct error *err) {
    struct thrift_field of;
    struct parquet_schema schema = {0};
    size_t count = thrift_reader_list(reader, field, &of);
    if (count > ELEMENTS_MAX) {
        return error_set(err, ERROR_INVALID, "the schema has more than %d elements", ELEMENTS_MAX);
    }
    struct element *elements = x_calloc(count + 1, sizeof *elements);
    for (size_t i = 0; i < count && !reader->fault; i++) {
        read_element(reader, &of, &elements[i]);
    }
    struct walk walk = {.elements = elements, .count = count, .schema = &schema, .err = err};
    buffer_init(&walk.path, PARQUET_NAME_MAX);
    int result = reader->fault
                     ? error_set(err, ERROR_INVALID, "the schema is damaged: %s", reader->fault)
                     : walk_tree(&walk, &schema, err);
    buffer_release(&walk.path);
    free(elements);
    if (result < 0) {
        parquet_schema_release(&schema);
        return -1;
    }
    *ret_schema = schema;
    return 0;
}

void parquet_schema_release(struct parquet_schema *schema) {
    for (size_t i = 0; i < schema->count; i++) {
        free(schema->columns[i].name);
    }
    free(schema->columns);
    *schema = (struct parquet_schema){0};
}
