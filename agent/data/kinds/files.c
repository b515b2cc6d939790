// SPDX-License-Identifier: Apache-2.0
#include "agent/data/kinds/files.h"

#include "agent/data/image/image.h"
#include "agent/data/kinds/files_input.h"
#include "agent/data/parts/pack.h"
#include "agent/data/rows/single_row.h"
#include "lib/file.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 512 << 20 };

struct writer {
    const json_t *spec;
    struct store *input;
    struct pack *pack;
};

static void files_writer_free(struct writer *writer) {
    if (writer) {
        pack_free(writer->pack);
        store_free(writer->input);
        free(writer);
    }
}

static int files_writer_open(const json_t *spec, const json_t *work UNUSED,
                             struct staged_output *staged, struct writer **ret_writer,
                             struct error *err) {
    struct writer *writer = x_calloc(1, sizeof *writer);
    if (store_open(tree_text(spec, "input.files.path", ""), /* writes= */ false, &writer->input,
                   err) < 0) {
        files_writer_free(writer);
        return error_context(err, "spec.input.files.path");
    }
    writer->spec = spec;
    writer->pack = pack_new(staged);
    *ret_writer = writer;
    return 0;
}

/* Encodes the result in the format of its input, a mask as PNG, which keeps every value. */
static int encode_picture(const struct writer *writer, const char *name,
                          const struct picture *picture, uint8_t **ret_bytes, size_t *ret_size,
                          struct error *err) {
    char head[IMAGE_SNIFF_BYTES];
    size_t size = 0;
    if (picture->is_grey) {
        return image_encode(picture, IMAGE_PNG, ret_bytes, ret_size, err);
    }
    if (store_read(writer->input, name, &(struct store_piece){0, head, sizeof head, NULL}, &size,
                   err) < 0) {
        return -1;
    }
    enum image_format format = image_sniff(head, size);
    if (format == IMAGE_UNKNOWN) {
        return error_set(err, ERROR_INVALID, "%s/%s: has changed since it was read",
                         store_path(writer->input), name);
    }
    return image_encode(picture, format, ret_bytes, ret_size, err);
}

/* A row as a file of its own, in spec.output.format. */
static int add_row(struct writer *writer, const struct result *result, struct error *err) {
    const struct row_line line = {.head = result->head,
                                  .has_name = result->has_name,
                                  .record = result->record,
                                  .json = result->json,
                                  .json_size = result->json_size};
    AUTO(buffer_release) struct buffer file;
    AUTO(text_freep) char *name = x_printf("%s%s", result->name, single_row_ending(writer->spec));
    buffer_init(&file, FILE_BYTES_MAX);
    if (single_row_make(writer->spec, &line, &file, err) < 0) {
        return error_context(err, "%s", result->name);
    }
    return pack_add(writer->pack, name, (const uint8_t *)file.data, file.size, err) < 0
               ? error_context(err, "spec.output.path")
               : 0;
}

static int files_writer_add(struct writer *writer, const struct result *result, struct error *err) {
    uint8_t *bytes = NULL;
    size_t size = 0;
    if (!result->picture && result->head && single_row_ending(writer->spec)) {
        return add_row(writer, result, err);
    }
    if (result->picture) {
        if (encode_picture(writer, result->name, result->picture, &bytes, &size, err) < 0) {
            return error_context(err, "%s", result->name);
        }
    } else if (result->json) {
        size = result->json_size + 1;
        bytes = x_malloc(size);
        memcpy(bytes, result->json, result->json_size);
        bytes[result->json_size] = '\n';
    } else {
        AUTO(text_freep) char *text = json_dumps(result->record, JSON_INDENT(2));
        bytes = (uint8_t *)x_printf("%s\n", text ? text : "null");
        size = strlen((char *)bytes);
    }
    const char *ending = !result->picture ? ".json" : result->picture->is_grey ? ".png" : "";
    AUTO(text_freep) char *name = x_printf("%s%s", result->name, ending);
    int done = pack_add(writer->pack, name, bytes, size, err);
    free(bytes);
    return done < 0 ? error_context(err, "spec.output.path") : 0;
}

static int files_writer_finish(struct writer *writer, struct error *err) {
    return pack_close(writer->pack, err) < 0 ? error_context(err, "spec.output.path") : 0;
}

const struct media files_media = {
    .name = "files",
    .unit = "files",
    .lines = &files_input,
    .is_packed = true,
    .writer_open = files_writer_open,
    .writer_add = files_writer_add,
    .writer_finish = files_writer_finish,
    .writer_free = files_writer_free,
};
