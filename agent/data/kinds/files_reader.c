// SPDX-License-Identifier: Apache-2.0
#include "agent/data/kinds/files_reader.h"

#include "agent/data/decoder/decoder.h"
#include "agent/data/image/image.h"
#include "agent/data/image/jpeg_hardware.h"
#include "agent/data/input/fingerprint.h"
#include "agent/store/store_many.h"

#include <stdlib.h>
#include <string.h>

enum {
    AHEAD_MAX = 16,        /* files that are read together, if the store supports it ... */
    AHEAD_BYTES = 1 << 20, /* ... and they are not larger */
};

struct input_reader {
    struct store *store;
    enum item_type type;
    const json_t *names; /* borrowed */
    size_t next;
    char *fault;      /* the item's */
    bool is_read;     /* the item's bytes are; a fault may be that it is still being written */
    const char *core; /* of the item's listed fingerprint; NULL: not known; borrowed */
    /* files that were read ahead: names[ahead_first], ... */
    struct store_peeked ahead[AHEAD_MAX];
    size_t ahead_first, ahead_count;
    char *ahead_data;               /* NULL before the first */
    bool are_large;                 /* the files are large: reading ahead would only read them
                                       twice */
    struct jpeg_hardware *hardware; /* NULL: the processor decodes */
    struct decoder_pool *decoders;  /* of one process, which the first picture starts */
};

enum item_type files_reader_item(const json_t *spec) {
    bool is_text = tree_get(spec, "scorer.onnx.tokenizer");
    return is_text || tree_get(spec, "scorer.command") || tree_get(spec, "scorer.endpoint")
               ? ITEM_PATH
               : ITEM_PICTURE;
}

void files_reader_free(struct input_reader *reader) {
    if (reader) {
        store_free(reader->store);
        free(reader->fault);
        free(reader->ahead_data);
        jpeg_hardware_free(reader->hardware);
        decoder_pool_free(reader->decoders);
        free(reader);
    }
}

/* Of a line that names no file, because its item cannot be scored: what `field` says. */
static const char *fault_field(const json_t *line, const char *field) {
    return json_string_value(json_object_get(line, field));
}

/* The name of a line, which is "name" or ["name", "core"]; NULL: it names no file. */
static const char *name_of(const json_t *line) {
    return json_string_value(json_is_array(line) ? json_array_get(line, 0) : line);
}

static bool is_core(const json_t *line) {
    size_t size = json_string_length(json_array_get(line, 1));
    return !json_is_array(line) || (size > 0 && size < FINGERPRINT_CORE_MAX);
}

static bool are_names(const json_t *lines) {
    size_t i;
    json_t *line;
    bool is_sound = json_is_array(lines);
    json_array_foreach(lines, i, line) {
        const json_t *text = json_is_array(line) ? json_array_get(line, 0) : line;
        const char *name = json_string_value(text);
        bool is_name = name && *name && strlen(name) == json_string_length(text) && is_core(line);
        is_sound =
            is_sound && (is_name || (fault_field(line, "name") && fault_field(line, "fault")));
    }
    return is_sound;
}

int files_reader_open(const json_t *spec, const json_t *lines, struct input_reader **reader,
                      struct error *err) {
    struct input_reader *it = TAKE(*reader);
    if (!are_names(lines)) {
        files_reader_free(it);
        return error_set(err, ERROR_INVALID, "the lease does not name files");
    }
    if (!it) {
        it = x_calloc(1, sizeof *it);
        it->type = files_reader_item(spec);
        if (store_open(tree_text(spec, "input.files.path", ""), /* writes= */ false, &it->store,
                       err) < 0) {
            files_reader_free(it);
            return error_context(err, "spec.input.files.path");
        }
        it->hardware = jpeg_hardware_new();
        it->decoders = decoder_pool_new();
    }
    it->names = lines;
    it->next = it->ahead_first = it->ahead_count = 0;
    *reader = it;
    return 0;
}

/* Reads several files at once: over a network each would otherwise wait for the response to the one
 * before. */
static void read_ahead(struct input_reader *reader, size_t first) {
    size_t large = 0;
    reader->ahead_first = first;
    reader->ahead_count = 0;
    while (reader->ahead_count < AHEAD_MAX &&
           name_of(json_array_get(reader->names, first + reader->ahead_count))) {
        reader->ahead_count++;
    }
    if (!reader->ahead_data) {
        reader->ahead_data = x_malloc((size_t)AHEAD_MAX * AHEAD_BYTES);
    }
    for (size_t i = 0; i < reader->ahead_count; i++) {
        const char *name = name_of(json_array_get(reader->names, first + i));
        reader->ahead[i] =
            (struct store_peeked){.name = name,
                                  .data = reader->ahead_data + i * (size_t)AHEAD_BYTES,
                                  .room = AHEAD_BYTES};
    }
    store_peek(reader->store, reader->ahead, reader->ahead_count);
    for (size_t i = 0; i < reader->ahead_count; i++) {
        large += !reader->ahead[i].is_whole && reader->ahead[i].size == AHEAD_BYTES;
    }
    reader->are_large = 2 * large > reader->ahead_count;
}

/* The bytes of that file, if it was read ahead; NULL: it must be read alone. */
static const struct store_peeked *find_ahead(struct input_reader *reader, size_t index) {
    if (store_features(reader->store).is_local) {
        return NULL;
    }
    if (index >= reader->ahead_first + reader->ahead_count) {
        if (reader->are_large) {
            return NULL;
        }
        read_ahead(reader, index);
    }
    const struct store_peeked *found = &reader->ahead[index - reader->ahead_first];
    return found->is_whole ? found : NULL;
}

/* Of another content than was listed the result would be taken for that of the listed one. */
static int check_listed(const struct input_reader *reader, const char *name,
                        const struct store_info *info, struct error *err) {
    return fingerprint_holds(info, store_features(reader->store).is_local, reader->core)
               ? 0
               : error_set(err, ERROR_CONFLICT, "%s/%s: " FINGERPRINT_CHANGED,
                           store_path(reader->store), name);
}

static int check_ahead(const struct input_reader *reader, const struct store_peeked *ahead,
                       struct error *err) {
    struct store_info info = {.size_bytes = (int64_t)ahead->size};
    memcpy(info.token, ahead->token, sizeof info.token);
    return check_listed(reader, ahead->name, &info, err);
}

static int read_picture(struct input_reader *reader, const char *name,
                        const struct store_peeked *ahead, struct picture *ret_picture,
                        struct error *err) {
    AUTO(buffer_release) struct buffer bytes;
    struct store_info info;
    buffer_init(&bytes, IMAGE_BYTES_MAX);
    if (ahead ? check_ahead(reader, ahead, err) < 0
              : store_get(reader->store, name, &bytes, &info, err) < 0 ||
                    check_listed(reader, name, &info, err) < 0) {
        return -1;
    }
    reader->is_read = true;
    const void *data = ahead ? ahead->data : bytes.data;
    size_t size = ahead ? ahead->size : bytes.size;
    if (jpeg_hardware_decode(reader->hardware, name, data, size, ret_picture)) {
        return 0;
    }
    return decoder_pool_image(reader->decoders, data, size, ret_picture, err) < 0
               ? error_context(err, "%s/%s", store_path(reader->store), name)
               : 0;
}

static int find_path(struct input_reader *reader, const char *name,
                     const struct store_peeked *ahead, struct item *item, struct error *err) {
    struct store_info info;
    if (ahead) {
        if (check_ahead(reader, ahead, err) < 0 ||
            local_file_write(name, ahead->data, ahead->size, &item->file, err) < 0) {
            return -1;
        }
    } else if (!reader->core) {
        if (local_file_make(reader->store, name, &item->file, err) < 0) {
            return -1;
        }
    } else if (local_file_make_info(reader->store, name, &item->file, &info, err) < 0 ||
               check_listed(reader, name, &info, err) < 0) {
        local_file_release(&item->file);
        return -1;
    }
    item->core = item->file.folder ? NULL : reader->core;
    item->text = item->file.path;
    item->text_size = strlen(item->file.path);
    return 0;
}

int files_reader_next(struct input_reader *reader, struct item *item, struct error *err) {
    const json_t *line = json_array_get(reader->names, reader->next);
    const char *name = name_of(line);
    struct error cause = {0};
    if (!line) {
        return 0;
    }
    if (!name) {
        reader->next++;
        *item = (struct item){.type = reader->type,
                              .name = fault_field(line, "name"),
                              .fault = fault_field(line, "fault"),
                              .is_final = true};
        return 1;
    }
    const struct store_peeked *ahead = find_ahead(reader, reader->next++);
    *item = (struct item){.type = reader->type, .name = name, .origin = name};
    reader->is_read = false;
    reader->core = json_string_value(json_array_get(line, 1));
    int found = reader->type == ITEM_PATH
                    ? find_path(reader, name, ahead, item, &cause)
                    : read_picture(reader, name, ahead, &item->picture, &cause);
    if (found < 0 && store_error_is_machine(&cause)) {
        *err = cause;
        return error_context(err, "spec.input.files.path");
    }
    if (found < 0) {
        free(reader->fault);
        reader->fault = x_strdup(cause.text);
        item->fault = reader->fault;
        /* Not one that is absent or cut short: it may come. */
        item->is_final =
            (cause.kind == ERROR_INVALID && !reader->is_read) || cause.kind == ERROR_CONFLICT;
    }
    return 1;
}
