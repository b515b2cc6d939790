// SPDX-License-Identifier: Apache-2.0
#include "agent/data/decoder/decoder_message.h"

#include "agent/data/input/media.h"
#include "lib/text/utf8.h"

#include <string.h>

_Static_assert((int64_t)DECODER_FILE_AT + IMAGE_BYTES_MAX <= INT32_MAX,
               "the window's places fit in an int");

/* Kinds that blame the file. One that blames the machine or the storage would make the parent try
 * again for ever. */
static bool is_about_file(uint32_t kind) {
    return kind == ERROR_INVALID || kind == ERROR_UNSUPPORTED;
}

/* Terminals and logs show the text. */
static bool is_line(const char *text, size_t room) {
    size_t size = strnlen(text, room);
    if (size == 0 || size == room) {
        return false;
    }
    AUTO(text_freep) char *line = x_strdup(text);
    utf8_make_line(line);
    return strcmp(line, text) == 0;
}

static bool writes(const struct decoder_wait *wait) {
    return wait->call == DECODER_FILM || wait->call == DECODER_GUNZIP;
}

static const char *check_read(const struct decoder_message *message,
                              const struct decoder_wait *wait) {
    int64_t offset = message->values[0], size = message->values[1], source = message->values[2];
    if (wait->call != DECODER_VIDEO_OPEN && wait->call != DECODER_VIDEO_NEXT && !writes(wait)) {
        return "unexpected read";
    }
    if (source < 0 || (source > 0 && source >= wait->source_count)) {
        return "read of a file that does not exist";
    }
    /* How long the other sources are, who reads them knows. */
    if (offset < 0 || (source == 0 && offset > wait->source_bytes)) {
        return "read outside of the file";
    }
    return size > 0 && size <= DECODER_RANGE_BYTES ? NULL : "read of too many bytes";
}

static const char *check_write(const struct decoder_message *message,
                               const struct decoder_wait *wait) {
    int64_t offset = message->values[0], size = message->values[1];
    if (!writes(wait) || wait->write_max == 0) {
        return "unexpected write";
    }
    if (size <= 0 || size > DECODER_RANGE_BYTES) {
        return "write of too many bytes";
    }
    return offset >= 0 && offset <= wait->write_max - size ? NULL : "write outside of the file";
}

static const char *check_answer(const struct decoder_message *message,
                                const struct decoder_wait *wait) {
    int64_t result = message->values[0], width = message->values[1], height = message->values[2];
    struct error ignored = {0};
    if (wait->call == DECODER_VIDEO_OPEN || wait->call == DECODER_UNPACK ||
        wait->call == DECODER_GUNZIP) {
        return result == READER_END ? NULL : "unexpected answer";
    }
    if (wait->call == DECODER_FILM) {
        return result != READER_END                         ? "unexpected answer"
               : width >= 0 && width <= DECODER_REPLY_BYTES ? NULL
                                                            : "answer too long";
    }
    if (wait->call == DECODER_IMAGE && result != READER_ITEM) {
        return "unexpected answer";
    }
    if (result != READER_END && result != READER_ITEM && result != READER_FAULT) {
        return "unexpected answer";
    }
    return result != READER_ITEM || picture_check_size(width, height, &ignored) == 0
               ? NULL
               : "invalid size of a picture";
}

static const char *find_fault(const struct decoder_message *message, size_t size,
                              const struct decoder_wait *wait) {
    if (size != sizeof *message || message->magic != DECODER_MAGIC) {
        return "wrong size or magic";
    }
    if (message->number != wait->number) {
        return "it answers another call";
    }
    bool is_begun = wait->call != DECODER_HELLO;
    switch (message->kind) {
    case DECODER_HELLO:
        return is_begun ? "a second hello" : NULL;
    case DECODER_READ:
        return check_read(message, wait);
    case DECODER_WRITE:
        return check_write(message, wait);
    case DECODER_ANSWER:
        return is_begun ? check_answer(message, wait) : "an answer before hello";
    case DECODER_FAILURE:
        return !is_about_file(message->error_kind)             ? "invalid kind of error"
               : !is_line(message->text, sizeof message->text) ? "its error is not one line of text"
                                                               : NULL;
    default:
        return "unknown kind of message";
    }
}

bool decoder_message_check(const struct decoder_message *message, size_t size,
                           const struct decoder_wait *wait, const char **ret_why) {
    const char *why = find_fault(message, size, wait);
    if (why) {
        *ret_why = why;
    }
    return !why;
}
