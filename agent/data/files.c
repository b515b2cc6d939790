// SPDX-License-Identifier: Apache-2.0
#include "agent/data/files.h"

#include "agent/data/files_list.h"
#include "agent/data/image.h"
#include "agent/data/pack.h"
#include "agent/store/path.h"
#include "lib/buffer.h"
#include "lib/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct listing {
    struct files_list files;
};

struct reader {
    char *folder; /* spec path */
    json_t *names;
    size_t next;
};

struct writer {
    char *folder; /* spec path */
    struct pack *pack;
    json_t *names;
    size_t added;
};

static const char *input_path(const json_t *spec) {
    return tree_text(spec, "input.files.path", "");
}

static const char *output_path(const json_t *spec) {
    return tree_text(spec, "output.path", "");
}

/* ---- listing -------------------------------------------------------------------------------- */

static int files_list(const json_t *spec, struct listing **ret_listing, struct error *err) {
    struct listing *listing = x_calloc(1, sizeof *listing);
    if (files_list_build(&listing->files, spec, err) < 0) {
        free(listing);
        return -1;
    }
    *ret_listing = listing;
    return 0;
}

static int64_t files_count(const struct listing *listing) {
    return listing->files.count;
}

static json_t *files_work(const struct listing *listing, int64_t first, int64_t count) {
    json_t *names = json_array();
    for (int64_t i = first; i < first + count; i++) {
        json_array_append_new(names, json_string(listing->files.names[i]));
    }
    return json_pack("{s:I,s:I,s:o}", "first", (json_int_t)first, "count", (json_int_t)count,
                     "files", names);
}

static void files_listing_free(struct listing *listing) {
    if (listing) {
        files_list_release(&listing->files);
        free(listing);
    }
}

/* The results lie where they belong already. */
static int files_join(const struct listing *listing UNUSED, const json_t *spec,
                      struct parts *parts UNUSED, int64_t batch_items UNUSED, json_t *outputs,
                      struct error *err UNUSED) {
    json_array_append_new(outputs, json_string(output_path(spec)));
    return 0;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* The lease's names, or NULL: they come over the network. A way out of the folder would be found by
 * the store, too. */
static json_t *names_of(const json_t *work, struct error *err) {
    json_t *names = json_object_get(work, "files");
    bool is_sound = json_array_size(names) > 0 &&
                    (int64_t)json_array_size(names) == tree_integer(work, "count", -1);
    size_t i;
    json_t *name;
    json_array_foreach(names, i, name) {
        const char *text = json_string_value(name);
        is_sound = is_sound && text && *text && *text != '/';
    }
    if (!is_sound) {
        error_set(err, ERROR_INVALID, "the lease does not name files");
        return NULL;
    }
    return json_incref(names);
}

static void files_reader_free(struct reader *reader) {
    if (reader) {
        json_decref(reader->names);
        free(reader->folder);
        free(reader);
    }
}

static int files_reader_open(const json_t *spec, const json_t *work, struct reader **reader,
                             struct error *err) {
    files_reader_free(TAKE(*reader)); /* nothing of an earlier lease is worth keeping */
    json_t *names = names_of(work, err);
    if (!names) {
        return -1;
    }
    struct reader *it = x_calloc(1, sizeof *it);
    it->folder = x_strdup(input_path(spec));
    it->names = names;
    *reader = it;
    return 0;
}

/* At most max bytes from a file's start. */
static int read_bytes(const char *spec_path, size_t max, struct buffer *bytes, struct error *err) {
    AUTO(fd_closep) int fd = -1;
    struct stat status;
    if (path_open(spec_path, &fd, err) < 0) {
        return -1;
    }
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        return error_set(err, ERROR_INVALID, "%s: is no regular file", spec_path);
    }
    char chunk[65536];
    while (bytes->size < max) {
        ssize_t got = read(fd, chunk, MIN(sizeof chunk, max - bytes->size));
        if (got < 0 && errno != EINTR) {
            return error_from_errno(err, errno, "%s: cannot be read", spec_path);
        }
        if (got == 0) {
            break;
        }
        if (got > 0 && buffer_append(bytes, chunk, (size_t)got, err) < 0) {
            return error_context(err, "%s", spec_path);
        }
    }
    return 0;
}

static int read_picture(const char *spec_path, struct picture *picture, struct error *err) {
    AUTO(buffer_release) struct buffer bytes;
    buffer_init(&bytes, IMAGE_BYTES_MAX);
    if (read_bytes(spec_path, SIZE_MAX, &bytes, err) < 0) {
        return -1;
    }
    if (image_decode(bytes.data, bytes.size, picture, err) < 0) {
        return error_context(err, "%s", spec_path);
    }
    return 0;
}

static int files_reader_next(struct reader *reader, struct picture *picture, const char **ret_name,
                             struct error *err) {
    const char *name = json_string_value(json_array_get(reader->names, reader->next));
    if (!name) {
        return 0;
    }
    reader->next++;
    AUTO(text_freep) char *spec_path = file_join(reader->folder, name);
    if (read_picture(spec_path, picture, err) < 0) {
        return error_context(err, "spec.input.files.path");
    }
    *ret_name = name;
    return 1;
}

/* ---- writing -------------------------------------------------------------------------------- */

static void files_writer_free(struct writer *writer) {
    if (writer) {
        pack_free(writer->pack);
        json_decref(writer->names);
        free(writer->folder);
        free(writer);
    }
}

static int files_writer_open(const json_t *spec, const json_t *work, struct outcome *outcome,
                             struct writer **ret_writer, struct error *err) {
    json_t *names = names_of(work, err);
    if (!names) {
        return -1;
    }
    struct writer *writer = x_calloc(1, sizeof *writer);
    writer->folder = x_strdup(input_path(spec));
    writer->pack = pack_new(outcome);
    writer->names = names;
    *ret_writer = writer;
    return 0;
}

/* The result's bytes in the format of its input. */
static int encode_picture(const struct writer *writer, const char *name,
                          const struct picture *picture, uint8_t **ret_bytes, size_t *ret_size,
                          struct error *err) {
    AUTO(text_freep) char *spec_path = file_join(writer->folder, name);
    AUTO(buffer_release) struct buffer head;
    buffer_init(&head, IMAGE_SNIFF_BYTES);
    if (read_bytes(spec_path, IMAGE_SNIFF_BYTES, &head, err) < 0) {
        return -1;
    }
    enum image_format format = image_sniff(head.data, head.size);
    if (format == IMAGE_UNKNOWN) {
        return error_set(err, ERROR_INVALID, "%s: has changed since it was read", spec_path);
    }
    return image_encode(picture, format, ret_bytes, ret_size, err);
}

static int files_writer_add(struct writer *writer, const struct result *result, struct error *err) {
    const char *name = json_string_value(json_array_get(writer->names, writer->added));
    if (!name) {
        return error_set(err, ERROR_BUG, "a result that the lease does not ask for");
    }
    uint8_t *bytes = NULL;
    size_t size = 0;
    if (result->picture) {
        if (encode_picture(writer, name, result->picture, &bytes, &size, err) < 0) {
            return error_context(err, "%s", name);
        }
    } else {
        AUTO(text_freep) char *text = json_dumps(result->record, JSON_INDENT(2));
        bytes = (uint8_t *)x_printf("%s\n", text ? text : "null");
        size = strlen((char *)bytes);
    }
    AUTO(text_freep) char *output = x_printf("%s%s", name, result->picture ? "" : ".json");
    int done = pack_add(writer->pack, output, bytes, size, err);
    free(bytes);
    writer->added++;
    return done < 0 ? error_context(err, "spec.output.path") : 0;
}

static int files_writer_finish(struct writer *writer, struct error *err) {
    if (writer->added != json_array_size(writer->names)) {
        return error_set(err, ERROR_BUG, "%zu results for %zu files", writer->added,
                         json_array_size(writer->names));
    }
    return pack_close(writer->pack, err) < 0 ? error_context(err, "spec.output.path") : 0;
}

const struct media files_media = {
    .name = "files",
    .list = files_list,
    .count = files_count,
    .work = files_work,
    .is_packed = true,
    .join = files_join,
    .listing_free = files_listing_free,
    .reader_open = files_reader_open,
    .reader_next = files_reader_next,
    .reader_free = files_reader_free,
    .writer_open = files_writer_open,
    .writer_add = files_writer_add,
    .writer_finish = files_writer_finish,
    .writer_free = files_writer_free,
};
