// SPDX-License-Identifier: Apache-2.0
/* Pictures are held in memory as the bytes of their files, from their first use on, until the
 * memory for them is used up: decoding again takes less time than reading again. */
#include "agent/train/dataset/dataset.h"

#include "agent/data/decoder/decoder.h"
#include "agent/data/image/image.h"
#include "agent/store/store.h"
#include "agent/train/dataset/fields.h"
#include "agent/train/dataset/files_seen.h"
#include "agent/train/dataset/kept_bytes.h"
#include "lib/digest.h"
#include "lib/text/picture_name.h"

#include <stdlib.h>
#include <string.h>

static const size_t names_bytes_max = (size_t)8 << 30;

struct item {
    size_t name; /* offset in names */
    int label;
};

struct folder_set {
    struct dataset base;
    struct store *store;
    struct decoder_pool *decoders;
    struct buffer names; /* each with its NUL */
    struct item *items;
    size_t room, class_room;
    const struct dataset_options *options; /* while it is listed */
    struct kept_bytes *kept;
};

static void folder_close(struct dataset *dataset) {
    struct folder_set *set = (struct folder_set *)dataset;
    kept_bytes_free(set->kept);
    for (int64_t i = 0; dataset->class_names && i < dataset->classes; i++) {
        free(dataset->class_names[i]);
    }
    free(dataset->class_names);
    free(set->items);
    buffer_release(&set->names);
    store_free(set->store);
    decoder_pool_free(set->decoders);
    free(set);
}

/* Names are listed in the order of their bytes, so the pictures of a class follow each other. */
static int add_class(struct folder_set *set, const char *name, size_t size, struct error *err) {
    struct dataset *base = &set->base;
    const char *last = base->classes ? base->class_names[base->classes - 1] : NULL;
    if (last && strlen(last) == size && memcmp(last, name, size) == 0) {
        return 0;
    }
    if (base->classes == DATASET_CLASSES_MAX) {
        return error_set(err, ERROR_INVALID, "more than %d classes", DATASET_CLASSES_MAX);
    }
    if ((size_t)base->classes == set->class_room) {
        set->class_room = 2 * set->class_room + 16;
        base->class_names =
            x_realloc_array(base->class_names, set->class_room, sizeof *base->class_names);
    }
    base->class_names[base->classes++] = x_strndup(name, size);
    return 0;
}

/* A class that is not there would change the numbers of the others. */
static int leave_fault(struct folder_set *set, const char *name, const struct store_info *info,
                       struct error *err) {
    if (!set->options->skips_bad) {
        return error_set(err, ERROR_INVALID,
                         "%s: remove it, or put the files themselves there under plain names",
                         info->fault);
    }
    strays_add(&set->base.strays,
               info->is_beyond ? "names that are too long, or too deep in folders"
                               : "links that lead to no file of the volume",
               name);
    return 0;
}

static int add_item(void *context, const char *name, const struct store_info *info,
                    struct error *err) {
    struct folder_set *set = context;
    const char *slash = strchr(name, '/');
    if (info && info->is_left_out) {
        strays_add_left_out(&set->base.strays, name);
        return 0;
    }
    if (info && info->fault &&
        (info->is_folder || info->is_beyond || picture_name_is_known(name))) {
        return leave_fault(set, name, info, err);
    }
    if (!picture_name_is_known(name)) {
        strays_add_ending(&set->base.strays, name);
        return 0;
    }
    if (!slash) {
        return error_set(err, ERROR_INVALID,
                         "%s/%s: it is not in the folder of a class (CLASS/x.jpg)",
                         store_path(set->store), name);
    }
    if (set->base.count == DATASET_COUNT_MAX) {
        return error_set(err, ERROR_INVALID, "%s: more than %d samples", store_path(set->store),
                         DATASET_COUNT_MAX);
    }
    if (add_class(set, name, (size_t)(slash - name), err) < 0) {
        return -1;
    }
    if (info) {
        dataset_see(&set->base, set->options, set->store, info);
    }
    if ((size_t)set->base.count == set->room) {
        set->room = 2 * set->room + 1024;
        set->items = x_realloc_array(set->items, set->room, sizeof *set->items);
    }
    struct item *item = &set->items[set->base.count++];
    item->name = set->names.size;
    item->label = (int)set->base.classes - 1;
    return buffer_append(&set->names, name, strlen(name) + 1, err);
}

static int by_text(const void *left, const void *right) {
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Classes are numbered in the order of their names, or as in the training data. The order of
 * listing differs: "a-b/" comes before "a/", but "a" before "a-b". */
static int number_classes(struct folder_set *set, const struct dataset *like, struct error *err) {
    struct dataset *base = &set->base;
    size_t count = (size_t)base->classes;
    char **sorted = like ? like->class_names : x_calloc(count, sizeof *sorted);
    size_t sorted_count = like ? (size_t)like->classes : count;
    int *numbers = x_calloc(count, sizeof *numbers);
    int result = 0;
    if (!like) {
        memcpy(sorted, base->class_names, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, by_text);
    }
    for (size_t i = 0; result == 0 && i < count; i++) {
        char **found =
            sorted ? bsearch(&base->class_names[i], sorted, sorted_count, sizeof *sorted, by_text)
                   : NULL;
        numbers[i] = found ? (int)(found - sorted) : 0;
        if (!found) {
            result = error_set(err, ERROR_INVALID,
                               "%s/%.100s: a class of the test data that the training data lacks",
                               store_path(set->store), base->class_names[i]);
        }
    }
    for (int64_t i = 0; result == 0 && i < base->count; i++) {
        set->items[i].label = numbers[set->items[i].label];
    }
    free(numbers);
    if (!like) {
        memcpy(base->class_names, sorted, count * sizeof *sorted);
        free(sorted);
    }
    return result;
}

/* Copies the class names of the training data. */
static void take_names(struct dataset *base, const struct dataset *like) {
    for (int64_t i = 0; i < base->classes; i++) {
        free(base->class_names[i]);
    }
    base->class_names =
        x_realloc_array(base->class_names, (size_t)like->classes, sizeof *base->class_names);
    for (int64_t i = 0; i < like->classes; i++) {
        base->class_names[i] = x_strdup(like->class_names[i]);
    }
    base->classes = like->classes;
}

static int folder_open(const json_t *fields, const struct dataset_options *options,
                       struct dataset **ret_dataset, struct error *err) {
    AUTO(dataset_closep) struct dataset *base = x_calloc(1, sizeof(struct folder_set));
    struct folder_set *set = (struct folder_set *)base;
    const char *path;
    set->options = options;
    base->ops = &dataset_folder;
    set->decoders = decoder_pool_new();
    buffer_init(&set->names, names_bytes_max);
    if (fields_text(fields, "path", &path, err) < 0 ||
        store_open(path, /* writes= */ false, &set->store, err) < 0 ||
        (options->sees_files ? store_list_all : store_list_links)(set->store, "", NULL, add_item,
                                                                  set, err) < 0) {
        return -1;
    }
    if (base->count == 0) {
        AUTO(text_freep) char *left = strays_text(&base->strays);
        return error_set(err, ERROR_INVALID,
                         "%s: no file matches CLASS/*.jpg, .jpeg or .png%s%.600s", path,
                         left ? "; " : "", left ? left : "");
    }
    if (number_classes(set, options->like, err) < 0) {
        return -1;
    }
    if (options->like) {
        take_names(base, options->like);
    }
    set->kept = kept_bytes_new(base->count, options->memory_bytes);
    base->type = TENSOR_UINT8;
    base->shape = (struct shape){3, {3, -1, -1}};
    base->digest = digest_crc32c(0, set->names.data, set->names.size);
    *ret_dataset = TAKE(base);
    return 0;
}

struct folder_scan {
    const struct folder_set *set;
    uint32_t state;
};

static int look_at(void *context, const char *name, const struct store_info *info,
                   struct error *err UNUSED) {
    struct folder_scan *looking = context;
    bool is_left = !info || info->is_left_out || info->fault || !picture_name_is_known(name);
    if (!is_left && strchr(name, '/')) {
        looking->state = dataset_add_state(looking->state, looking->set->store, info);
    }
    return 0;
}

static int folder_look(const struct dataset *dataset, uint32_t *ret_state, struct error *err) {
    struct folder_scan looking = {.set = (const struct folder_set *)dataset};
    if (store_list_all(looking.set->store, "", NULL, look_at, &looking, err) < 0) {
        return -1;
    }
    *ret_state = looking.state;
    return 0;
}

static int folder_read(struct dataset *dataset, int64_t index, struct sample *sample,
                       struct error *err) {
    struct folder_set *set = (struct folder_set *)dataset;
    const struct item *item = &set->items[index];
    const struct kept_one *held = kept_bytes_get(set->kept, index);
    const char *name = set->names.data + item->name;
    AUTO(buffer_release) struct buffer file;
    AUTO(picture_release) struct picture picture = {0};
    struct error cause = {0};
    buffer_init(&file, IMAGE_BYTES_MAX);
    if (!held && store_get(set->store, name, &file, NULL, err) < 0) {
        return -1;
    }
    if (decoder_pool_image(set->decoders, held ? held->bytes : file.data,
                           held ? held->size : file.size, &picture, &cause) < 0) {
        *err = cause;
        return error_context(err, "%s/%s", store_path(set->store), name);
    }
    if (!held) {
        kept_bytes_add(set->kept, index, &file);
    }
    sample_take_picture(sample, &picture);
    sample->label = item->label;
    return 0;
}

const struct dataset_ops dataset_folder = {.name = "folder",
                                           .open = folder_open,
                                           .read = folder_read,
                                           .look = folder_look,
                                           .close = folder_close};
