// SPDX-License-Identifier: Apache-2.0
/* All rows are parsed once and held as floats. A row that cannot be used is kept as bad; its place
 * in the file is where the row begins. Why it is bad counts as memory, too: a column that is empty
 * in all rows makes as many texts as the file has rows. */
#include "agent/train/dataset/dataset.h"

#include "agent/data/table/table_rows.h"
#include "agent/train/dataset/fields.h"
#include "agent/train/dataset/files_seen.h"
#include "lib/digest.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 1 << 14, TEXT_HEAD = 24 /* of the allocator, rounded up */ };

enum { PARQUET = SPLIT_LINES + 1 }; /* a format beside those of split.h */

struct row {
    int64_t at; /* byte of its file; of Parquet the row */
    int32_t label;
    uint16_t file;
    char *fault; /* NULL: it is good; owned */
};

struct table_set {
    struct dataset base;
    json_t *paths;
    json_t *columns; /* names, of the samples and then of the targets */
    size_t sample_count;
    char *label; /* NULL: targets are numbers */
    bool is_parquet;
    json_t *wanted; /* of Parquet: the columns that are read */
    bool fills;
    float filling; /* what a missing value of a sample is */
    struct row *rows;
    float *values; /* [count, columns] */
    size_t room;
    int64_t first[DATASET_SHARDS_MAX]; /* row of each file */
    int64_t memory_bytes, fault_bytes;
};

static void table_close(struct dataset *dataset) {
    struct table_set *set = (struct table_set *)dataset;
    for (int64_t i = 0; i < dataset->count; i++) {
        free(set->rows[i].fault);
    }
    free(set->rows);
    free(set->values);
    json_decref(set->paths);
    json_decref(set->columns);
    json_decref(set->wanted);
    free(set->label);
    free(set);
}

/* ---- one row -------------------------------------------------------------------------------- */

/* 1: *ret_value is the field's; 0: it is missing; -1: it is not a number. */
static int read_field(const json_t *field, double *ret_value) {
    const char *text = json_string_value(field);
    if (json_is_number(field) || json_is_boolean(field)) {
        *ret_value =
            json_is_boolean(field) ? (double)json_is_true(field) : json_number_value(field);
        return 1;
    }
    if (!field || json_is_null(field) || (text && !text[strspn(text, " \t")])) {
        return 0;
    }
    char *end = NULL;
    *ret_value = text ? strtod(text, &end) : 0;
    return text && end != text && !end[strspn(end, " \t")] ? 1 : -1;
}

static char *fault_of(const char *column, const json_t *field, const char *what) {
    const char *text = json_string_value(field);
    return x_printf("column \"%.64s\" %s%s%.40s%s", column, what, text ? ": \"" : "",
                    text ? text : "", text ? "\"" : "");
}

/* The reason why the row is bad, which the caller frees; NULL: it is good. */
static char *fill_row(const struct table_set *set, const json_t *object, struct row *row,
                      float *values) {
    for (size_t i = 0; i < json_array_size(set->columns); i++) {
        const char *column = json_string_value(json_array_get(set->columns, i));
        const json_t *field = json_object_get(object, column);
        double value = 0;
        int found = read_field(field, &value);
        if (found == 0 && (!set->fills || i >= set->sample_count)) {
            return fault_of(column, NULL, "is missing (table.missing declares what to put there)");
        }
        if (found < 0) {
            return fault_of(column, field, "is not a number");
        }
        values[i] = found ? (float)value : set->filling;
        if (!isfinite(values[i])) {
            return fault_of(column, field, "is not a finite float32");
        }
    }
    if (set->label) {
        const json_t *field = json_object_get(object, set->label);
        double label = -1;
        bool is_class = read_field(field, &label) > 0 && label >= 0 &&
                        label < DATASET_CLASSES_MAX && label == floor(label);
        if (!is_class) {
            return fault_of(set->label, field, "is not a class, a whole number from 0");
        }
        row->label = (int32_t)label;
    }
    return NULL;
}

static int no_memory(const struct table_set *set, struct error *err) {
    AUTO(text_freep) char *why = NULL;
    for (int64_t i = 0; !why && set->fault_bytes > set->memory_bytes / 4; i++) {
        const char *fault = set->rows[i].fault;
        why = fault ? x_printf("; many are bad: row %lld: %.200s", (long long)i + 1, fault) : NULL;
    }
    return error_set(err, ERROR_EXHAUSTED,
                     "more than %lld rows of %zu columns need more than the %lld MiB that data may "
                     "take; raise resources.limits.memory%s",
                     (long long)set->base.count, json_array_size(set->columns),
                     (long long)(set->memory_bytes >> 20), why ? why : "");
}

/* For one row more. */
static int make_room(struct table_set *set, struct error *err) {
    size_t width = json_array_size(set->columns);
    int64_t row_bytes = (int64_t)(width * sizeof(float) + sizeof(struct row));
    int64_t fits = MAX(set->memory_bytes - set->fault_bytes, 0) / row_bytes;
    if (set->base.count == DATASET_COUNT_MAX) {
        return error_set(err, ERROR_INVALID, "more than %d rows", DATASET_COUNT_MAX);
    }
    if (set->base.count >= fits) {
        return no_memory(set, err);
    }
    if ((size_t)set->base.count < set->room) {
        return 0;
    }
    size_t room = MIN(2 * set->room + 1024, (size_t)fits);
    set->rows = x_realloc_array(set->rows, room, sizeof *set->rows);
    set->values = x_realloc_array(set->values, room * width, sizeof *set->values);
    set->room = room;
    return 0;
}

/* json: a row as the parser writes it; fault: or why there is none. */
static int add_row(struct table_set *set, size_t file, int64_t at, const struct buffer *json,
                   const char *fault, struct error *err) {
    size_t width = json_array_size(set->columns);
    if (make_room(set, err) < 0) {
        return -1;
    }
    struct row row = {.at = at, .file = (uint16_t)file};
    float *values = set->values + (size_t)set->base.count * width;
    memset(values, 0, width * sizeof *values);
    json_t *object = table_rows_object(json, fault, &row.fault);
    if (object) {
        row.fault = fill_row(set, object, &row, values);
    }
    json_decref(object);
    set->fault_bytes += row.fault ? (int64_t)strlen(row.fault) + TEXT_HEAD : 0;
    set->base.classes = MAX(set->base.classes, set->label && !row.fault ? row.label + 1 : 0);
    set->base.digest = digest_crc32c(set->base.digest, values, width * sizeof *values);
    set->base.digest = digest_crc32c(set->base.digest, &row.label, sizeof row.label);
    set->rows[set->base.count++] = row;
    return 0;
}

/* ---- a file --------------------------------------------------------------------------------- */

static int read_file(struct table_set *set, size_t index, const struct source *source,
                     struct table_file *file, struct error *err) {
    AUTO(table_rows_release) struct table_rows rows = {0};
    AUTO(buffer_release) struct buffer json;
    const char *fault = NULL;
    int more;
    buffer_init(&json, 2 * (size_t)ROW_BYTES_MAX);
    table_rows_start(&rows, source->store, file, file->first, file->end);
    while ((more = table_rows_next(&rows, &json, &fault, err)) > 0) {
        if (add_row(set, index, table_rows_place(&rows), &json, fault, err) < 0) {
            return -1;
        }
    }
    return more;
}

/* All columns of the header but the label, in their order, unless the spec names them. */
static int choose_columns(struct table_set *set, const struct table_file *file, struct error *err) {
    if (set->columns) {
        return 0;
    }
    AUTO(tree_freep) json_t *names = json_loads(row_parser_columns(file->rows), 0, NULL);
    set->columns = json_array();
    for (size_t i = 0; i < json_array_size(names); i++) {
        json_t *name = json_array_get(names, i);
        if (!set->label || strcmp(json_string_value(name), set->label) != 0) {
            json_array_append(set->columns, name);
        }
    }
    set->sample_count = json_array_size(set->columns);
    return set->sample_count >= 1 && set->sample_count <= COLUMNS_MAX
               ? 0
               : error_set(err, ERROR_INVALID, "1 to %d columns beside the label are expected",
                           COLUMNS_MAX);
}

static bool has_name(const json_t *names, const char *wanted) {
    for (size_t i = 0; i < json_array_size(names); i++) {
        if (strcmp(json_string_value(json_array_get(names, i)), wanted) == 0) {
            return true;
        }
    }
    return false;
}

static int check_columns(const struct table_set *set, const struct table_file *file,
                         struct error *err) {
    if (file->parquet) { /* it was opened with these */
        return 0;
    }
    AUTO(tree_freep) json_t *names = json_loads(row_parser_columns(file->rows), 0, NULL);
    for (size_t i = 0; names && i <= json_array_size(set->columns); i++) {
        const char *column = i < json_array_size(set->columns)
                                 ? json_string_value(json_array_get(set->columns, i))
                                 : set->label;
        if (column && !has_name(names, column)) {
            return error_set(err, ERROR_INVALID, "its header has no column \"%.64s\"", column);
        }
    }
    return 0;
}

static int add_file(struct table_set *set, size_t index, struct table_format format,
                    struct error *err) {
    const char *path = json_string_value(json_array_get(set->paths, index));
    AUTO(source_release) struct source source = {0};
    AUTO(table_file_release) struct table_file file = {0};
    struct error cause = {0};
    set->first[index] = set->base.count;
    if (source_open(path, &source, err) < 0) {
        return -1;
    }
    if (!source.file) {
        return error_set(err, ERROR_INVALID, "%s: is a folder", path);
    }
    if (table_file_open(source.store, source.file, format, NULL, &file, err) < 0) {
        return -1;
    }
    if (choose_columns(set, &file, &cause) < 0 || check_columns(set, &file, &cause) < 0 ||
        read_file(set, index, &source, &file, &cause) < 0) {
        *err = cause;
        return error_context(err, "%s", path);
    }
    return 0;
}

/* ---- the data set --------------------------------------------------------------------------- */

static int read_names(const json_t *fields, const char *name, json_t *to, struct error *err) {
    const json_t *names = NULL;
    if (fields_array(fields, name, COLUMNS_MAX, &names, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < json_array_size(names); i++) {
        if (!json_is_string(json_array_get(names, i))) {
            return error_set(err, ERROR_INVALID, "%s: names of columns are expected", name);
        }
        json_array_append(to, json_array_get(names, i));
    }
    return 0;
}

static int read_settings(struct table_set *set, const json_t *fields, struct table_format *format,
                         struct error *err) {
    static const char *const formats[] = {"CSV", "TSV", "JSONLines", "Parquet", NULL};
    int choice = 0;
    double filling = 0;
    bool has_targets = json_object_get(fields, "targets") != NULL;
    if (fields_choice(fields, "format", formats, &choice, err) < 0) {
        return -1;
    }
    set->is_parquet = choice == PARQUET;
    *format = (struct table_format){.split = (enum split_format)choice,
                                    .has_header = choice < SPLIT_LINES,
                                    .is_parquet = set->is_parquet};
    set->fills = json_object_get(fields, "missing") != NULL;
    if (set->fills && fields_number(fields, "missing", &filling, err) < 0) {
        return -1;
    }
    set->filling = (float)filling;
    const char *label = json_string_value(json_object_get(fields, "label"));
    set->label = label ? x_strdup(label) : NULL;
    if (!label == !has_targets) {
        return error_set(err, ERROR_INVALID, "exactly one of label and targets must be given");
    }
    if (json_object_get(fields, "columns")) {
        set->columns = json_array();
        if (read_names(fields, "columns", set->columns, err) < 0) {
            return -1;
        }
        set->sample_count = json_array_size(set->columns);
        if (has_targets && read_names(fields, "targets", set->columns, err) < 0) {
            return -1;
        }
        set->base.target_count = (int64_t)(json_array_size(set->columns) - set->sample_count);
        return 0;
    }
    return choice >= SPLIT_LINES || has_targets
               ? error_set(err, ERROR_INVALID,
                           "columns must be given with JSONLines, Parquet or targets")
               : 0;
}

/* Of Parquet only the columns that are used are read. */
static void want_columns(struct table_set *set, struct table_format *format) {
    if (set->is_parquet) {
        set->wanted = json_copy(set->columns);
        if (set->label) {
            json_array_append_new(set->wanted, json_string(set->label));
        }
        format->columns = set->wanted;
    }
}

/* All labels may be of bad rows. */
static int check_rows(const struct table_set *set, const char *path, struct error *err) {
    int64_t good = 0;
    for (int64_t i = 0; i < set->base.count; i++) {
        good += !set->rows[i].fault;
    }
    return good ? 0
                : error_set(err, ERROR_INVALID, "%s: it has no row that can be used%s%.200s", path,
                            set->base.count ? "; the first: " : "",
                            set->base.count ? set->rows[0].fault : "");
}

/* Without names of its own, data for tests has the columns of the data for training, in its order.
 */
static void take_columns(struct table_set *set, const struct dataset *like) {
    if (!set->columns && like && like->ops == &dataset_table && like->target_count == 0) {
        const struct table_set *model = (const struct table_set *)like;
        set->columns = json_incref(model->columns);
        set->sample_count = model->sample_count;
    }
}

static int table_open(const json_t *fields, const struct dataset_options *options,
                      struct dataset **ret_dataset, struct error *err) {
    static const char *const patterns[] = {"*.csv", "*.tsv", "*.jsonl", "*.parquet"};
    static_assert(ARRAY_LEN(patterns) == PARQUET + 1, "one pattern per format");
    AUTO(dataset_closep) struct dataset *base = x_calloc(1, sizeof(struct table_set));
    struct table_set *set = (struct table_set *)base;
    struct table_format format;
    const char *path;
    base->ops = &dataset_table;
    set->memory_bytes = options->memory_bytes;
    if (fields_text(fields, "path", &path, err) < 0 ||
        read_settings(set, fields, &format, err) < 0 ||
        dataset_files(path, patterns[format.split], &base->strays, &set->paths, err) < 0) {
        return -1;
    }
    take_columns(set, options->like);
    want_columns(set, &format);
    for (size_t i = 0; i < json_array_size(set->paths); i++) {
        if (add_file(set, i, format, err) < 0) {
            return -1;
        }
    }
    if (check_rows(set, path, err) < 0) {
        return -1;
    }
    base->type = TENSOR_FLOAT32;
    base->shape = (struct shape){1, {(int64_t)set->sample_count}};
    *ret_dataset = TAKE(base);
    return 0;
}

static void table_describe(const struct dataset *dataset, int64_t index,
                           char text[static DATASET_NAME_MAX]) {
    const struct table_set *set = (const struct table_set *)dataset;
    const struct row *row = &set->rows[index];
    int written = snprintf(text, DATASET_NAME_MAX, "%.300s: row %lld",
                           json_string_value(json_array_get(set->paths, row->file)),
                           (long long)(index - set->first[row->file] + 1));
    if (!set->is_parquet) {
        snprintf(text + written, DATASET_NAME_MAX - (size_t)written, " (byte %lld)",
                 (long long)row->at);
    }
}

static int table_read(struct dataset *dataset, int64_t index, struct sample *sample,
                      struct error *err) {
    struct table_set *set = (struct table_set *)dataset;
    const struct row *row = &set->rows[index];
    size_t width = json_array_size(set->columns);
    const float *values = set->values + (size_t)index * width;
    if (row->fault) {
        char name[DATASET_NAME_MAX];
        table_describe(dataset, index, name);
        return error_set(err, ERROR_INVALID, "%s: %.300s", name, row->fault);
    }
    sample->shape = dataset->shape;
    sample->is_interleaved = false;
    memcpy(sample_room(sample, set->sample_count * sizeof *values), values,
           set->sample_count * sizeof *values);
    sample->label = set->label ? row->label : -1;
    if (dataset->target_count) {
        memcpy(sample_target_room(sample, (size_t)dataset->target_count),
               values + set->sample_count, (size_t)dataset->target_count * sizeof *values);
    }
    return 0;
}

const struct dataset_ops dataset_table = {.name = "table",
                                          .open = table_open,
                                          .read = table_read,
                                          .describe = table_describe,
                                          .close = table_close};
