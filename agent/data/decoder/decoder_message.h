/* decoder_message.h: the messages between a process that decodes (decoder_child.h) and its parent
 * (decoder.h): one struct per packet of a SOCK_SEQPACKET socket, in the byte order of the
 * machine, since both are one program; and a window, memory that both see, for bytes and pixels.
 * The parent uses no field before decoder_message_check has accepted it. Pure. */
#pragma once

#include "agent/data/image/image.h"
#include "agent/data/image/picture.h"

#include <sys/types.h>

/* IMAGE, VIDEO_OPEN, VIDEO_NEXT, FILM, UNPACK and GUNZIP are calls of the parent; each gets one
 * ANSWER or FAILURE. Until then the child may ask for ranges of the video by READ, and during a
 * FILM or GUNZIP give the parent ranges of what it makes by WRITE; the parent answers each with
 * BYTES. */
enum decoder_kind {
    DECODER_HELLO = 1, /* the child's first: values[0] is what confines it (confine.h) */
    DECODER_IMAGE, /* [0] bytes of the file, which are at DECODER_FILE_AT; [1] 1: it is a mask */
    DECODER_VIDEO_OPEN, /* [0] bytes of the lease (JSON), which is at DECODER_RANGE_AT; [1] bytes of
                           the video; [2] frames of the lease that are done already */
    DECODER_VIDEO_NEXT, /* nothing */
    DECODER_READ,       /* [0] offset, [1] bytes: at most DECODER_RANGE_BYTES, [2] number of the
                           source; 0: the video */
    DECODER_BYTES,      /* [0] bytes that are at DECODER_RANGE_AT, or were taken from there; -1: the
                           storage failed */
    DECODER_ANSWER,  /* [0] READER_END, READER_ITEM or READER_FAULT (media.h); of an item [1] width,
                        [2] height: the pixels are at DECODER_PICTURE_AT; of a FILM: READER_END, [1]
                        bytes of the answer (JSON), which is at DECODER_RANGE_AT; of an UNPACK:
                        READER_END, the bytes are at DECODER_PICTURE_AT; of a GUNZIP: READER_END */
    DECODER_FAILURE, /* error_kind and text */
    DECODER_FILM,    /* as VIDEO_OPEN, without [2] */
    DECODER_WRITE,   /* [0] offset, [1] bytes that are at DECODER_RANGE_AT */
    DECODER_UNPACK,  /* [0] bytes of a packed page, which are at DECODER_FILE_AT; [1] its codec
                        (parquet_format.h); [2] bytes that it unpacks to */
    DECODER_GUNZIP,  /* [1] bytes of a .gz file, which the child reads as a video */
};

enum {
    DECODER_MAGIC = 0x574c4431, /* also changes with the struct */
    DECODER_VALUES = 4,
    DECODER_RANGE_BYTES = 4 << 20,
    DECODER_REPLY_BYTES = 64 << 10, /* of the answer to a FILM */
    DECODER_RANGE_AT = 0,
    DECODER_PICTURE_AT = DECODER_RANGE_AT + DECODER_RANGE_BYTES,
    DECODER_PICTURE_BYTES = 3 * MEDIA_PIXELS_MAX,
    DECODER_FILE_AT = DECODER_PICTURE_AT + DECODER_PICTURE_BYTES,
    DECODER_WINDOW_BYTES =
        DECODER_FILE_AT + IMAGE_BYTES_MAX /* pages that were never written take no memory */
};

struct decoder_message {
    uint32_t magic, kind;
    uint64_t number; /* of the call, from 1; that of a HELLO is 0 */
    int64_t values[DECODER_VALUES];
    uint32_t error_kind; /* enum error_kind */
    char text[500];      /* of a FAILURE: one line of UTF-8, ended */
};

/* What the parent waits for. */
struct decoder_wait {
    uint32_t call;        /* the kind of its call; DECODER_HELLO: the child begins */
    uint64_t number;      /* of that call */
    int64_t source_bytes; /* of the video; 0: the child has nothing to read */
    int64_t source_count; /* of a FILM */
    int64_t write_max;    /* bytes of what a FILM or GUNZIP makes */
};

/* Whether a packet of `size` bytes may be believed. If not, *ret_why says what is wrong with it. */
bool decoder_message_check(const struct decoder_message *message, size_t size,
                           const struct decoder_wait *wait, const char **ret_why);
