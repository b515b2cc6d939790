// SPDX-License-Identifier: Apache-2.0
/* A packet of a decoder's process, of any content. One that is believed has a picture of a possible
 * size, a range inside the file or of what is made, or an error that is a line about the file. And
 * the listing of a film, of any bytes: one that is believed can become leases. */
#include "agent/data/decoder/decoder_message.h"
#include "agent/data/input/media.h"
#include "agent/data/video/video_lease.h"
#include "agent/data/video/video_listing.h"
#include "lib/text/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { SOURCE_BYTES = 5000, SOURCES = 7, WRITE_MAX = 9000, CALLS = 7, KINDS = 12 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(const struct decoder_message *message) {
    if (!memchr(message->text, 0, sizeof message->text)) {
        abort();
    }
    AUTO(text_freep) char *line = x_strdup(message->text);
    utf8_make_line(line);
    if (strcmp(line, message->text) != 0 ||
        (message->error_kind != ERROR_INVALID && message->error_kind != ERROR_UNSUPPORTED)) {
        abort();
    }
}

static void check_believed(const struct decoder_message *message, uint32_t call) {
    const int64_t *values = message->values;
    struct error err = {0};
    bool is_sound = true;
    if (message->kind == DECODER_READ) {
        is_sound = values[0] >= 0 && values[0] <= SOURCE_BYTES && values[1] > 0 &&
                   values[1] <= DECODER_RANGE_BYTES && call != DECODER_IMAGE &&
                   call != DECODER_UNPACK;
        is_sound = call == DECODER_FILM ? values[0] >= 0 && values[2] >= 0 && values[2] < SOURCES
                                        : is_sound && values[2] == 0;
    } else if (message->kind == DECODER_WRITE) {
        is_sound = (call == DECODER_FILM || call == DECODER_GUNZIP) && values[0] >= 0 &&
                   values[1] > 0 && values[0] + values[1] <= WRITE_MAX;
    } else if (message->kind == DECODER_ANSWER && call == DECODER_FILM) {
        is_sound = values[1] >= 0 && values[1] <= DECODER_REPLY_BYTES;
    } else if (message->kind == DECODER_ANSWER && values[0] == READER_ITEM) {
        is_sound = call != DECODER_UNPACK && call != DECODER_GUNZIP &&
                   picture_check_size(values[1], values[2], &err) == 0;
    } else if (message->kind == DECODER_FAILURE) {
        check_error(message);
    }
    if (!is_sound || message->number != 1) {
        abort();
    }
}

/* Bytes behind a sound head, so that counts and frames are reached. */
static void check_listing(const uint8_t *data, size_t size) {
    struct video_index index;
    struct error err = {0};
    size_t used = 0;
    AUTO(text_freep) char *bytes = x_malloc(size + 1); /* aligned, and the sanitizer sees its end */
    memcpy(bytes, data, size);
    if (video_listing_unpack(&index, bytes, size, &used, &err) < 0) {
        return;
    }
    if (used > size || index.frame_count < 1) {
        abort();
    }
    int64_t count = MIN(index.frame_count, (int64_t)50);
    json_decref(video_lease_encode(&index, 0, count));
    json_decref(video_lease_encode(&index, index.frame_count - count, count));
    video_index_release(&index);
}

/* [call][flags][bytes of the message, or of a listing ...]; flags fill in what a random packet
 * would never have. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint32_t calls[] = {DECODER_HELLO,      DECODER_IMAGE, DECODER_VIDEO_OPEN,
                                     DECODER_VIDEO_NEXT, DECODER_FILM,  DECODER_UNPACK,
                                     DECODER_GUNZIP};
    struct decoder_message message = {.kind = DECODER_ANSWER, .values = {1, 9, 9}};
    const char *why = NULL;
    if (size < 2) {
        return 0;
    }
    if (data[0] % (CALLS + 1) == CALLS) {
        check_listing(data + 2, size - 2);
        return 0;
    }
    struct decoder_wait wait = {
        .call = calls[data[0] % (CALLS + 1)], .number = 1, .source_bytes = SOURCE_BYTES};
    wait.source_count = wait.call == DECODER_FILM ? SOURCES : 0;
    wait.write_max = wait.call == DECODER_FILM || wait.call == DECODER_GUNZIP ? WRITE_MAX : 0;
    memcpy(&message, data + 2, MIN(size - 2, sizeof message));
    if (data[1] & 1) {
        message.magic = DECODER_MAGIC;
        message.number = 1;
    }
    if (data[1] & 2) {
        message.kind = DECODER_HELLO + message.kind % KINDS;
        message.error_kind %= ERROR_KIND_COUNT;
    }
    if (decoder_message_check(&message, data[1] & 4 ? size : sizeof message, &wait, &why)) {
        check_believed(&message, wait.call);
    } else if (!why) {
        abort(); /* a refusal without a reason */
    }
    return 0;
}
