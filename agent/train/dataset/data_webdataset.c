// SPDX-License-Identifier: Apache-2.0
/* The headers of all shards are read once, for the places of pictures or arrays and for the labels.
 * A sample takes 32 bytes of memory; its picture is read when it is needed, so samples are shuffled
 * as those of every other data set, over all shards. */
#include "agent/train/dataset/dataset.h"

#include "agent/data/decoder/decoder.h"
#include "agent/data/image/image.h"
#include "agent/data/source/tar.h"
#include "agent/store/stored_file.h"
#include "agent/train/dataset/array_values.h"
#include "agent/train/dataset/fields.h"
#include "agent/train/dataset/files_seen.h"
#include "agent/train/dataset/kept_bytes.h"
#include "agent/train/dataset/shards.h"
#include "agent/train/dataset/stop.h"
#include "lib/digest.h"
#include "lib/text/picture_name.h"
#include "lib/time/clock.h"
#include "lib/tree.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    LABEL_BYTES_MAX = 64 << 10,
    LABEL_UNREADABLE = -1,
    STORES_LOOKED_AT = 64,
    STOP_MEMBERS = 256, /* after this many is_stopped is asked */
    SAY_MS = 30000,     /* between two lines of progress */
};

static const size_t window_local = 256 << 10, window_far = 4 << 20;

struct item {
    int64_t header; /* of the member that has the picture or array */
    int64_t offset;
    uint32_t size, shard;
    int32_t label; /* LABEL_UNREADABLE: a bad sample */
    bool is_array; /* a .npy file */
};

struct shard {
    struct store *store;     /* of its folder; borrowed from the set */
    const char *path, *name; /* point into the set's list */
    struct store_info info;
};

struct folder {
    struct stored_file any; /* of its shards */
    const char *path;       /* of that one; points into the set's list */
    size_t size;            /* of the folder, at its beginning */
};

struct web_set {
    struct dataset base;
    json_t *paths;
    size_t shard_count;
    struct shard *shards;
    struct folder *folders; /* one store for all shards of a folder: each has connections */
    size_t folder_count;
    struct item *items;
    size_t room;
    struct kept_bytes *kept;
    struct decoder_pool *decoders;
    /* The first sample that can be read says so, and gives arrays their type and shape. */
    bool has_arrays;
};

/* The sample whose members are being read. */
struct sample_parts {
    char key[TAR_NAME_MAX];
    bool has_data, has_label;
    struct item item;
};

static void web_close(struct dataset *dataset) {
    struct web_set *set = (struct web_set *)dataset;
    for (size_t i = 0; i < set->folder_count; i++) {
        stored_file_release(&set->folders[i].any);
    }
    free(set->folders);
    free(set->shards);
    json_decref(set->paths);
    kept_bytes_free(set->kept);
    decoder_pool_free(set->decoders);
    free(set->items);
    free(set);
}

/* ---- the index ------------------------------------------------------------------------------ */

static int read_shard(void *context, int64_t offset, void *data, size_t size, struct error *err) {
    const struct shard *shard = context;
    const struct store_piece piece = {offset, data, size, shard->info.token};
    size_t got = 0;
    if (store_read(shard->store, shard->name, &piece, &got, err) < 0) {
        return -1;
    }
    return got == size ? 0
                       : error_set(err, ERROR_CONFLICT, "%s: it is shorter than when it was listed",
                                   shard->path);
}

/* "a/b.c/x.seg.png": the key is "a/b.c/x", the field "seg.png". */
static const char *field_of(const char *name) {
    const char *slash = strrchr(name, '/'), *dot = strchr(slash ? slash : name, '.');
    return dot ? dot + 1 : name + strlen(name);
}

static bool is_one_of(const char *field, const char *const *names) {
    while (*names && strcasecmp(field, *names) != 0) {
        names++;
    }
    return *names;
}

/* LABEL_UNREADABLE: the text is not a class. */
static int32_t parse_label(const char *text, size_t size, bool is_json) {
    struct error ignored = {0};
    AUTO(tree_freep) json_t *tree = NULL;
    int64_t label = LABEL_UNREADABLE;
    if (is_json) {
        const json_t *member = NULL;
        if (tree_parse(text, size, LABEL_BYTES_MAX, &tree, &ignored) == 0) {
            member = json_is_object(tree) ? json_object_get(tree, "label") : tree;
        }
        label = json_is_integer(member) ? json_integer_value(member) : LABEL_UNREADABLE;
    } else {
        char copy[32];
        char *end = NULL;
        snprintf(copy, sizeof copy, "%.*s", (int)MIN(size, sizeof copy), text);
        label = strtoll(copy, &end, 10);
        end += strspn(end, " \r\n\t");
        label = end == copy || *end || size >= sizeof copy ? LABEL_UNREADABLE : label;
    }
    return label >= 0 && label < DATASET_CLASSES_MAX ? (int32_t)label : LABEL_UNREADABLE;
}

static int take_label(struct shard *shard, const struct tar *tar, const struct tar_member *member,
                      bool is_json, struct item *item, struct error *err) {
    if (member->size_bytes > LABEL_BYTES_MAX) {
        item->label = LABEL_UNREADABLE;
        return 0;
    }
    size_t size = (size_t)member->size_bytes;
    const char *text = tar_peek(tar, member->offset, size);
    AUTO(text_freep) char *read = text ? NULL : x_malloc(size + 1);
    if (!text && read_shard(shard, member->offset, read, size, err) < 0) {
        return -1;
    }
    item->label = parse_label(text ? text : read, size, is_json);
    return 0;
}

static struct shape array_shape(const struct npy *npy) {
    struct shape shape = {.rank = npy->rank};
    memcpy(shape.dims, npy->dims, (size_t)npy->rank * sizeof *npy->dims);
    return shape;
}

/* Type and shape of the data set. A file that has none is a bad sample, and the next one is asked.
 */
static int take_shape(struct web_set *set, const struct item *item, struct error *err) {
    struct dataset *base = &set->base;
    struct npy npy;
    struct error ignored = {0};
    if (!item->is_array) {
        base->type = TENSOR_UINT8;
        base->shape = (struct shape){3, {3, -1, -1}};
        return 0;
    }
    size_t size = MIN(item->size, NPY_HEAD_MAX);
    AUTO(text_freep) char *head = x_malloc(size + 1);
    if (read_shard(&set->shards[item->shard], item->offset, head, size, err) < 0) {
        return -1;
    }
    /* A file that cannot be read later does not decide. */
    if (npy_parse(head, size, &npy, &ignored) == 0 && npy.dims[0] > 0 &&
        npy.rank < TENSOR_RANK_MAX && item->size <= DATASET_SAMPLE_BYTES &&
        item->size == npy.head_bytes + npy.dims[0] * npy.slice_bytes) {
        set->has_arrays = true;
        base->type = array_value_type(npy.type);
        base->shape = array_shape(&npy);
    }
    return 0;
}

static int add_item(struct web_set *set, const struct sample_parts *parts, struct error *err) {
    struct dataset *base = &set->base;
    if (!*parts->key) {
        return 0;
    }
    if (!parts->has_data || !parts->has_label) {
        strays_add(&base->strays,
                   parts->has_data ? "without a label (.cls, .txt or .json with \"label\")"
                                   : "without a picture (.jpg, .jpeg or .png) or array (.npy)",
                   parts->key);
        return 0;
    }
    if (base->shape.rank == 0 && take_shape(set, &parts->item, err) < 0) {
        return -1;
    }
    if (base->count == DATASET_COUNT_MAX) {
        return error_set(err, ERROR_INVALID, "%s: sample %s: more than %d samples in all",
                         set->shards[parts->item.shard].path, parts->key, DATASET_COUNT_MAX);
    }
    if ((size_t)base->count == set->room) {
        set->room = 2 * set->room + 1024;
        set->items = x_realloc_array(set->items, set->room, sizeof *set->items);
    }
    set->items[base->count++] = parts->item;
    base->classes = MAX(base->classes, (int64_t)parts->item.label + 1);
    base->digest = digest_crc32c(base->digest, parts->key, strlen(parts->key));
    base->digest = digest_crc32c(base->digest, &parts->item.label, sizeof parts->item.label);
    return 0;
}

static int take_member(struct web_set *set, size_t index, const struct tar *tar,
                       const struct tar_member *member, struct sample_parts *parts,
                       struct error *err) {
    static const char *const arrays[] = {"npy", NULL};
    static const char *const texts[] = {"cls", "txt", NULL}, *const json[] = {"json", NULL};
    const char *field = field_of(member->name);
    size_t key = (size_t)(field - member->name);
    if (strncmp(parts->key, member->name, key) != 0 || parts->key[key]) {
        if (add_item(set, parts, err) < 0) {
            return -1;
        }
        *parts = (struct sample_parts){.item.shard = (uint32_t)index};
        snprintf(parts->key, sizeof parts->key, "%.*s", (int)key, member->name);
    }
    bool is_array = is_one_of(field, arrays);
    if ((is_array || picture_name_is_ending(field)) && !parts->has_data) {
        parts->has_data = true;
        parts->item.is_array = is_array;
        parts->item.header = member->header;
        parts->item.offset = member->offset;
        /* Too large: reading it says so. */
        parts->item.size = (uint32_t)MIN(member->size_bytes, (int64_t)UINT32_MAX);
    } else if ((is_one_of(field, texts) || is_one_of(field, json)) && !parts->has_label) {
        parts->has_label = true;
        return take_label(&set->shards[index], tar, member, is_one_of(field, json), &parts->item,
                          err);
    } else {
        strays_add_ending(&set->base.strays, member->name);
    }
    return 0;
}

/* Damaged: what the shard has before the damage is used, if bad samples are skipped. */
static int leave_rest(struct web_set *set, const struct shard *shard, bool skips,
                      const struct error *cause, struct error *err) {
    bool is_bad = cause->kind == ERROR_INVALID || cause->kind == ERROR_UNSUPPORTED;
    if (!is_bad || !skips) {
        *err = *cause;
        return is_bad ? error_context(err, "%s", shard->path) : -1;
    }
    AUTO(text_freep) char *reason = x_printf("rest of a shard: %.70s", cause->text);
    strays_add(&set->base.strays, reason, shard->path);
    set->base.damaged++;
    return 0;
}

/* Shards are sorted, so one of the last folders nearly always is the shard's. */
static int find_store(struct web_set *set, struct shard *shard, struct error *err) {
    const char *slash = strrchr(shard->path, '/');
    size_t size = slash ? (size_t)(slash - shard->path) : 0;
    size_t end = set->folder_count > STORES_LOOKED_AT ? set->folder_count - STORES_LOOKED_AT : 0;
    shard->name = slash ? slash + 1 : shard->path;
    for (size_t i = set->folder_count; i-- > end;) {
        const struct folder *folder = &set->folders[i];
        if (folder->size == size && memcmp(folder->path, shard->path, size) == 0) {
            shard->store = folder->any.store;
            return 0;
        }
    }
    struct folder added = {.path = shard->path, .size = size};
    if (stored_file_open(shard->path, &added.any, err) < 0) {
        return -1;
    }
    set->folders = x_realloc_array(set->folders, set->folder_count + 1, sizeof added);
    set->folders[set->folder_count++] = added;
    shard->store = added.any.store;
    return 0;
}

static int check_stop(const struct dataset_options *options, struct error *err) {
    return stop_is_requested(options->is_stopped)
               ? error_set(err, ERROR_CANCELLED, "stopped while the shards were indexed")
               : 0;
}

static int index_shard(struct web_set *set, size_t index, const struct dataset_options *options,
                       struct error *err) {
    struct shard *shard = &set->shards[index];
    struct sample_parts parts = {0};
    struct tar_member member;
    struct error cause = {0};
    shard->path = json_string_value(json_array_get(set->paths, index));
    if (find_store(set, shard, err) < 0 ||
        store_stat(shard->store, shard->name, &shard->info, err) < 0) {
        return -1;
    }
    dataset_see(&set->base, options, shard->store, &shard->info);
    AUTO(tar_release)
    struct tar tar = {.size_bytes = shard->info.size_bytes,
                      .window_max =
                          store_features(shard->store).is_local ? window_local : window_far,
                      .read = read_shard,
                      .context = shard};
    int more;
    for (int64_t i = 0; (more = tar_next(&tar, &member, &cause)) > 0; i++) {
        if ((i % STOP_MEMBERS == 0 && check_stop(options, err) < 0) ||
            take_member(set, index, &tar, &member, &parts, err) < 0) {
            return -1;
        }
    }
    /* What was cut has not been returned, but a sample may lack its label now. */
    if (add_item(set, &parts, err) < 0) {
        return -1;
    }
    for (int64_t i = 0; i < tar.others; i++) {
        strays_add(&set->base.strays, "links, folders or devices", shard->path);
    }
    return more < 0 ? leave_rest(set, shard, options->skips_bad, &cause, err) : 0;
}

static int index_all(struct web_set *set, const struct dataset_options *options,
                     struct error *err) {
    size_t count = json_array_size(set->paths);
    int64_t said_ms = clock_monotonic_ms();
    set->shards = x_calloc(count, sizeof *set->shards);
    for (size_t i = 0; i < count; i++) {
        set->shard_count++;
        if (index_shard(set, i, options, err) < 0) {
            return -1;
        }
        int64_t now_ms = clock_monotonic_ms();
        if (options->say && now_ms - said_ms >= SAY_MS) {
            AUTO(text_freep)
            char *line = x_printf("%zu of %zu shards are indexed, %lld samples so far", i + 1,
                                  count, (long long)set->base.count);
            options->say(options->context, line);
            said_ms = now_ms;
        }
    }
    return 0;
}

static int web_open(const json_t *fields, const struct dataset_options *options,
                    struct dataset **ret_dataset, struct error *err) {
    AUTO(dataset_closep) struct dataset *base = x_calloc(1, sizeof(struct web_set));
    struct web_set *set = (struct web_set *)base;
    const char *path;
    base->ops = &dataset_webdataset;
    if (fields_text(fields, "path", &path, err) < 0 ||
        shards_find(path, &base->strays, &set->paths, err) < 0 ||
        index_all(set, options, err) < 0) {
        return -1;
    }
    if (base->count == 0) {
        AUTO(text_freep) char *left = strays_text(&base->strays);
        return error_set(
            err, ERROR_INVALID,
            "%s: no samples found, expected KEY.jpg, .png or .npy beside a KEY.cls%s%.600s", path,
            left ? "; " : "", left ? left : "");
    }
    if (base->shape.rank == 0) {
        return error_set(err, ERROR_INVALID, "%s: none of its .npy files can be read", path);
    }
    base->classes = MAX(base->classes, 1);
    set->kept = kept_bytes_new(base->count, options->memory_bytes);
    set->decoders = decoder_pool_new();
    *ret_dataset = TAKE(base);
    return 0;
}

/* ---- samples -------------------------------------------------------------------------------- */

static void web_describe(const struct dataset *dataset, int64_t index,
                         char text[static DATASET_NAME_MAX]) {
    const struct web_set *set = (const struct web_set *)dataset;
    const struct item *item = &set->items[index];
    struct shard *shard = &set->shards[item->shard];
    struct error ignored = {0};
    char block[TAR_BLOCK], name[TAR_NAME_MAX] = "";
    if (read_shard(shard, item->header, block, sizeof block, &ignored) == 0) {
        tar_block_name(block, name);
    }
    snprintf(text, DATASET_NAME_MAX, "%.200s: %.150s at byte %lld", shard->path, name,
             (long long)item->offset);
}

static int bad_item(const struct dataset *dataset, int64_t index, const struct error *cause,
                    struct error *err) {
    char name[DATASET_NAME_MAX];
    web_describe(dataset, index, name);
    return error_set(err, cause->kind, "%s: %.300s", name, cause->text);
}

static int take_array(const struct web_set *set, const char *data, size_t size,
                      struct sample *sample, struct error *err) {
    const struct dataset *base = &set->base;
    AUTO(text_freep) char *read = NULL;
    void *values = NULL;
    struct npy npy;
    if (npy_decode(data, size, &npy, &values, err) < 0) {
        return -1;
    }
    read = values;
    struct shape shape = array_shape(&npy);
    if (array_value_type(npy.type) != base->type || !shape_equal(&shape, &base->shape)) {
        return error_set(err, ERROR_INVALID, "its type or shape differs from the first sample's");
    }
    int64_t count = shape_count(&shape);
    sample->shape = shape;
    sample->is_interleaved = false;
    array_value_convert(npy.type, read, count, base->type,
                        sample_room(sample, (size_t)count * tensor_type_size(base->type)));
    return 0;
}

static int take_data(struct web_set *set, const struct item *item, const char *data, size_t size,
                     struct sample *sample, struct error *err) {
    AUTO(picture_release) struct picture picture = {0};
    if (item->is_array) {
        return take_array(set, data, size, sample, err);
    }
    if (decoder_pool_image(set->decoders, data, size, &picture, err) < 0) {
        return -1;
    }
    sample_take_picture(sample, &picture);
    return 0;
}

static int check_item(const struct web_set *set, const struct item *item, struct error *err) {
    if (item->label == LABEL_UNREADABLE) {
        return error_set(err, ERROR_INVALID, "its label is not the number of a class, from 0");
    }
    if (item->is_array != set->has_arrays) {
        return error_set(err, ERROR_INVALID, "it is %s, and the first sample is %s",
                         item->is_array ? "an array" : "a picture",
                         item->is_array ? "a picture" : "an array");
    }
    size_t most = item->is_array ? (size_t)DATASET_SAMPLE_BYTES : (size_t)IMAGE_BYTES_MAX;
    return item->size <= most
               ? 0
               : error_set(err, ERROR_INVALID, "it has more than %zu MiB", most >> 20);
}

static int web_read(struct dataset *dataset, int64_t index, struct sample *sample,
                    struct error *err) {
    struct web_set *set = (struct web_set *)dataset;
    const struct item *item = &set->items[index];
    const struct kept_one *kept = kept_bytes_get(set->kept, index);
    AUTO(buffer_release) struct buffer file;
    struct error cause = {0};
    buffer_init(&file, MAX((size_t)IMAGE_BYTES_MAX, (size_t)DATASET_SAMPLE_BYTES));
    if (check_item(set, item, &cause) < 0) {
        return bad_item(dataset, index, &cause, err);
    }
    if (!kept) {
        char *to = NULL;
        if (buffer_extend(&file, item->size, &to, err) < 0 ||
            read_shard(&set->shards[item->shard], item->offset, to, item->size, err) < 0) {
            return -1;
        }
    }
    if (take_data(set, item, kept ? kept->bytes : file.data, kept ? kept->size : file.size, sample,
                  &cause) < 0) {
        return bad_item(dataset, index, &cause, err);
    }
    if (!kept) {
        kept_bytes_add(set->kept, index, &file);
    }
    sample->label = item->label;
    return 0;
}

const struct dataset_ops dataset_webdataset = {.name = "webdataset",
                                               .open = web_open,
                                               .read = web_read,
                                               .describe = web_describe,
                                               .close = web_close};
