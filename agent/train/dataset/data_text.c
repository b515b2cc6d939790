// SPDX-License-Identifier: Apache-2.0
/* Texts of a table as tokens. All rows are encoded once and held as ids, without padding; a sample
 * is filled up to maxLength when it is read. A row that cannot be used is kept as bad. */
#include "agent/train/dataset/text_rows.h"

#include "agent/data/text/token_roles.h"
#include "agent/train/dataset/fields.h"
#include "agent/train/dataset/files_seen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_EXTRAS = TOKEN_ROLE_COUNT - 1 /* all but the ids */ };

struct text_set {
    struct dataset base;
    struct text_rows rows;
};

static void text_close(struct dataset *dataset) {
    struct text_set *set = (struct text_set *)dataset;
    text_rows_release(&set->rows);
    free(dataset->counted);
    free(dataset->notice);
    free(dataset->name);
    for (size_t i = 0; i < dataset->extra_count; i++) {
        free(dataset->extras[i].name);
    }
    free(set);
}

/* What a network calls them, in the order of enum token_role. */
static void name_tensors(struct dataset *base, int64_t length) {
    static const char *const names[TEXT_EXTRAS] = {"attention_mask", "token_type_ids",
                                                   "position_ids"};
    base->type = TENSOR_INT64;
    base->shape = (struct shape){1, {length}};
    base->name = x_strdup("input_ids");
    base->extra_count = TEXT_EXTRAS;
    for (size_t i = 0; i < TEXT_EXTRAS; i++) {
        base->extras[i] = (struct dataset_tensor){
            .name = x_strdup(names[i]), .type = TENSOR_INT64, .shape = base->shape};
    }
    base->extras[TOKEN_MASK - 1].needed =
        "texts are filled up to maxLength, and the padding would count as text";
}

/* Where a label is only one of another number of classes, nothing else would show it. */
static int check_like(const struct text_set *set, const struct dataset *like, struct error *err) {
    if (!like || like->ops != &dataset_text) {
        return 0;
    }
    const struct text_rows *own = &set->rows, *other = &((const struct text_set *)like)->rows;
    if (strcmp(own->tokenizer_digest, other->tokenizer_digest) != 0) {
        return error_set(err, ERROR_INVALID,
                         "tokenizer: it is another one than that of the training data");
    }
    bool is_same = own->classes ? json_equal(own->classes, other->classes) : !other->classes;
    if (!is_same) {
        return error_set(err, ERROR_INVALID,
                         "classes: they must be those of the training data, in the same order");
    }
    return 0;
}

static int read_classes(const json_t *fields, json_t **ret_classes, struct error *err) {
    const json_t *classes = NULL;
    AUTO(tree_freep) json_t *seen = json_object();
    if (!json_object_get(fields, "classes")) {
        return 0;
    }
    if (fields_array(fields, "classes", DATASET_CLASSES_MAX, &classes, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < json_array_size(classes); i++) {
        const char *name = json_string_value(json_array_get(classes, i));
        if (!name || json_object_get(seen, name)) {
            return error_set(err, ERROR_INVALID, "classes: item %zu: %s", i,
                             name ? "it is a duplicate" : "a string is expected");
        }
        json_object_set_new(seen, name, json_integer((json_int_t)i));
    }
    *ret_classes = TAKE(seen);
    return 0;
}

static int read_columns(const json_t *fields, struct text_rows *rows, struct error *err) {
    const json_t *columns = NULL;
    if (fields_array(fields, "columns", ARRAY_LEN(rows->columns), &columns, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < json_array_size(columns); i++) {
        const char *name = json_string_value(json_array_get(columns, i));
        if (!name) {
            return error_set(err, ERROR_INVALID, "columns: names of columns are expected");
        }
        rows->columns[rows->column_count++] = x_strdup(name);
    }
    const char *label = json_string_value(json_object_get(fields, "label"));
    const char *labels = json_string_value(json_object_get(fields, "labels"));
    if (!label == !labels) {
        return error_set(err, ERROR_INVALID, "exactly one of label and labels must be given");
    }
    if (labels && rows->column_count > 1) {
        return error_set(err, ERROR_INVALID,
                         "columns: one is expected with labels, which are of the words of one "
                         "text; %zu are given",
                         rows->column_count);
    }
    rows->label = x_strdup(label ? label : labels);
    rows->has_words = labels != NULL;
    return 0;
}

static int read_settings(const json_t *fields, const struct dataset_options *options,
                         struct text_set *set, struct error *err) {
    static const char *const formats[] = {"CSV", "TSV", "JSONLines", "Parquet", NULL};
    struct text_rows *rows = &set->rows;
    const char *path, *tokenizer;
    int64_t length;
    int format;
    rows->ignored = options->ignored;
    rows->memory_bytes = options->memory_bytes;
    if (fields_text(fields, "path", &path, err) < 0 ||
        fields_choice(fields, "format", formats, &format, err) < 0 ||
        read_columns(fields, rows, err) < 0 ||
        fields_text(fields, "tokenizer", &tokenizer, err) < 0 ||
        fields_integer(fields, "maxLength", (int64_t[]){1, DATASET_SIDE_MAX}, &length, err) < 0 ||
        read_classes(fields, &rows->classes, err) < 0) {
        return -1;
    }
    rows->length = (size_t)length;
    rows->format =
        (struct table_format){.split = (enum split_format)MIN(format, SPLIT_LINES),
                              .has_header = format<SPLIT_LINES, .is_parquet = format> SPLIT_LINES};
    static const char *const patterns[] = {"*.csv", "*.tsv", "*.jsonl", "*.parquet"};
    return text_rows_tokenizer(rows, tokenizer, err) < 0 ||
                   dataset_files(path, patterns[format], &set->base.strays, &rows->paths, err) < 0
               ? -1
               : 0;
}

/* What a log of losses does not show: texts that are cut, classes that begin at 1. */
static void note(struct text_set *set) {
    const struct text_rows *rows = &set->rows;
    bool begins_late = !rows->classes && rows->class_count > 2 && !rows->has_first_class;
    AUTO(text_freep)
    char *cut = rows->cut ? x_printf("%lld of %lld texts are longer than maxLength %zu and are cut",
                                     (long long)rows->cut, (long long)rows->count, rows->length)
                          : NULL;
    if (cut || begins_late) {
        set->base.notice = x_printf(
            "%s%s%s", cut ? cut : "", cut && begins_late ? "; " : "",
            begins_late ? "no row has the class 0, though classes are counted from 0" : "");
    }
}

static void count_places(struct text_set *set) {
    struct dataset *base = &set->base;
    base->places = (struct shape){1, {(int64_t)set->rows.length}};
    base->ignored = set->rows.ignored;
    base->counted = x_calloc((size_t)base->count, sizeof *base->counted);
    for (int64_t i = 0; i < base->count; i++) {
        base->counted[i] = set->rows.rows[i].counted;
    }
}

static int text_open(const json_t *fields, const struct dataset_options *options,
                     struct dataset **ret_dataset, struct error *err) {
    AUTO(dataset_closep) struct dataset *base = x_calloc(1, sizeof(struct text_set));
    struct text_set *set = (struct text_set *)base;
    base->ops = &dataset_text;
    if (read_settings(fields, options, set, err) < 0 || check_like(set, options->like, err) < 0 ||
        text_rows_read(&set->rows, options, err) < 0) {
        return -1;
    }
    base->count = set->rows.count;
    base->classes =
        set->rows.classes ? (int64_t)json_object_size(set->rows.classes) : set->rows.class_count;
    base->digest = set->rows.digest;
    name_tensors(base, (int64_t)set->rows.length);
    if (set->rows.has_words) {
        count_places(set);
    }
    note(set);
    *ret_dataset = TAKE(base);
    return 0;
}

static void text_describe(const struct dataset *dataset, int64_t index,
                          char text[static DATASET_NAME_MAX]) {
    text_rows_describe(&((const struct text_set *)dataset)->rows, index, text);
}

static int text_find(const struct dataset *dataset UNUSED, const char *input) {
    enum token_role role;
    return token_role_find(NULL, input, &role) ? (int)role : -1;
}

static int text_read(struct dataset *dataset, int64_t index, struct sample *sample,
                     struct error *err) {
    const struct text_rows *rows = &((const struct text_set *)dataset)->rows;
    const struct text_row *row = &rows->rows[index];
    size_t bytes = rows->length * sizeof(int64_t);
    if (row->fault) {
        char name[DATASET_NAME_MAX];
        text_describe(dataset, index, name);
        return error_set(err, ERROR_INVALID, "%s: %.300s", name, row->fault);
    }
    struct text_sample to = {.ids = sample_room(sample, bytes)};
    to.mask = sample_extra_room(sample, TOKEN_MASK - 1, bytes);
    to.types = sample_extra_room(sample, TOKEN_TYPE_IDS - 1, bytes);
    to.positions = sample_extra_room(sample, TOKEN_POSITIONS - 1, bytes);
    to.labels = rows->has_words ? sample_labels_room(sample, rows->length) : NULL;
    sample->shape = dataset->shape;
    sample->is_interleaved = false;
    sample->label = rows->has_words ? -1 : row->label;
    text_rows_fill(rows, row, &to);
    return 0;
}

const struct dataset_ops dataset_text = {.name = "text",
                                         .open = text_open,
                                         .read = text_read,
                                         .describe = text_describe,
                                         .find = text_find,
                                         .close = text_close};
