// SPDX-License-Identifier: Apache-2.0
/* onnx.proto3, TensorProto: data_location 14 (1: EXTERNAL), external_data 13, pairs of key and
 * value: location, offset, length, checksum. */
#include "agent/engine/onnx/external_data.h"

#include "agent/engine/onnx/tensor_proto.h"
#include "lib/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FIELD_ENTRY = 13,
    FIELD_LOCATION = 14,
    ENTRY_KEY = 1,
    ENTRY_VALUE = 2,
    NAME_MAX_BYTES = 255
};
#define FILE_BYTES_MAX ((size_t)1 << 42) /* of addresses that are reserved */

/* Where the elements are. length -1: as many as the shape needs. */
struct place {
    char name[NAME_MAX_BYTES + 1];
    int64_t offset, length;
};

void external_data_free(struct external_data *data) {
    for (size_t i = 0; data && i < data->count; i++) {
        free(data->files[i].name);
        resident_file_free(data->files[i].file);
    }
    free(data);
}

bool external_data_has(struct protobuf tensor) {
    struct error ignored = {0};
    struct protobuf_field field;
    bool has = false;
    while (protobuf_next(&tensor, &field, &ignored) > 0) {
        has |=
            field.number == FIELD_LOCATION && field.type == PROTOBUF_VARINT && field.integer == 1;
    }
    return has;
}

/* ---- where ---------------------------------------------------------------------------------- */

static bool is_key(struct protobuf key, const char *name) {
    return protobuf_size(key) == strlen(name) && memcmp(key.at, name, strlen(name)) == 0;
}

static int read_number(struct protobuf text, int64_t *ret_number, struct error *err) {
    int64_t number = 0;
    size_t size = protobuf_size(text);
    for (size_t i = 0; i < size; i++) {
        int digit = text.at[i] - '0';
        if (digit < 0 || digit > 9 || number > (INT64_MAX - 9) / 10) {
            return error_set(err, ERROR_INVALID, "its offset or length is not a number");
        }
        number = 10 * number + digit;
    }
    *ret_number = number;
    return size ? 0 : error_set(err, ERROR_INVALID, "its offset or length is empty");
}

/* Exporters write the file beside the model. */
static int read_name(struct protobuf text, struct place *place, struct error *err) {
    size_t size = protobuf_size(text);
    bool is_plain = size > 0 && size <= NAME_MAX_BYTES && !memchr(text.at, '/', size) &&
                    !memchr(text.at, 0, size) && text.at[0] != '.';
    if (!is_plain) {
        return error_set(err, ERROR_INVALID,
                         "its data is in \"%.*s\": the name of a file in the model's own folder is "
                         "expected",
                         (int)MIN(size, 100), (const char *)text.at);
    }
    memcpy(place->name, text.at, size);
    place->name[size] = 0;
    return 0;
}

static int read_entry(struct protobuf entry, struct place *place, struct error *err) {
    struct protobuf key = {0}, value = {0};
    struct protobuf_field field;
    int more;
    while ((more = protobuf_next(&entry, &field, err)) > 0) {
        if (field.type == PROTOBUF_BYTES) {
            *(field.number == ENTRY_KEY ? &key : &value) = field.bytes;
        }
    }
    if (more < 0) {
        return -1;
    }
    return is_key(key, "location") ? read_name(value, place, err)
           : is_key(key, "offset") ? read_number(value, &place->offset, err)
           : is_key(key, "length") ? read_number(value, &place->length, err)
                                   : 0;
}

static int read_place(struct protobuf tensor, struct place *place, struct error *err) {
    struct protobuf_field field;
    int more;
    *place = (struct place){.length = -1};
    while ((more = protobuf_next(&tensor, &field, err)) > 0) {
        if (field.number == FIELD_ENTRY && field.type == PROTOBUF_BYTES &&
            read_entry(field.bytes, place, err) < 0) {
            return -1;
        }
    }
    if (more == 0 && !place->name[0]) {
        return error_set(err, ERROR_INVALID, "its data is in another file, which it does not name");
    }
    return more;
}

/* ---- files ---------------------------------------------------------------------------------- */

static int open_file(struct external_data *data, const char *name, struct external_file **ret_file,
                     struct error *err) {
    int fd = openat(data->folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0) {
        int why = errno;
        if (fd >= 0) {
            close(fd);
        }
        return error_from_errno(
            err, why,
            "its data is in another file, %s, which must be beside the model "
            "(in az:// and s3://: save the model in one file, external_data=False)",
            name);
    }
    if (!S_ISREG(status.st_mode)) {
        close(fd);
        return error_set(err, ERROR_INVALID, "its data is in %s, which is not a regular file",
                         name);
    }
    struct resident_file *opened = NULL;
    int result = resident_file_reserve(name, fd, FILE_BYTES_MAX, &opened, err);
    close(fd);
    if (result < 0) {
        return error_context(err, "its data is in %s", name);
    }
    opened->next = data->model->next;
    data->model->next = opened;
    *ret_file = &data->files[data->count++];
    **ret_file = (struct external_file){.name = x_strdup(name), .file = opened};
    return 0;
}

static int find_file(struct external_data *data, const char *name, struct external_file **ret_file,
                     struct error *err) {
    for (size_t i = 0; i < data->count; i++) {
        if (strcmp(data->files[i].name, name) == 0) {
            *ret_file = &data->files[i];
            return 0;
        }
    }
    if (data->folder_fd < 0) {
        return error_set(err, ERROR_UNSUPPORTED, "its data is in another file, %s", name);
    }
    return data->count < EXTERNAL_FILES_MAX
               ? open_file(data, name, ret_file, err)
               : error_set(err, ERROR_UNSUPPORTED, "its data is in more than %d files",
                           EXTERNAL_FILES_MAX);
}

int external_data_piece(const struct external_file *file, int64_t offset, void *bytes, size_t size,
                        struct error *err) {
    return resident_file_read(file->file, (size_t)offset, bytes, size, err) < 0
               ? error_context(err, "%s", file->name)
               : 0;
}

/* ---- elements ------------------------------------------------------------------------------- */

/* So that a file of holes, which may be long and take no room, does not end the process: three
 * quarters of the memory, for a layer is in memory twice while it is packed. */
static size_t room(void) {
    int64_t limit = cgroup_memory_bytes(NULL);
    int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    limit = limit > 0 ? MIN(limit, memory) : memory;
    return limit > 0 ? MIN((size_t)limit / 4 * 3, EXTERNAL_BYTES_MAX) : EXTERNAL_BYTES_MAX;
}

static int check_place(struct external_data *data, const struct external_file *file,
                       const struct place *place, size_t size, struct error *err) {
    if (place->length >= 0 && (uint64_t)place->length != size) {
        return error_set(err, ERROR_INVALID, "%s has %lld bytes for it, its shape needs %zu",
                         file->name, (long long)place->length, size);
    }
    size_t all = file->file->size;
    if (size > all || (uint64_t)place->offset > all - size) {
        return error_set(err, ERROR_INVALID,
                         "its %zu bytes at %lld are beyond the end of %s, which has %zu", size,
                         (long long)place->offset, file->name, all);
    }
    size_t most = data->room_bytes = data->room_bytes ? data->room_bytes : room();
    if (size > most - MIN(most, data->used_bytes)) {
        return error_set(err, ERROR_INVALID,
                         "its data in other files is more than three quarters of the memory here, "
                         "%zu bytes",
                         most);
    }
    return 0;
}

int external_data_read(struct external_data *data, struct protobuf message, struct arena *arena,
                       struct external_tensor *ret_read, struct error *err) {
    struct external_tensor read = {.origin = NULL};
    struct tensor *made = &read.tensor;
    struct place place;
    struct external_file *file = NULL;
    if (tensor_proto_head(message, made, &read.name, err) < 0 ||
        read_place(message, &place, err) < 0 || find_file(data, place.name, &file, err) < 0) {
        return -1;
    }
    int64_t count = shape_count(&made->shape);
    size_t size = count < 0 ? SIZE_MAX : (size_t)count * tensor_type_size(made->type);
    if (check_place(data, file, &place, size, err) < 0) {
        return -1;
    }
    uint8_t *there = file->file->bytes ? file->file->bytes + place.offset : NULL;
    bool fits = there && size >= RESIDENT_BYTES_MIN && made->type != TENSOR_BOOL &&
                (uint64_t)place.offset >= file->used &&
                (uintptr_t)there % tensor_type_size(made->type) == 0;
    made->data = fits ? there : arena_alloc(arena, size);
    read.origin = made->type == TENSOR_BOOL || !size ? NULL : there;
    file->used = fits ? (size_t)place.offset + size : file->used;
    data->used_bytes += size;
    if (external_data_piece(file, place.offset, made->data, size, err) < 0) {
        return -1;
    }
    for (size_t i = 0; made->type == TENSOR_BOOL && i < size; i++) {
        ((uint8_t *)made->data)[i] = ((uint8_t *)made->data)[i] != 0;
    }
    *ret_read = read;
    return 0;
}
