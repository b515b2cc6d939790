// SPDX-License-Identifier: Apache-2.0
/* Data sets in the IDX format (MNIST): one file of images, one of labels. Both are kept in memory
 * completely: a .gz cannot be read from its middle, and data sets in this format are small. */
#include "agent/train/dataset/dataset.h"

#include "agent/data/decoder/decoder.h"
#include "agent/data/source/gzip.h"
#include "agent/store/stored_file.h"
#include "agent/train/dataset/fields.h"
#include "agent/train/dataset/idx.h"
#include "lib/digest.h"

#include <stdlib.h>
#include <string.h>

enum { TYPE_BYTES = 8, HEAD_BYTES = 4, HEAD_MAX = HEAD_BYTES + 4 * IDX_RANK_MAX };

struct idx_set {
    struct dataset base;
    struct buffer images, labels;
    struct idx images_head, labels_head;
};

static size_t read_dim(const uint8_t *head, int axis) {
    const uint8_t *at = head + HEAD_BYTES + 4 * axis;
    return (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
}

size_t idx_size(const void *head, size_t size) {
    const uint8_t *bytes = head;
    int rank = size < HEAD_BYTES ? 0 : bytes[3];
    size_t head_bytes = HEAD_BYTES + 4 * (size_t)rank, elements = 1;
    if (rank < 1 || rank > IDX_RANK_MAX || size < head_bytes || bytes[0] != 0 || bytes[1] != 0 ||
        bytes[2] != TYPE_BYTES) {
        return 0;
    }
    for (int i = 0; i < rank; i++) {
        size_t dim = read_dim(bytes, i);
        if (dim == 0 || elements > SIZE_MAX / 2 / dim) {
            return 0;
        }
        elements *= dim;
    }
    return head_bytes + elements;
}

int idx_parse(const void *data, size_t size, struct idx *ret_idx, struct error *err) {
    const uint8_t *bytes = data;
    struct idx idx = {.item_bytes = 1};
    if (size < HEAD_BYTES || bytes[0] != 0 || bytes[1] != 0) {
        return error_set(err, ERROR_INVALID, "is not an IDX file");
    }
    if (bytes[2] != TYPE_BYTES) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "its elements are of type 0x%02x, expected 0x08 (unsigned bytes)",
                         bytes[2]);
    }
    idx.rank = bytes[3];
    if (idx.rank < 1 || idx.rank > IDX_RANK_MAX) {
        return error_set(err, ERROR_INVALID, "has %d axes, expected 1 to %d", idx.rank,
                         IDX_RANK_MAX);
    }
    idx.head_bytes = HEAD_BYTES + 4 * (size_t)idx.rank;
    if (size < idx.head_bytes) {
        return error_set(err, ERROR_INVALID, "is truncated within its header");
    }
    size_t elements = 1, rest = size - idx.head_bytes;
    for (int i = 0; i < idx.rank; i++) {
        size_t dim = read_dim(bytes, i);
        if (dim == 0 || elements > rest / dim) {
            return error_set(err, ERROR_INVALID,
                             dim ? "is shorter than its header says" : "has no elements");
        }
        elements *= dim;
        idx.item_bytes *= i ? dim : 1;
        idx.dims[i] = (int64_t)dim;
    }
    if (elements != rest) {
        return error_set(err, ERROR_INVALID, "has %zu bytes after its elements", rest - elements);
    }
    *ret_idx = idx;
    return 0;
}

/* No more than the header says: a small file may become a very large one. A piece ends where a
 * member of the file does, so the header may come in several. */
static int take_unpacked(void *context, const void *data, size_t size, struct error *err) {
    struct buffer *buffer = context;
    uint8_t head[HEAD_MAX];
    size_t before = buffer->size, added = before < HEAD_MAX ? MIN(size, HEAD_MAX - before) : 0;
    struct idx ignored;
    if (added == 0) {
        return gzip_append(buffer, data, size, err);
    }
    if (before) {
        memcpy(head, buffer->data, before);
    }
    memcpy(head + before, data, added);
    size_t wanted = idx_size(head, before + added);
    if (wanted) {
        buffer->max = MIN(buffer->max, wanted);
    }
    if (gzip_append(buffer, data, size, err) < 0) {
        return -1;
    }
    return wanted || buffer->size < HEAD_MAX ? 0
                                             : idx_parse(buffer->data, buffer->size, &ignored, err);
}

/* Reads the decompressed file; buffer->max limits its size, compressed or not. */
static int load(const char *path, struct buffer *buffer, struct idx *ret_idx, struct error *err) {
    AUTO(stored_file_release) struct stored_file file = {0};
    AUTO(buffer_release) struct buffer packed;
    struct error cause = {0};
    struct store_info info;
    buffer_init(&packed, buffer->max);
    if (stored_file_open(path, &file, err) < 0 ||
        store_stat(file.store, file.name, &info, err) < 0) {
        return -1;
    }
    if ((uint64_t)info.size_bytes > buffer->max) {
        return error_set(err, ERROR_EXHAUSTED,
                         "%s: has %lld bytes, and data may take %lld MiB; raise "
                         "resources.limits.memory",
                         path, (long long)info.size_bytes, (long long)buffer->max >> 20);
    }
    if (store_get(file.store, file.name, &packed, NULL, err) < 0) {
        return -1;
    }
    int result = 0;
    if (gzip_is(packed.data, packed.size)) {
        struct gzip_sink sink = {buffer, take_unpacked};
        result = decoder_gunzip(packed.data, packed.size, &sink, &cause);
    } else {
        *buffer = packed;
        buffer_init(&packed, 0);
    }
    if (result < 0 || idx_parse(buffer->data, buffer->size, ret_idx, &cause) < 0) {
        *err = cause;
        return error_context(err, "%s", path);
    }
    return 0;
}

static void idx_close(struct dataset *dataset) {
    struct idx_set *set = (struct idx_set *)dataset;
    buffer_release(&set->images);
    buffer_release(&set->labels);
    free(set);
}

/* Checks that both files match; classes are 0 to the highest label. */
static int match(struct idx_set *set, struct error *err) {
    const struct idx *images = &set->images_head, *labels = &set->labels_head;
    if (labels->rank != 1 || images->rank < 2) {
        return error_set(err, ERROR_INVALID,
                         "images have %d axes, expected 2 or more; labels have %d, expected 1",
                         images->rank, labels->rank);
    }
    if (labels->dims[0] != images->dims[0]) {
        return error_set(err, ERROR_INVALID, "%lld images, but %lld labels",
                         (long long)images->dims[0], (long long)labels->dims[0]);
    }
    struct dataset *base = &set->base;
    const uint8_t *label = (const uint8_t *)set->labels.data + labels->head_bytes;
    base->count = images->dims[0];
    if (base->count > DATASET_COUNT_MAX) {
        return error_set(err, ERROR_INVALID, "has %lld samples, at most %d are supported",
                         (long long)base->count, DATASET_COUNT_MAX);
    }
    for (int64_t i = 0; i < base->count; i++) {
        base->classes = MAX(base->classes, label[i] + 1);
    }
    base->type = TENSOR_UINT8;
    if (images->rank == 3) { /* pictures with one channel */
        base->shape = (struct shape){3, {1, images->dims[1], images->dims[2]}};
    } else {
        base->shape.rank = images->rank - 1;
        memcpy(base->shape.dims, images->dims + 1, (size_t)base->shape.rank * sizeof(int64_t));
    }
    for (int i = 0; i < base->shape.rank; i++) {
        if (base->shape.dims[i] > DATASET_SIDE_MAX) {
            return error_set(err, ERROR_INVALID,
                             "a sample has an axis of %lld, at most %d is supported",
                             (long long)base->shape.dims[i], DATASET_SIDE_MAX);
        }
    }
    base->digest = digest_crc32c(0, set->images.data, set->images.size);
    base->digest = digest_crc32c(base->digest, set->labels.data, set->labels.size);
    return 0;
}

static int idx_open(const json_t *fields, const struct dataset_options *options,
                    struct dataset **ret_dataset, struct error *err) {
    const char *images, *labels;
    if (fields_text(fields, "images", &images, err) < 0 ||
        fields_text(fields, "labels", &labels, err) < 0) {
        return -1;
    }
    AUTO(dataset_closep) struct dataset *base = x_calloc(1, sizeof(struct idx_set));
    struct idx_set *set = (struct idx_set *)base;
    base->ops = &dataset_idx;
    buffer_init(&set->images, (size_t)options->memory_bytes);
    buffer_init(&set->labels, (size_t)options->memory_bytes);
    if (load(images, &set->images, &set->images_head, err) < 0 ||
        load(labels, &set->labels, &set->labels_head, err) < 0 || match(set, err) < 0) {
        return -1;
    }
    *ret_dataset = TAKE(base);
    return 0;
}

static int idx_read(struct dataset *dataset, int64_t index, struct sample *sample,
                    struct error *err UNUSED) {
    const struct idx_set *set = (struct idx_set *)dataset;
    size_t bytes = set->images_head.item_bytes;
    sample->shape = dataset->shape;
    sample->is_interleaved = false;
    memcpy(sample_room(sample, bytes),
           set->images.data + set->images_head.head_bytes + (size_t)index * bytes, bytes);
    sample->label = (uint8_t)set->labels.data[set->labels_head.head_bytes + (size_t)index];
    return 0;
}

const struct dataset_ops dataset_idx = {
    .name = "idx", .open = idx_open, .read = idx_read, .close = idx_close};
