// SPDX-License-Identifier: Apache-2.0
#include "agent/data/decoder/decoder_child.h"

#include "agent/data/decoder/confine.h"
#include "agent/data/decoder/decoder_message.h"
#include "agent/data/decoder/decoder_process.h"
#include "agent/data/image/image.h"
#include "agent/data/input/media.h"
#include "lib/text/utf8.h"

#include <stdio.h>
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

static bool hear(struct decoder_message *message) {
    return recv(DECODER_SOCKET_FD, message, sizeof *message, 0) == (ssize_t)sizeof *message;
}

static void say(const struct decoder_child *child, struct decoder_message *message) {
    message->magic = DECODER_MAGIC;
    message->number = child->number;
    if (send(DECODER_SOCKET_FD, message, sizeof *message, MSG_NOSIGNAL) !=
        (ssize_t)sizeof *message) {
        _exit(0); /* the parent has ended, or wants no more */
    }
}

int64_t decoder_child_read(void *context, int64_t offset, void *data, size_t size) {
    struct decoder_child *child = context;
    if (offset >= child->source_bytes) {
        return 0;
    }
    size = MIN(size, (size_t)DECODER_RANGE_BYTES);
    struct decoder_message message = {.kind = DECODER_READ, .values = {offset, (int64_t)size}};
    say(child, &message);
    if (!hear(&message) || message.kind != DECODER_BYTES) {
        _exit(0);
    }
    int64_t got = message.values[0];
    if (got > 0) {
        memcpy(data, child->window + DECODER_RANGE_AT, MIN((size_t)got, size));
    }
    return got;
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
    return image_decode(child->window + DECODER_FILE_AT, (size_t)call->values[0], &picture, err) < 0
               ? -1
               : answer_picture(child, &picture, answer);
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

static int decode(struct decoder_child *child, const struct decoder_message *call,
                  struct decoder_message *answer, struct error *err) {
    if (call->kind == DECODER_IMAGE) {
        return decode_image(child, call, answer, err);
    }
    if (!child->videos) {
        return error_set(err, ERROR_UNSUPPORTED, "this program reads no videos");
    }
    return call->kind == DECODER_VIDEO_OPEN   ? open_video(child, call, err)
           : call->kind == DECODER_VIDEO_NEXT ? next_frame(child, answer, err)
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
    say(child, &answer);
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
    say(&child, &message);
    while (hear(&message)) {
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
