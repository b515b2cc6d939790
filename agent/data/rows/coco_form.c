// SPDX-License-Identifier: Apache-2.0
/* COCO: boxes as one JSON object in the form of COCO's annotation files (cocodataset.org, "Data
 * format"): annotations with image_id, category_id, bbox [left, top, width, height], area and
 * score, then images and categories. An image's id is the number that its file is named by, where
 * all are numbers (rows_numbers), else 1, 2, 3, ... Images wait in a temporary file, since the
 * annotations are before them. */
#include "agent/data/rows/rows_form.h"

#include "lib/temporary_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX_BYTES = 1 << 30, CATEGORIES_MAX = 1 << 20, PIECE_BYTES = 1 << 16 };

struct rows_writer {
    struct rows_form_options options;
    size_t file, width, height, boxes; /* columns; SIZE_MAX: there is none */
    int64_t images, annotations;
    json_t *categories; /* number of the class -> name */
    FILE *list;         /* the images */
    struct buffer text;
};

static void coco_free(struct rows_writer *writer) {
    if (writer) {
        if (writer->list) {
            (void)fclose(writer->list);
        }
        json_decref(writer->categories);
        buffer_release(&writer->text);
        free(writer);
    }
}

static size_t find(const struct row_columns *columns, const char *name) {
    for (size_t i = 0; i < columns->count; i++) {
        if (strcmp(columns->columns[i].name, name) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

static int write_text(struct rows_writer *writer, const char *text, struct error *err) {
    return writer->options.take(writer->options.context, text, strlen(text), err);
}

static int coco_open(const struct rows_form_options *options, struct rows_writer **ret_writer,
                     struct error *err) {
    const struct row_columns *columns = options->columns;
    struct rows_writer *writer = x_calloc(1, sizeof *writer);
    size_t file = find(columns, "file");
    *writer = (struct rows_writer){.options = *options,
                                   .file = file == SIZE_MAX ? find(columns, "frame") : file,
                                   .width = find(columns, "width"),
                                   .height = find(columns, "height"),
                                   .boxes = find(columns, "boxes"),
                                   .categories = json_object(),
                                   .list = temporary_file_open(err)};
    buffer_init(&writer->text, TEXT_MAX_BYTES);
    int result = 0;
    if (!writer->list) {
        err->kind = ERROR_UNAVAILABLE; /* the machine's fault: another one may have room */
        result = -1;
    } else if (columns->rows > 0 && (writer->boxes == SIZE_MAX || writer->file == SIZE_MAX)) {
        result = error_set(err, ERROR_INVALID,
                           "spec.output.format: COCO holds boxes of pictures, the results have "
                           "none: postprocess type: Boxes is expected");
    }
    result = result < 0 ? -1 : write_text(writer, "{\"annotations\":[", err);
    if (result < 0) {
        coco_free(writer);
        return -1;
    }
    *ret_writer = writer;
    return 0;
}

/* ---- a picture ------------------------------------------------------------------------------ */

/* Name and id of the picture; the caller frees the name. */
static char *name_of(const struct rows_writer *writer, const struct row_cells *cells,
                     int64_t *ret_id) {
    const struct row_cell *cell = &cells->cells[writer->file];
    bool is_frame = cells->columns->columns[writer->file].type == ROW_INTEGER;
    char *name = is_frame ? x_printf("%lld", (long long)cell->integer)
                          : x_strndup(cell->text, cell->is_there ? cell->text_size : 0);
    *ret_id = is_frame                       ? cell->integer
              : writer->options.are_numbered ? rows_numbers_of(name, strlen(name))
                                             : writer->images;
    return name;
}

static int add_image(struct rows_writer *writer, const struct row_cells *cells, int64_t *ret_id,
                     struct error *err) {
    AUTO(text_freep) char *name = name_of(writer, cells, ret_id);
    AUTO(tree_freep)
    json_t *image = json_pack("{s:I,s:s}", "id", (json_int_t)*ret_id, "file_name", name);
    if (writer->width != SIZE_MAX && writer->height != SIZE_MAX) {
        json_object_set_new(image, "width", json_integer(cells->cells[writer->width].integer));
        json_object_set_new(image, "height", json_integer(cells->cells[writer->height].integer));
    }
    AUTO(text_freep) char *text = json_dumps(image, JSON_COMPACT);
    return fprintf(writer->list, "%s\n%s", writer->images > 1 ? "," : "", text) < 0
               ? error_set(err, ERROR_UNAVAILABLE, "temporary file: %s", strerror(errno))
               : 0;
}

/* ---- boxes ---------------------------------------------------------------------------------- */

static double side(const json_t *box, size_t index) {
    return json_number_value(json_array_get(box, index));
}

static int add_category(struct rows_writer *writer, const json_t *box, struct error *err) {
    char number[32];
    const json_t *label = json_object_get(box, "label");
    snprintf(number, sizeof number, "%lld",
             (long long)json_integer_value(json_object_get(box, "class")));
    if (json_object_get(writer->categories, number)) {
        return 0;
    }
    if (json_object_size(writer->categories) >= CATEGORIES_MAX) {
        return error_set(err, ERROR_EXHAUSTED, "the boxes have more than %d classes",
                         CATEGORIES_MAX);
    }
    json_object_set_new(writer->categories, number,
                        label ? json_deep_copy(label) : json_string(number));
    return 0;
}

static int add_box(struct rows_writer *writer, const json_t *box, int64_t image,
                   struct error *err) {
    const json_t *sides = json_object_get(box, "box");
    double left = side(sides, 0), top = side(sides, 1);
    double width = side(sides, 2) - left, height = side(sides, 3) - top;
    char text[320];
    bool is_first = writer->annotations++ == 0;
    snprintf(text, sizeof text,
             "%s\n{\"id\":%lld,\"image_id\":%lld,\"category_id\":%lld,\"bbox\":[%.9g,%.9g,%.9g,"
             "%.9g],\"area\":%.9g,\"iscrowd\":0,\"score\":%.9g}",
             is_first ? "" : ",", (long long)writer->annotations, (long long)image,
             (long long)json_integer_value(json_object_get(box, "class")), left, top, width, height,
             width * height, json_number_value(json_object_get(box, "score")));
    return add_category(writer, box, err) < 0
               ? -1
               : buffer_append(&writer->text, text, strlen(text), err);
}

static int coco_add(struct rows_writer *writer, const struct row_cells *cells, struct error *err) {
    const struct row_cell *cell = &cells->cells[writer->boxes];
    AUTO(tree_freep) json_t *boxes = NULL;
    size_t i;
    json_t *box;
    int64_t image = 0;
    writer->images++;
    buffer_clear(&writer->text);
    if (cell->is_there && cells->columns->columns[writer->boxes].type == ROW_JSON &&
        tree_parse(cell->text, cell->text_size, cell->text_size, &boxes, err) < 0) {
        return -1;
    }
    if (add_image(writer, cells, &image, err) < 0) {
        return -1;
    }
    json_array_foreach(boxes, i, box) {
        if (add_box(writer, box, image, err) < 0) {
            return -1;
        }
    }
    return writer->text.size == 0 ? 0
                                  : writer->options.take(writer->options.context, writer->text.data,
                                                         writer->text.size, err);
}

/* ---- the end -------------------------------------------------------------------------------- */

static int give_images(struct rows_writer *writer, struct error *err) {
    char piece[PIECE_BYTES];
    size_t size = 1;
    if (fflush(writer->list) != 0 || fseek(writer->list, 0, SEEK_SET) != 0) {
        return error_set(err, ERROR_UNAVAILABLE, "temporary file: %s", strerror(errno));
    }
    while (size > 0) {
        size = fread(piece, 1, sizeof piece, writer->list);
        if (size > 0 && writer->options.take(writer->options.context, piece, size, err) < 0) {
            return -1;
        }
    }
    return ferror(writer->list) ? error_set(err, ERROR_UNAVAILABLE,
                                            "temporary file: cannot be read: %s", strerror(errno))
                                : 0;
}

static int give_categories(struct rows_writer *writer, struct error *err) {
    AUTO(tree_freep) json_t *list = json_array();
    const char *number;
    json_t *name;
    json_object_foreach(writer->categories, number, name) {
        json_array_append_new(list, json_pack("{s:I,s:O}", "id",
                                              (json_int_t)strtoll(number, NULL, 10), "name", name));
    }
    AUTO(text_freep) char *text = json_dumps(list, JSON_COMPACT);
    return write_text(writer, text, err);
}

static int coco_finish(struct rows_writer *writer, struct error *err) {
    return write_text(writer, "\n],\"images\":[", err) < 0 || give_images(writer, err) < 0 ||
                   write_text(writer, "\n],\"categories\":", err) < 0 ||
                   give_categories(writer, err) < 0
               ? -1
               : write_text(writer, "}\n", err);
}

const struct rows_form rows_coco = {
    .name = "COCO",
    .ending = ".json",
    .has_heads = true,
    .open = coco_open,
    .add = coco_add,
    .finish = coco_finish,
    .free = coco_free,
};
