// SPDX-License-Identifier: Apache-2.0
/* Segmentation: a folder of pictures, and one of masks under the same names. Both are held in
 * memory as the bytes of their files, from their first use on. Which pixels count is known only
 * when a mask is read. */
#include "agent/train/dataset/dataset.h"

#include "agent/data/decoder/decoder.h"
#include "agent/data/image/image.h"
#include "agent/store/store.h"
#include "agent/train/dataset/fields.h"
#include "agent/train/dataset/files_seen.h"
#include "agent/train/dataset/kept_bytes.h"
#include "lib/digest.h"
#include "lib/text/picture_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const size_t names_bytes_max = (size_t)8 << 30;

/* The files of a folder: names one after another, each with its NUL. */
struct names {
    struct buffer bytes;
    size_t *at; /* offset of each */
    size_t count, room;
};

struct mask_set {
    struct dataset base;
    struct store *images, *masks;
    struct decoder_pool *decoders;
    struct names image_names, mask_names; /* after match_names the pairs: as many, in order */
    struct kept_bytes *kept;              /* 2 * index: the picture; 2 * index + 1: its mask */
};

/* While a folder is listed. */
struct listing {
    struct mask_set *set;
    const struct dataset_options *options;
    struct store *store;
    struct names *names;
    bool is_masks;
};

static const char *name_at(const struct names *names, size_t index) {
    return names->bytes.data + names->at[index];
}

static void names_release(struct names *names) {
    buffer_release(&names->bytes);
    free(names->at);
}

static void masks_close(struct dataset *dataset) {
    struct mask_set *set = (struct mask_set *)dataset;
    kept_bytes_free(set->kept);
    names_release(&set->image_names);
    names_release(&set->mask_names);
    store_free(set->images);
    store_free(set->masks);
    decoder_pool_free(set->decoders);
    free(set);
}

/* ---- the names ------------------------------------------------------------------------------ */

/* Without the ending, which is that of a picture. */
static size_t stem(const char *name) {
    return (size_t)(strrchr(name, '.') - name);
}

static bool is_png(const char *name) {
    return strcasecmp(name + stem(name), ".png") == 0;
}

static int add_name(void *context, const char *name, const struct store_info *info,
                    struct error *err) {
    struct listing *listing = context;
    struct names *names = listing->names;
    if (info && info->is_beyond) {
        return error_set(err, ERROR_INVALID, "%s", info->fault);
    }
    if (!picture_name_is_known(name) || (listing->is_masks && !is_png(name))) {
        strays_add_ending(&listing->set->base.strays, name);
        return 0;
    }
    if (info && info->fault) {
        return error_set(err, ERROR_INVALID, "%s", info->fault);
    }
    if (names->count == DATASET_COUNT_MAX) {
        return error_set(err, ERROR_INVALID, "more than %d files", DATASET_COUNT_MAX);
    }
    if (info) {
        dataset_see(&listing->set->base, listing->options, listing->store, info);
    }
    if (names->count == names->room) {
        names->room = 2 * names->room + 1024;
        names->at = x_realloc_array(names->at, names->room, sizeof *names->at);
    }
    names->at[names->count++] = names->bytes.size;
    return buffer_append(&names->bytes, name, strlen(name) + 1, err);
}

static int list(struct mask_set *set, const json_t *fields, const char *field,
                const struct dataset_options *options, struct error *err) {
    bool is_masks = strcmp(field, "masks") == 0;
    struct listing listing = {.set = set,
                              .options = options,
                              .names = is_masks ? &set->mask_names : &set->image_names,
                              .is_masks = is_masks};
    struct store **store = is_masks ? &set->masks : &set->images;
    const char *path;
    buffer_init(&listing.names->bytes, names_bytes_max);
    if (fields_text(fields, field, &path, err) < 0 ||
        store_open(path, /* writes= */ false, store, err) < 0) {
        return -1;
    }
    listing.store = *store;
    return (options->sees_files ? store_list_infos : store_list_links)(*store, "", NULL, add_name,
                                                                       &listing, err);
}

/* By the names without their endings: "a.jpg" is after "a-1.jpg" as "a.png" is after "a-1.png". */
static int by_stem(const char *left, const char *right) {
    size_t a = stem(left), b = stem(right);
    int order = memcmp(left, right, MIN(a, b));
    return order != 0 ? order : (a > b) - (a < b);
}

/* Names of one stem by their endings, so that the order of the listing does not matter. */
static int compare_at(const void *left, const void *right, void *context) {
    const char *bytes = context;
    const char *one = bytes + *(const size_t *)left, *other = bytes + *(const size_t *)right;
    int order = by_stem(one, other);
    return order != 0 ? order : strcmp(one, other);
}

static void sort(struct names *names) {
    qsort_r(names->at, names->count, sizeof *names->at, compare_at, names->bytes.data);
}

/* Keeps those that have both; two pictures of one stem: the first has the mask. */
static void match_names(struct mask_set *set) {
    struct names *images = &set->image_names, *masks = &set->mask_names;
    struct strays *strays = &set->base.strays;
    size_t count = 0, i = 0, k = 0;
    sort(images);
    sort(masks);
    while (i < images->count || k < masks->count) {
        int order = i == images->count  ? 1
                    : k == masks->count ? -1
                                        : by_stem(name_at(images, i), name_at(masks, k));
        if (order == 0) {
            images->at[count] = images->at[i++];
            masks->at[count++] = masks->at[k++];
        } else if (order < 0) {
            strays_add(strays, "pictures without a mask", name_at(images, i++));
        } else {
            strays_add(strays, "masks without a picture", name_at(masks, k++));
        }
    }
    images->count = masks->count = count;
}

static int masks_open(const json_t *fields, const struct dataset_options *options,
                      struct dataset **ret_dataset, struct error *err) {
    AUTO(dataset_closep) struct dataset *base = x_calloc(1, sizeof(struct mask_set));
    struct mask_set *set = (struct mask_set *)base;
    base->ops = &dataset_masks;
    set->decoders = decoder_pool_new();
    if (fields_integer(fields, "classes", (int64_t[]){1, DATASET_CLASSES_MAX}, &base->classes,
                       err) < 0 ||
        list(set, fields, "images", options, err) < 0 ||
        list(set, fields, "masks", options, err) < 0) {
        return -1;
    }
    match_names(set);
    base->count = (int64_t)set->image_names.count;
    if (base->count == 0) {
        AUTO(text_freep) char *left = strays_text(&base->strays);
        return error_set(
            err, ERROR_INVALID,
            "no picture NAME.jpg, .jpeg or .png of %s has a mask NAME.png in %s%s%.500s",
            store_path(set->images), store_path(set->masks), left ? "; " : "", left ? left : "");
    }
    for (int64_t i = 0; i < base->count; i++) {
        const char *name = name_at(&set->image_names, (size_t)i);
        base->digest = digest_crc32c(base->digest, name, strlen(name) + 1);
    }
    set->kept = kept_bytes_new(2 * base->count, options->memory_bytes);
    base->type = TENSOR_UINT8;
    base->shape = (struct shape){3, {3, -1, -1}};
    base->places = (struct shape){2, {-1, -1}};
    base->is_late = true;
    base->ignored = options->ignored;
    *ret_dataset = TAKE(base);
    return 0;
}

/* ---- samples -------------------------------------------------------------------------------- */

static int decode(struct mask_set *set, int64_t index, bool is_mask, struct picture *ret_picture,
                  struct error *err) {
    const struct names *names = is_mask ? &set->mask_names : &set->image_names;
    struct store *store = is_mask ? set->masks : set->images;
    const char *name = name_at(names, (size_t)index);
    const struct kept_one *held = kept_bytes_get(set->kept, 2 * index + is_mask);
    AUTO(buffer_release) struct buffer file;
    struct error cause = {0};
    buffer_init(&file, IMAGE_BYTES_MAX);
    if (!held && store_get(store, name, &file, NULL, err) < 0) {
        return -1;
    }
    if ((is_mask ? decoder_pool_mask
                 : decoder_pool_image)(set->decoders, held ? held->bytes : file.data,
                                       held ? held->size : file.size, ret_picture, &cause) < 0) {
        *err = cause;
        return error_context(err, "%s/%s", store_path(store), name);
    }
    if (!held) {
        kept_bytes_add(set->kept, 2 * index + is_mask, &file);
    }
    return 0;
}

static int take_labels(struct mask_set *set, int64_t index, const struct picture *mask,
                       struct sample *sample, struct error *err) {
    const struct dataset *base = &set->base;
    int64_t count = (int64_t)mask->width * mask->height;
    int64_t *labels = sample_labels_room(sample, (size_t)count);
    for (int64_t i = 0; i < count; i++) {
        labels[i] = mask->pixels[3 * i];
        if (labels[i] >= base->classes && labels[i] != base->ignored) {
            return error_set(
                err, ERROR_INVALID,
                "%s/%s: pixel %lld, %lld is %lld: 0 to %lld are classes, and %lld does "
                "not count (spec.trainer.ignoreLabel)",
                store_path(set->masks), name_at(&set->mask_names, (size_t)index),
                (long long)(i % mask->width), (long long)(i / mask->width), (long long)labels[i],
                (long long)base->classes - 1, (long long)base->ignored);
        }
    }
    return 0;
}

struct folder_scan {
    struct store *store;
    uint32_t state;
    bool is_masks;
};

static int look_at(void *context, const char *name, const struct store_info *info,
                   struct error *err UNUSED) {
    struct folder_scan *looking = context;
    bool is_one = picture_name_is_known(name) && (!looking->is_masks || is_png(name));
    if (is_one && info && !info->fault) {
        looking->state = dataset_add_state(looking->state, looking->store, info);
    }
    return 0;
}

static int masks_look(const struct dataset *dataset, uint32_t *ret_state, struct error *err) {
    const struct mask_set *set = (const struct mask_set *)dataset;
    struct folder_scan looking = {.store = set->images};
    if (store_list_infos(looking.store, "", NULL, look_at, &looking, err) < 0) {
        return -1;
    }
    looking.store = set->masks;
    looking.is_masks = true;
    if (store_list_infos(looking.store, "", NULL, look_at, &looking, err) < 0) {
        return -1;
    }
    *ret_state = looking.state;
    return 0;
}

static int masks_read(struct dataset *dataset, int64_t index, struct sample *sample,
                      struct error *err) {
    struct mask_set *set = (struct mask_set *)dataset;
    AUTO(picture_release) struct picture picture = {0};
    AUTO(picture_release) struct picture mask = {0};
    if (decode(set, index, false, &picture, err) < 0 || decode(set, index, true, &mask, err) < 0) {
        return -1;
    }
    if (mask.width != picture.width || mask.height != picture.height) {
        return error_set(err, ERROR_INVALID,
                         "%s/%s is %d x %d pixels, and its picture %d x %d: expected the same",
                         store_path(set->masks), name_at(&set->mask_names, (size_t)index),
                         mask.width, mask.height, picture.width, picture.height);
    }
    if (take_labels(set, index, &mask, sample, err) < 0) {
        return -1;
    }
    sample_take_picture(sample, &picture);
    sample->label = -1;
    return 0;
}

static void masks_describe(const struct dataset *dataset, int64_t index,
                           char text[static DATASET_NAME_MAX]) {
    const struct mask_set *set = (const struct mask_set *)dataset;
    snprintf(text, DATASET_NAME_MAX, "%.190s/%.190s", store_path(set->images),
             name_at(&set->image_names, (size_t)index));
}

const struct dataset_ops dataset_masks = {.name = "masks",
                                          .open = masks_open,
                                          .read = masks_read,
                                          .look = masks_look,
                                          .describe = masks_describe,
                                          .close = masks_close};
