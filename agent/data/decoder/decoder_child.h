/* decoder_child.h: the process that decodes for decoder.h. It confines itself before it reads the
 * first byte of a user's file, then answers calls until its socket ends. */
#pragma once

#include "agent/data/image/picture.h"
#include "lib/tree.h"

struct decoder_child;

/* How videos are decoded. A table, so that a program without videos is not linked with their
 * libraries. */
struct decoder_videos {
    /* Begins a lease and ends the previous one. request: as decoder_video_open's; it is invalid
     * after the first decoder_child_read. READER_END or -1. */
    int (*open)(struct decoder_child *child, const char *request, size_t size, int64_t source_bytes,
                int64_t done, struct error *err);
    /* READER_ITEM, READER_FAULT, READER_END (media.h) or -1. */
    int (*next)(struct picture *ret_picture, struct error *err);
    /* About a whole film: decoder_film's. *ret_answer: JSON, owned. */
    int (*film)(struct decoder_child *child, const char *request, int64_t source_bytes,
                json_t **ret_answer, struct error *err);
};

/* The hidden command "decoder" of a program, for decoder_process.h alone: of pictures, and of
 * pictures and videos. Returns the exit code. */
int decoder_child_pictures(int argc, char **argv);
int decoder_child_media(int argc, char **argv);

/* For decoder_media.c: the process itself. videos: NULL: it decodes pictures alone. */
int decoder_child_run(const struct decoder_videos *videos);
/* Bytes of the video, from the parent; as decoder_source's. context: a decoder_child. */
int64_t decoder_child_read(void *context, int64_t offset, void *data, size_t size);
/* Of a film's sources and what it makes; as decoder_files'. */
int64_t decoder_child_read_source(void *context, int64_t source, int64_t offset, void *data,
                                  size_t size);
int decoder_child_write(void *context, int64_t offset, const void *data, size_t size);
