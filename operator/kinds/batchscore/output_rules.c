// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/output_rules.h"

#include <string.h>

static bool is_format(const json_t *spec, const char *format) {
    return strcmp(tree_text(spec, "output.format", ""), format) == 0;
}

static bool is_type(const json_t *spec, const char *type) {
    return strcmp(tree_text(spec, "scorer.onnx.postprocess.type", ""), type) == 0;
}

/* A name that ends so is for one format; the message names it. */
static int check_name(const json_t *spec, struct error *err) {
    static const struct {
        const char *ending, *format, *message;
    } endings[] = {
        {".csv", "CSV",
         "a file of this name should hold CSV: add format: CSV, or choose another name"},
        {".parquet", "Parquet",
         "a file of this name should hold Parquet: add format: Parquet, or choose another name"},
        {".npy", "Npy",
         "a file of this name should hold an array: add format: Npy, or choose another name"},
        {".jsonl", "JSONLines",
         "a file of this name should hold JSON Lines: set format: JSONLines, or choose another "
         "name"},
    };
    const char *name = tree_text(spec, "output.appendRowFileName", "");
    bool has_format = tree_get(spec, "output.format");
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        bool is_lines = strcmp(endings[i].ending, ".jsonl") == 0;
        if (text_ends(name, endings[i].ending) && !is_format(spec, endings[i].format) &&
            (has_format || !is_lines)) {
            return job_refuse(err, "output.appendRowFileName", endings[i].message);
        }
    }
    return 0;
}

/* key and columns name columns of a table. */
static int check_columns(const json_t *spec, const char *field, struct error *err) {
    const json_t *table = tree_get(spec, "input.table");
    bool has_names = tree_bool(table, "header", false) ||
                     strcmp(tree_text(table, "format", ""), "JSONLines") == 0;
    if (!tree_get(spec, field)) {
        return 0;
    }
    if (!tree_get(spec, "output.format")) {
        return job_refuse(err, field, "belongs to output.format, such as format: Parquet");
    }
    return table && has_names
               ? 0
               : job_refuse(
                     err, field,
                     "names columns of input.table, which need header: true or format: JSONLines");
}

/* Whether a column that is carried along has the name of the default key. */
static bool has_place(const json_t *spec) {
    size_t i;
    json_t *name;
    json_array_foreach(tree_get(spec, "output.columns"), i, name) {
        const char *text = json_string_value(name);
        if (strcmp(text, "file") == 0 || strcmp(text, "row") == 0) {
            return true;
        }
    }
    return false;
}

/* Of a Parquet table only the columns of input.table.columns are read. */
static int check_read(const json_t *spec, const char *field, struct error *err) {
    const json_t *read = tree_get(spec, "input.table.columns");
    size_t i;
    json_t *name, *one;
    json_array_foreach(tree_get(spec, field), i, name) {
        bool is_read = !read;
        size_t at;
        json_array_foreach(read, at, one) {
            is_read = is_read || json_equal(one, name);
        }
        if (!is_read) {
            AUTO(text_freep)
            char *sentence = x_printf("names column \"%.100s\", which input.table.columns does "
                                      "not read; add it there",
                                      json_string_value(name));
            return job_refuse(err, field, sentence);
        }
    }
    return 0;
}

/* Rows in one file, or of files each in its own. */
static int check_format(const json_t *spec, struct error *err) {
    enum output_mode mode = batchscore_mode(spec);
    bool makes_pictures = tree_bool(spec, "scorer.onnx.postprocess.draw", false) ||
                          is_type(spec, "Image") || is_type(spec, "Mask");
    if (mode != OUTPUT_APPEND_ROW && (mode != OUTPUT_PER_FILE || !tree_get(spec, "input.files"))) {
        return job_refuse(err, "output.format",
                          "belongs to mode: AppendRow, or PerFile of input.files");
    }
    if (makes_pictures) {
        return job_refuse(err, "output.format",
                          "is for rows, but type: Image, Mask and draw write pictures");
    }
    if (is_format(spec, "COCO") && !is_type(spec, "Boxes")) {
        return job_refuse(err, "output.format",
                          "COCO holds boxes: it belongs to postprocess type: Boxes");
    }
    return 0;
}

int output_rules_check(const json_t *spec, struct error *err) {
    bool has_format = tree_get(spec, "output.format");
    if (has_format && check_format(spec, err) < 0) {
        return -1;
    }
    if (is_format(spec, "Npy") &&
        strcmp(tree_text(spec, "scorer.onnx.postprocess.type", ""), "Classes") == 0) {
        return job_refuse(
            err, "output.format",
            "Npy holds numbers, and type: Classes gives names, too; take format: Parquet");
    }
    if (check_columns(spec, "output.key", err) < 0 ||
        check_columns(spec, "output.columns", err) < 0) {
        return -1;
    }
    const char *key = tree_get(spec, "output.key") ? "output.key" : "input.table.partitionKeys";
    if ((has_format && check_read(spec, key, err) < 0) ||
        check_read(spec, "output.columns", err) < 0) {
        return -1;
    }
    if (!tree_get(spec, "output.key") && has_place(spec)) {
        return job_refuse(err, "output.columns",
                          "file and row are the key of each row; name another key in output.key");
    }
    if (tree_get(spec, "output.types") && (!has_format || is_format(spec, "JSONLines"))) {
        return job_refuse(err, "output.types", "belongs to format: CSV, Parquet or Npy");
    }
    if (tree_get(spec, "output.compression") && !is_format(spec, "Parquet")) {
        return job_refuse(err, "output.compression", "belongs to format: Parquet");
    }
    return check_name(spec, err);
}
