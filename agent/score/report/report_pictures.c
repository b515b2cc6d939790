// SPDX-License-Identifier: Apache-2.0
#include "agent/score/report/report_pictures.h"

#include "agent/data/decoder/decoder.h"
#include "agent/data/image/image.h"
#include "agent/data/image/scale.h"
#include "lib/text/base64.h"
#include "lib/text/picture_name.h"
#include "lib/time/clock.h"

#include <stdlib.h>
#include <string.h>

enum {
    NAME_BYTES = 120,
    NAMES_MAX = 64,  /* inputs that are looked at */
    PROBE_MS = 2000, /* then a silent storage is left out */
    DECODE_S = 2,    /* for one picture, of processor time and without a word */
};

/* ---- one copy ---- */

/* Before it is decoded: its size is in its head. */
static bool is_of_usual_size(const struct buffer *file) {
    int64_t width = 0, height = 0;
    if (!image_read_size(file->data, file->size, &width, &height)) {
        return false;
    }
    return width > 0 && height > 0 && width <= MEDIA_SIDE_MAX && height <= MEDIA_SIDE_MAX &&
           width * height <= REPORT_PICTURE_PIXELS_MAX;
}

/* Takes a picture's longer side to that of a copy; smaller ones stay as they are. */
static void shrink(const struct picture *picture, struct picture *ret_copy) {
    int longer = MAX(picture->width, picture->height);
    int side = MIN(longer, REPORT_PICTURE_SIDE);
    scale_picture(picture, MAX(1, picture->width * side / longer),
                  MAX(1, picture->height * side / longer), ret_copy);
}

struct making {
    const struct report_pictures_options *options;
    struct store *sides[2]; /* the input, the output */
    struct decoder_pool *decoders;
    int64_t until_ms; /* monotonic clock */
};

static bool is_over(const struct making *making) {
    return making->options->is_interrupted() || clock_monotonic_ms() >= making->until_ms;
}

/* Sets one side of the picture; false: the file is missing, or it is not shown. */
static bool copy_side(const struct making *making, const char *name, struct report_picture *picture,
                      int side) {
    AUTO(buffer_release) struct buffer file;
    AUTO(picture_release) struct picture whole = {0}, copy = {0};
    struct error ignored = {0};
    uint8_t *bytes = NULL;
    size_t size = 0;
    buffer_init(&file, REPORT_PICTURE_BYTES_MAX);
    if (is_over(making) || store_get(making->sides[side], name, &file, NULL, &ignored) < 0 ||
        !is_of_usual_size(&file) ||
        decoder_pool_image(making->decoders, file.data, file.size, &whole, &ignored) < 0) {
        return false;
    }
    shrink(&whole, &copy);
    if (image_encode(&copy, IMAGE_JPEG, &bytes, &size, &ignored) < 0) {
        return false;
    }
    picture->sides[side] = base64_encode(bytes, size);
    picture->width[side] = copy.width;
    picture->height[side] = copy.height;
    free(bytes);
    return true;
}

/* ---- which ---- */

static void release(struct report_picture *picture) {
    free(picture->name);
    free(picture->sides[0]);
    free(picture->sides[1]);
    *picture = (struct report_picture){0};
}

/* The output first: most jobs make none that is a picture, as its name says. */
static bool take(const struct making *making, const char *name, struct report_picture *picture) {
    const char *added = making->options->added;
    AUTO(text_freep) char *made = x_printf("%s%s", name, added ? added : "");
    if (!picture_name_is_known(name) || !picture_name_is_known(made) ||
        !copy_side(making, made, picture, 1) || !copy_side(making, name, picture, 0)) {
        release(picture);
        return false;
    }
    picture->name = x_strdup(name);
    return true;
}

static void take_first(const struct making *making, struct report_pictures *pictures) {
    const struct report_pictures_options *options = making->options;
    int64_t count = MIN(options->items, (int64_t)NAMES_MAX);
    for (int64_t i = 0; i < count && pictures->count < REPORT_PICTURES_MAX; i++) {
        AUTO(buffer_release) struct buffer name;
        struct error ignored = {0};
        buffer_init(&name, STORE_NAME_MAX);
        if (is_over(making) || options->name(options->context, i, &name, &ignored) < 0) {
            return;
        }
        pictures->count += take(making, name.data ? name.data : "", &pictures->at[pictures->count]);
    }
}

void report_pictures_make(const struct report_pictures_options *options,
                          struct report_pictures *ret_pictures) {
    const json_t *spec = options->spec;
    const char *path = tree_text(spec, "input.files.path", NULL);
    bool is_per_file = strcmp(tree_text(spec, "output.mode", "PerFile"), "PerFile") == 0;
    AUTO(store_freep) struct store *input = NULL;
    struct error ignored = {0};
    *ret_pictures = (struct report_pictures){0};
    if (!path || !is_per_file || !store_is_local(path) || !options->output ||
        !store_features(options->output).is_local || options->items == 0 ||
        options->is_interrupted() || store_probe_path(path, PROBE_MS, &ignored) < 0 ||
        store_open(path, /* writes= */ false, &input, &ignored) < 0) {
        return;
    }
    struct making making = {.options = options,
                            .sides = {input, options->output},
                            .decoders = decoder_pool_new(),
                            .until_ms = clock_monotonic_ms() + REPORT_PICTURES_MS};
    decoder_pool_limit(making.decoders, (struct decoder_limits){DECODE_S * 1000, DECODE_S});
    take_first(&making, ret_pictures);
    decoder_pool_free(making.decoders);
}

void report_pictures_release(struct report_pictures *pictures) {
    for (size_t i = 0; i < pictures->count; i++) {
        release(&pictures->at[i]);
    }
    pictures->count = 0;
}

/* ---- the page ---- */

static void add_side(struct page *page, const struct report_picture *picture, int side) {
    static const char *const words[] = {"before", "after"};
    page_add(page, "<img width=\"%d\" height=\"%d\" alt=\"", picture->width[side],
             picture->height[side]);
    page_text(page, picture->name, NAME_BYTES);
    page_add(page, " %s\" src=\"data:image/jpeg;base64,", words[side]);
    page_text(page, picture->sides[side], 0);
    page_add(page, "\"/>");
}

void report_pictures_add(struct page *page, const struct report_pictures *pictures) {
    if (!pictures || pictures->count == 0) {
        return;
    }
    page_add(page, "<section><h2>Before and after</h2><div class=\"pictures\">");
    for (size_t i = 0; i < pictures->count; i++) {
        page_add(page, "<figure><div>");
        add_side(page, &pictures->at[i], 0);
        add_side(page, &pictures->at[i], 1);
        page_add(page, "</div><figcaption>");
        page_text(page, pictures->at[i].name, NAME_BYTES);
        page_add(page, "</figcaption></figure>");
    }
    page_add(page, "</div></section>\n");
}
