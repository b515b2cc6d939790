// SPDX-License-Identifier: Apache-2.0
#include "agent/data/decoder/decoder_child.h"

#include "agent/data/decoder/confine.h"
#include "agent/data/decoder/decoder_message.h"
#include "agent/data/decoder/decoder_process.h"
#include "agent/data/image/image.h"
#include "agent/data/input/media.h"
#include "agent/data/parquet/parquet_unpack.h"
#include "agent/data/source/gzip.h"
#include "lib/text/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Address space, with the window: frames of the largest size that two threads keep for reference.
 */
#define MEMORY_BYTES (DECODER_WINDOW_BYTES + ((int64_t)8 << 30))

struct decoder_child {
    char *window;
    uint64_t number; /* of the call */
    int64_t source_bytes;
    const struct decoder_videos *videos; /* NULL: pictures alone */
};

static bool receive_message(struct decoder_message *message) {
    return recv(DECODER_SOCKET_FD, message, sizeof *message, 0) == (ssize_t)sizeof *message;
}

static void send_message(const struct decoder_child *child, struct decoder_message *message) {
    message->magic = DECODER_MAGIC;
    message->number = child->number;
    if (send(DECODER_SOCKET_FD, message, sizeof *message, MSG_NOSIGNAL) !=
        (ssize_t)sizeof *message) {
        _exit(0); /* the parent has ended, or wants no more */
    }
}

/* Asks the parent, which answers how many bytes it gave or took; -1: the storage failed. */
static int64_t ask(const struct decoder_child *child, struct decoder_message *message) {
    send_message(child, message);
    if (!receive_message(message) || message->kind != DECODER_BYTES) {
        _exit(0);
    }
    return message->values[0];
}

int64_t decoder_child_read_source(void *context, int64_t source, int64_t offset, void *data,
                                  size_t size) {
    struct decoder_child *child = context;
    size = MIN(size, (size_t)DECODER_RANGE_BYTES);
    struct decoder_message message = {.kind = DECODER_READ,
                                      .values = {offset, (int64_t)size, source}};
    int64_t got = ask(child, &message);
    if (got > 0) {
        memcpy(data, child->window + DECODER_RANGE_AT, MIN((size_t)got, size));
    }
    return got;
}

int64_t decoder_child_read(void *context, int64_t offset, void *data, size_t size) {
    const struct decoder_child *child = context;
    return offset >= child->source_bytes
               ? 0
               : decoder_child_read_source(context, 0, offset, data, size);
}

int decoder_child_write(void *context, int64_t offset, const void *data, size_t size) {
    struct decoder_child *child = context;
    for (size_t done = 0; done < size;) {
        size_t piece = MIN(size - done, (size_t)DECODER_RANGE_BYTES);
        memcpy(child->window + DECODER_RANGE_AT, (const char *)data + done, piece);
        struct decoder_message message = {.kind = DECODER_WRITE,
                                          .values = {offset + (int64_t)done, (int64_t)piece}};
        if (ask(child, &message) < 0) {
            return -1;
        }
        done += piece;
    }
    return 0;
}

static int answer_picture(const struct decoder_child *child, struct picture *picture,
                          struct decoder_message *answer) {
    size_t size = 3 * (size_t)picture->width * (size_t)picture->height;
    memcpy(child->window + DECODER_PICTURE_AT, picture->pixels, size);
    answer->values[1] = picture->width;
    answer->values[2] = picture->height;
    picture_release(picture);
    return READER_ITEM;
}

static int decode_image(const struct decoder_child *child, const struct decoder_message *call,
                        struct decoder_message *answer, struct error *err) {
    struct picture picture = {0};
    const char *bytes = child->window + DECODER_FILE_AT;
    size_t size = (size_t)call->values[0];
    int result = call->values[1] ? image_decode_mask(bytes, size, &picture, err)
                                 : image_decode(bytes, size, &picture, err);
    return result < 0 ? -1 : answer_picture(child, &picture, answer);
}

static int open_video(struct decoder_child *child, const struct decoder_message *call,
                      struct error *err) {
    child->source_bytes = call->values[1];
    return child->videos->open(child, child->window + DECODER_RANGE_AT, (size_t)call->values[0],
                               child->source_bytes, call->values[2], err);
}

static int next_frame(const struct decoder_child *child, struct decoder_message *answer,
                      struct error *err) {
    struct picture picture = {0};
    int result = child->videos->next(&picture, err);
    return result == READER_ITEM ? answer_picture(child, &picture, answer) : result;
}

static int do_film(struct decoder_child *child, const struct decoder_message *call,
                   struct decoder_message *answer, struct error *err) {
    AUTO(tree_freep) json_t *reply = NULL;
    child->source_bytes = call->values[1];
    /* A copy: reads and writes need its place. */
    AUTO(text_freep)
    char *request = x_strndup(child->window + DECODER_RANGE_AT, (size_t)call->values[0]);
    if (child->videos->film(child, request, child->source_bytes, &reply, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *text = tree_canonical(reply);
    size_t size = strlen(text);
    if (size > DECODER_REPLY_BYTES) {
        return error_set(err, ERROR_INVALID, "the video's metadata is too large");
    }
    memcpy(child->window + DECODER_RANGE_AT, text, size);
    answer->values[1] = (int64_t)size;
    return READER_END;
}

static int unpack(const struct decoder_child *child, const struct decoder_message *call,
                  struct error *err) {
    const int64_t *values = call->values;
    struct parquet_unpack_bytes in = {(const uint8_t *)child->window + DECODER_FILE_AT,
                                      (size_t)values[0]};
    uint8_t *out = (uint8_t *)child->window + DECODER_PICTURE_AT;
    return parquet_unpack((int)values[1], in, out, (size_t)values[2], err) < 0 ? -1 : READER_END;
}

/* What was unpacked so far. */
struct unpacked {
    struct decoder_child *child;
    int64_t bytes;
};

static int give_unpacked(void *context, const void *data, size_t size, struct error *err) {
    struct unpacked *unpacked = context;
    if (decoder_child_write(unpacked->child, unpacked->bytes, data, size) < 0) {
        return error_set(err, ERROR_INVALID, "is not wanted any more");
    }
    unpacked->bytes += (int64_t)size;
    return 0;
}

/* Of the packed file a range at a time: the parent has it all. */
struct packed {
    struct decoder_child *child;
    char *range; /* [DECODER_RANGE_BYTES] */
    int64_t done;
};

static int64_t next_range(void *context, const void **ret_data, struct error *err) {
    struct packed *packed = context;
    int64_t got =
        decoder_child_read(packed->child, packed->done, packed->range, DECODER_RANGE_BYTES);
    if (got < 0 || (got == 0 && packed->done < packed->child->source_bytes)) {
        return error_set(err, ERROR_INVALID, "cannot be read");
    }
    *ret_data = packed->range;
    packed->done += got;
    return got;
}

static int gunzip(struct decoder_child *child, const struct decoder_message *call,
                  struct error *err) {
    child->source_bytes = call->values[1];
    AUTO(text_freep) char *range = x_malloc(DECODER_RANGE_BYTES);
    struct packed packed = {.child = child, .range = range};
    struct unpacked unpacked = {.child = child};
    struct gzip_source source = {&packed, next_range};
    struct gzip_sink sink = {&unpacked, give_unpacked};
    return gzip_pass_on(&source, &sink, err) < 0 ? -1 : READER_END;
}

static int decode(struct decoder_child *child, const struct decoder_message *call,
                  struct decoder_message *answer, struct error *err) {
    if (call->kind == DECODER_IMAGE) {
        return decode_image(child, call, answer, err);
    }
    if (call->kind == DECODER_UNPACK) {
        return unpack(child, call, err);
    }
    if (call->kind == DECODER_GUNZIP) {
        return gunzip(child, call, err);
    }
    if (!child->videos) {
        return error_set(err, ERROR_UNSUPPORTED, "this program cannot read videos");
    }
    return call->kind == DECODER_VIDEO_OPEN   ? open_video(child, call, err)
           : call->kind == DECODER_VIDEO_NEXT ? next_frame(child, answer, err)
           : call->kind == DECODER_FILM       ? do_film(child, call, answer, err)
                                              : error_set(err, ERROR_UNSUPPORTED, "unknown call");
}

static void answer_call(struct decoder_child *child, const struct decoder_message *call) {
    struct decoder_message answer = {.kind = DECODER_ANSWER};
    struct error err = {0};
    int result = decode(child, call, &answer, &err);
    answer.values[0] = result;
    if (result < 0) {
        answer.kind = DECODER_FAILURE;
        answer.error_kind = err.kind == ERROR_UNSUPPORTED ? ERROR_UNSUPPORTED : ERROR_INVALID;
        utf8_make_line(err.text); /* libraries quote the file */
        snprintf(answer.text, sizeof answer.text, "%.*s", (int)sizeof answer.text - 1, err.text);
        utf8_repair(answer.text);
    }
    send_message(child, &answer);
}

int decoder_child_run(const struct decoder_videos *videos) {
    struct decoder_child child = {.videos = videos};
    struct stat status;
    if (fstat(DECODER_WINDOW_FD, &status) < 0 || status.st_size != DECODER_WINDOW_BYTES) {
        fputs("decoder: is started by windlass itself\n", stderr);
        return 2;
    }
    child.window = mmap(NULL, DECODER_WINDOW_BYTES, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_NORESERVE, DECODER_WINDOW_FD, 0);
    close(DECODER_WINDOW_FD);
    if (child.window == MAP_FAILED) {
        return 3;
    }
    struct decoder_message message = {.kind = DECODER_HELLO,
                                      .values = {confine_enter(MEMORY_BYTES)}};
    send_message(&child, &message);
    while (receive_message(&message)) {
        child.number = message.number;
        answer_call(&child, &message);
    }
    _exit(0);
}

int decoder_child_pictures(int argc, char **argv) {
    (void)argc;
    (void)argv;
    return decoder_child_run(NULL);
}
