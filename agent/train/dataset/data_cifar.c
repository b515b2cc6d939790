// SPDX-License-Identifier: Apache-2.0
/* A record is one label (CIFAR-100: a coarse one, then the fine one) and 3 planes of 32x32 bytes.
 * Files are held in memory completely as long as they fit; from other files, each sample is read
 * when it is needed. */
#include "agent/train/dataset/dataset.h"

#include "agent/store/stored_file.h"
#include "agent/train/dataset/fields.h"
#include "agent/train/dataset/files_seen.h"
#include "lib/digest.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE = 32, PIXELS = 3 * SIDE * SIDE, LABELS_MAX = 2 };

struct shard {
    struct stored_file file;
    const char *path;     /* points into the set's copy of the paths */
    int64_t first, count; /* samples */
    struct buffer bytes;  /* empty: not held in memory */
    struct store_info info;
};

struct cifar_set {
    struct dataset base;
    json_t *paths;
    size_t label_bytes;
    size_t shard_count;
    struct shard *shards;
};

static void cifar_close(struct dataset *dataset) {
    struct cifar_set *set = (struct cifar_set *)dataset;
    for (size_t i = 0; i < set->shard_count; i++) {
        stored_file_release(&set->shards[i].file);
        buffer_release(&set->shards[i].bytes);
    }
    free(set->shards);
    json_decref(set->paths);
    free(set);
}

static int open_shard(struct cifar_set *set, size_t index, const struct dataset_options *options,
                      int64_t *memory_bytes, struct error *err) {
    struct shard *shard = &set->shards[index];
    struct store_info *info = &shard->info;
    int64_t record = (int64_t)set->label_bytes + PIXELS;
    shard->path = json_string_value(json_array_get(set->paths, index));
    if (stored_file_open(shard->path, &shard->file, err) < 0 ||
        store_stat(shard->file.store, shard->file.name, info, err) < 0) {
        return -1;
    }
    if (info->size_bytes == 0 || info->size_bytes % record != 0) {
        return error_set(err, ERROR_INVALID, "%s: %lld bytes are not a multiple of a record's %lld",
                         shard->path, (long long)info->size_bytes, (long long)record);
    }
    shard->first = set->base.count;
    shard->count = info->size_bytes / record;
    set->base.count += shard->count;
    set->base.digest = digest_crc32c(set->base.digest, shard->path, strlen(shard->path));
    set->base.digest = digest_crc32c(set->base.digest, &info->size_bytes, sizeof info->size_bytes);
    dataset_see(&set->base, options, shard->file.store, info);
    if (set->base.count > DATASET_COUNT_MAX) {
        return error_set(err, ERROR_INVALID, "%s: more than %d samples%s", shard->path,
                         DATASET_COUNT_MAX, shard->first ? ", with the files before it" : "");
    }
    if (info->size_bytes > *memory_bytes) {
        return 0;
    }
    *memory_bytes -= info->size_bytes;
    buffer_init(&shard->bytes, (size_t)info->size_bytes);
    if (store_get(shard->file.store, shard->file.name, &shard->bytes, NULL, err) < 0) {
        return -1;
    }
    return (int64_t)shard->bytes.size == info->size_bytes
               ? 0
               : error_set(err, ERROR_CONFLICT, "%s: changed while it was read", shard->path);
}

/* In a folder, files named test*, if there are any, are for evaluation. */
static int find_files(const char *path, bool is_test, struct strays *strays, json_t **ret_files,
                      struct error *err) {
    json_t *all, *tests = json_array(), *others = json_array();
    if (dataset_files(path, "*.bin", strays, &all, err) < 0) {
        json_decref(tests);
        json_decref(others);
        return -1;
    }
    for (size_t i = 0; i < json_array_size(all); i++) {
        json_t *file = json_array_get(all, i);
        const char *text = json_string_value(file), *slash = strrchr(text, '/');
        json_array_append(text_starts(slash ? slash + 1 : text, "test") ? tests : others, file);
    }
    json_t **wanted = is_test ? &tests : &others;
    if (json_array_size(*wanted) && json_array_size(all) > 1) {
        *ret_files = json_incref(*wanted);
    } else {
        *ret_files = json_incref(all);
    }
    json_decref(all);
    json_decref(tests);
    json_decref(others);
    return 0;
}

static int cifar_open(const json_t *fields, const struct dataset_options *options,
                      struct dataset **ret_dataset, struct error *err) {
    AUTO(dataset_closep) struct dataset *base = x_calloc(1, sizeof(struct cifar_set));
    struct cifar_set *set = (struct cifar_set *)base;
    const char *path;
    int64_t memory_bytes = options->memory_bytes;
    base->ops = &dataset_cifar;
    if (fields_text(fields, "path", &path, err) < 0 ||
        fields_integer(fields, "classes", (int64_t[]){10, 100}, &base->classes, err) < 0) {
        return -1;
    }
    if (base->classes != 10 && base->classes != 100) {
        return error_set(err, ERROR_INVALID, "classes: 10 or 100 is expected");
    }
    set->label_bytes = base->classes == 100 ? LABELS_MAX : 1;
    if (find_files(path, options->like != NULL, &base->strays, &set->paths, err) < 0) {
        return -1;
    }
    base->type = TENSOR_UINT8;
    base->shape = (struct shape){3, {3, SIDE, SIDE}};
    set->shards = x_calloc(json_array_size(set->paths), sizeof *set->shards);
    while (set->shard_count < json_array_size(set->paths)) {
        if (open_shard(set, set->shard_count++, options, &memory_bytes, err) < 0) {
            return -1;
        }
    }
    *ret_dataset = TAKE(base);
    return 0;
}

static int cifar_read(struct dataset *dataset, int64_t index, struct sample *sample,
                      struct error *err) {
    struct cifar_set *set = (struct cifar_set *)dataset;
    struct shard *shard = set->shards;
    uint8_t record[LABELS_MAX + PIXELS];
    size_t bytes = set->label_bytes + PIXELS, read = bytes;
    while (index >= shard->first + shard->count) {
        shard++;
    }
    int64_t offset = (index - shard->first) * (int64_t)bytes;
    if (shard->bytes.size) {
        memcpy(record, shard->bytes.data + offset, bytes);
    } else if (store_read(shard->file.store, shard->file.name,
                          &(struct store_piece){offset, record, bytes, shard->info.token}, &read,
                          err) < 0) {
        return -1;
    }
    sample->label = record[set->label_bytes - 1];
    if (read != bytes || sample->label >= dataset->classes) {
        return error_set(err, ERROR_INVALID, "%s: record %lld %s", shard->path,
                         (long long)(index - shard->first),
                         read != bytes ? "is truncated" : "has a label that is not a class");
    }
    sample->shape = dataset->shape;
    sample->is_interleaved = false;
    memcpy(sample_room(sample, PIXELS), record + set->label_bytes, PIXELS);
    return 0;
}

const struct dataset_ops dataset_cifar = {
    .name = "cifar", .open = cifar_open, .read = cifar_read, .close = cifar_close};
