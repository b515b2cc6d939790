/* video_file.h: opens a video of a volume for demuxing and decoding, with libav kept on a short
 * lead: bytes come from our descriptor only, no network, no playlists, no other files, its log
 * lines are kept back (the last error's text goes into ours). Used by index, read and join. */
#pragma once

#include "lib/error.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

struct video_file {
    int fd;
    int64_t size_bytes;
    AVIOContext *io;
    AVFormatContext *format;
    AVStream *stream; /* the video; every other stream is discarded */
    int turns;        /* quarter turns clockwise that show the picture upright, 0..3 */
    bool is_cut;      /* the container declares more bytes than the file holds */
    bool is_complete; /* the container declares its length and it is all there */
};

/* Errors begin with the spec's path and say what was expected. A cut file opens if it can. */
NODISCARD int video_file_open(struct video_file *file, const char *spec_path, struct error *err);
void video_file_close(struct video_file *file); /* for AUTO, too */

/* Reads on to the next packet of the video: 1, 0 at the end, -1 failed. */
NODISCARD int video_file_next(struct video_file *file, AVPacket *packet, struct error *err);

/* A decoder for the video with `threads` threads; the caller frees it with avcodec_free_context. */
NODISCARD int video_file_decoder(const struct video_file *file, int threads,
                                 AVCodecContext **ret_decoder, struct error *err);

/* "cannot x: libav's words". Always -1. */
int video_error(struct error *err, int averror, const char *what);

/* Silences libav; its last error's text is kept for video_error. Idempotent. */
void video_log_quiet(void);

/* An AVIOContext over functions of the caller: read or write, which return bytes or an AVERROR. */
struct video_io {
    void *context;
    int (*read)(void *context, uint8_t *bytes, int size);
    int (*write)(void *context, uint8_t *bytes, int size);
    int64_t (*seek)(void *context, int64_t offset, int whence); /* NULL: it cannot go back */
};
NODISCARD int video_io_new(const struct video_io *functions, AVIOContext **ret_io,
                           struct error *err);
/* On a descriptor that stays the caller's. */
NODISCARD int video_io_open(int fd, bool is_writing, AVIOContext **ret_io, struct error *err);
void video_io_close(AVIOContext **io);

/* WINDLASS_THREADS, at least 1 and at most 2: more gain little and cost a frame's memory each. */
int video_threads(void);
