// SPDX-License-Identifier: Apache-2.0
#include "agent/data/image/jpeg_hardware.h"

#include "agent/data/image/exif.h"
#include "agent/data/image/hardware.h"
#include "agent/data/image/image.h"
#include "agent/data/image/jpeg_outline.h"
#include "agent/data/image/nvjpeg_library.h"
#include "lib/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum end { END_DONE, END_NOT_THIS, END_LEAVE };

struct jpeg_hardware {
    struct nvjpeg_library library;
    bool is_tried, is_open;
    bool is_proven[2]; /* for grey, for colour */
    int device;
    void *context, *stream, *handle, *state;
    uint64_t room; /* on the GPU */
    size_t room_size;
    int64_t decoded, left;
};

struct jpeg_hardware *jpeg_hardware_new(void) {
    return hardware_is_wanted() ? x_calloc(1, sizeof(struct jpeg_hardware)) : NULL;
}

/* ---- opening and closing -------------------------------------------------------------------- */

static int driver_error(const struct nvjpeg_library *library, int code, const char *what,
                        struct error *err) {
    const char *text = NULL;
    if (library->driver_error_string(code, &text) != CUDA_DONE || !text) {
        text = "unknown error";
    }
    return error_set(err, ERROR_UNAVAILABLE, "%s: %s (CUDA %d)", what, text, code);
}

/* Uses the thread's current device, on which its slot scores; otherwise the first. */
static int open_context(struct jpeg_hardware *hardware, struct error *err) {
    const struct nvjpeg_library *library = &hardware->library;
    int code = library->driver_init(0);
    if (code == CUDA_DONE && library->current_device(&hardware->device) != CUDA_DONE) {
        code = library->device_get(&hardware->device, 0);
    }
    void *context = NULL;
    code = code == CUDA_DONE ? library->context_retain(&context, hardware->device) : code;
    if (code != CUDA_DONE) {
        return driver_error(library, code, "cannot use a GPU", err);
    }
    hardware->context = context;
    return 0;
}

/* Called with the context current. Older libraries do not know all flags. */
static int open_decoder(struct jpeg_hardware *hardware, struct error *err) {
    static const unsigned flags[] = {NVJPEG_STRICT | NVJPEG_INTERPOLATE, NVJPEG_STRICT, 0};
    const struct nvjpeg_library *library = &hardware->library;
    int code = library->stream_new(&hardware->stream, CUDA_ITS_OWN_STREAM);
    if (code != CUDA_DONE) {
        hardware->stream = NULL;
        return driver_error(library, code, "cannot create a stream on the GPU", err);
    }
    int status = NVJPEG_INVALID;
    for (size_t i = 0; i < ARRAY_LEN(flags) && status == NVJPEG_INVALID; i++) {
        status = library->create(/* backend: the library's choice */ 0, NULL, NULL, flags[i],
                                 &hardware->handle);
    }
    if (status != NVJPEG_DONE) {
        hardware->handle = NULL;
        return error_set(err, ERROR_UNAVAILABLE, "nvjpegCreateEx failed with status %d", status);
    }
    status = library->state_create(hardware->handle, &hardware->state);
    if (status != NVJPEG_DONE) {
        hardware->state = NULL;
        return error_set(err, ERROR_UNAVAILABLE, "nvjpegJpegStateCreate failed with status %d",
                         status);
    }
    return 0;
}

/* May be called after a partial opening. */
static void close_all(struct jpeg_hardware *hardware) {
    const struct nvjpeg_library *library = &hardware->library;
    void *popped = NULL;
    hardware->is_open = false;
    if (!hardware->context) {
        return;
    }
    if (library->context_push(hardware->context) == CUDA_DONE) {
        if (hardware->state) {
            (void)library->state_destroy(hardware->state);
        }
        if (hardware->handle) {
            (void)library->destroy(hardware->handle);
        }
        if (hardware->room) {
            (void)library->memory_free(hardware->room);
        }
        if (hardware->stream) {
            (void)library->stream_free(hardware->stream);
        }
        (void)library->context_pop(&popped);
    }
    (void)library->context_release(hardware->device);
    hardware->context = hardware->stream = hardware->handle = hardware->state = NULL;
    hardware->room = 0;
    hardware->room_size = 0;
}

static int open_all(struct jpeg_hardware *hardware, struct error *err) {
    const struct nvjpeg_library *library = &hardware->library;
    if (nvjpeg_library_load(&hardware->library, err) < 0 || open_context(hardware, err) < 0) {
        return -1;
    }
    int code = library->context_push(hardware->context);
    if (code != CUDA_DONE) {
        return driver_error(library, code, "the GPU's context", err);
    }
    void *popped = NULL;
    int result = open_decoder(hardware, err);
    (void)library->context_pop(&popped);
    return result;
}

/* Opens once, and logs the result once. */
static void open_first(struct jpeg_hardware *hardware) {
    struct error err = {0};
    int version[3] = {0}; /* major, minor, patch */
    hardware->is_tried = true;
    if (open_all(hardware, &err) < 0) {
        log_event(LOG_WARNING, "cannot use nvJPEG: %s; decoding JPEG files on the CPU", err.text);
        close_all(hardware);
        return;
    }
    for (int i = 0; i < 3; i++) {
        (void)hardware->library.get_property(i, &version[i]);
    }
    hardware->is_open = true;
    log_event(LOG_INFO, "decoding JPEG files with nvJPEG %d.%d.%d, where it supports them",
              version[0], version[1], version[2]);
}

void jpeg_hardware_free(struct jpeg_hardware *hardware) {
    if (!hardware) {
        return;
    }
    if (hardware->decoded > 0) {
        log_event(LOG_INFO, "nvJPEG decoded %lld JPEG files, the processor %lld",
                  (long long)hardware->decoded, (long long)hardware->left);
    }
    close_all(hardware);
    free(hardware);
}

/* ---- one picture ---------------------------------------------------------------------------- */

static enum end end_of(int status) {
    switch (status) {
    case NVJPEG_DONE:
        return END_DONE;
    case NVJPEG_INVALID:
    case NVJPEG_BAD:
    case NVJPEG_UNKNOWN:
    case NVJPEG_MEMORY: /* scoring uses the GPU's memory */
    case NVJPEG_NOT_BUILT:
    case NVJPEG_CUT:
        return END_NOT_THIS;
    default:
        return END_LEAVE;
    }
}

static bool has_room(struct jpeg_hardware *hardware, size_t size) {
    const struct nvjpeg_library *library = &hardware->library;
    if (size <= hardware->room_size) {
        return true;
    }
    if (hardware->room) {
        (void)library->memory_free(hardware->room);
    }
    hardware->room_size = 0;
    if (library->memory_new(&hardware->room, size) != CUDA_DONE) {
        hardware->room = 0;
        return false;
    }
    hardware->room_size = size;
    return true;
}

/* Checks that nvJPEG reads the same header as we do. */
static enum end check_info(struct jpeg_hardware *hardware, const void *bytes, size_t size,
                           const struct jpeg_outline *outline) {
    int components = 0, sampling = NVJPEG_NO_SAMPLING;
    int widths[NVJPEG_PLANES] = {0}, heights[NVJPEG_PLANES] = {0};
    enum end end = end_of(hardware->library.get_info(hardware->handle, bytes, size, &components,
                                                     &sampling, widths, heights));
    bool is_same = components == outline->components && sampling != NVJPEG_NO_SAMPLING &&
                   widths[0] == outline->width && heights[0] == outline->height;
    return end == END_DONE && !is_same ? END_NOT_THIS : end;
}

/* Called with the context current. values: [height, width, components]. */
static enum end decode_there(struct jpeg_hardware *hardware, const void *bytes, size_t size,
                             const struct jpeg_outline *outline, uint8_t *values,
                             struct error *err) {
    const struct nvjpeg_library *library = &hardware->library;
    size_t row = (size_t)outline->width * (size_t)outline->components;
    size_t all = row * (size_t)outline->height;
    enum end end = check_info(hardware, bytes, size, outline);
    if (end != END_DONE || !has_room(hardware, all)) {
        return end == END_DONE ? END_NOT_THIS : end;
    }
    struct nvjpeg_image image = {.channel = {(uint8_t *)(uintptr_t)hardware->room}, .pitch = {row}};
    int status = library->decode(hardware->handle, hardware->state, bytes, size,
                                 outline->components == 1 ? NVJPEG_GREY : NVJPEG_RGB_TOGETHER,
                                 &image, hardware->stream);
    int code = status == NVJPEG_DONE
                   ? library->copy_down(values, hardware->room, all, hardware->stream)
                   : CUDA_DONE;
    int waited = library->stream_wait(hardware->stream);
    code = code == CUDA_DONE ? waited : code;
    if (code != CUDA_DONE) {
        (void)driver_error(library, code, "cannot copy a picture from the GPU", err);
        return END_LEAVE;
    }
    if (end_of(status) == END_LEAVE) {
        (void)error_set(err, ERROR_UNAVAILABLE, "nvjpegDecode failed with status %d", status);
    }
    return end_of(status);
}

/* The first width * height values are grey; from the end on each is copied to three. */
static void spread_grey(struct picture *picture) {
    uint8_t *pixels = picture->pixels;
    for (size_t i = (size_t)picture->width * (size_t)picture->height; i-- > 0;) {
        uint8_t value = pixels[i];
        pixels[3 * i] = pixels[3 * i + 1] = pixels[3 * i + 2] = value;
    }
}

static enum end decode_upright(struct jpeg_hardware *hardware, const void *bytes, size_t size,
                               const struct jpeg_outline *outline, struct picture *picture,
                               struct error *err) {
    const struct nvjpeg_library *library = &hardware->library;
    void *popped = NULL;
    int code = library->context_push(hardware->context);
    if (code != CUDA_DONE) {
        (void)driver_error(library, code, "the GPU's context", err);
        return END_LEAVE;
    }
    picture_init(picture, outline->width, outline->height);
    enum end end = decode_there(hardware, bytes, size, outline, picture->pixels, err);
    (void)library->context_pop(&popped);
    if (end != END_DONE) {
        return end;
    }
    if (outline->components == 1) {
        spread_grey(picture);
    }
    picture_orient(picture, exif_orientation(bytes, size));
    return END_DONE;
}

bool jpeg_hardware_is_near(const struct picture *one, const struct picture *other,
                           bool is_subsampled) {
    if (one->width != other->width || one->height != other->height) {
        return false;
    }
    size_t count = 3 * (size_t)one->width * (size_t)one->height;
    uint64_t sum = 0;
    int most = 0;
    for (size_t i = 0; i < count; i++) {
        int difference = abs(one->pixels[i] - other->pixels[i]);
        sum += (uint64_t)difference;
        most = MAX(most, difference);
    }
    return is_subsampled ? sum <= JPEG_HARDWARE_MEAN_MAX * (uint64_t)count
                         : most <= JPEG_HARDWARE_BYTE_MAX;
}

/* Compares the first picture of each kind with the processor's. */
static enum end prove(struct jpeg_hardware *hardware, const void *bytes, size_t size,
                      const struct jpeg_outline *outline, const struct picture *picture,
                      struct error *err) {
    AUTO(picture_release) struct picture ours = {0};
    struct error cause = {0};
    if (image_decode(bytes, size, &ours, &cause) < 0) {
        return END_NOT_THIS; /* the file is broken and nvJPEG did not notice: this proves nothing */
    }
    if (!jpeg_hardware_is_near(&ours, picture, outline->is_subsampled)) {
        (void)error_set(err, ERROR_BUG, "its colours differ from libjpeg-turbo's");
        return END_LEAVE;
    }
    hardware->is_proven[outline->components == 3] = true;
    return END_DONE;
}

bool jpeg_hardware_decode(struct jpeg_hardware *hardware, const char *name, const void *bytes,
                          size_t size, struct picture *ret_picture) {
    struct jpeg_outline outline;
    struct error err = {0};
    if (!hardware || image_sniff(bytes, size) != IMAGE_JPEG) {
        return false;
    }
    if (!hardware->is_tried) {
        open_first(hardware);
    }
    if (!hardware->is_open || !jpeg_outline_read(bytes, size, &outline) ||
        picture_check_size(outline.width, outline.height, &err) < 0 ||
        (int64_t)outline.width * outline.height > JPEG_HARDWARE_PIXELS) {
        hardware->left++;
        return false;
    }
    AUTO(picture_release) struct picture picture = {0};
    enum end end = decode_upright(hardware, bytes, size, &outline, &picture, &err);
    if (end == END_DONE && !hardware->is_proven[outline.components == 3]) {
        end = prove(hardware, bytes, size, &outline, &picture, &err);
    }
    if (end == END_LEAVE) {
        log_event(LOG_WARNING, "%s: nvJPEG failed (%s); decoding JPEG files on the CPU from now on",
                  name, err.text[0] ? err.text : "it cannot continue");
        close_all(hardware);
    }
    if (end != END_DONE) {
        hardware->left++;
        return false;
    }
    hardware->decoded++;
    *ret_picture = picture;
    picture = (struct picture){0};
    return true;
}
