/* video_file.h: opens a video for demuxing and decoding, with libav restricted: it reads only our
 * source (video_source.h), no network, playlists or other files, and does not log (our errors
 * contain the text of its last one). Used by index, read and join. */
#pragma once

#include "agent/data/video/video_libav.h"
#include "agent/data/video/video_log.h"
#include "agent/data/video/video_source.h"

struct video_file {
    struct video_source *source; /* NULL: closed */
    int64_t position;            /* libav's position in the source */
    int64_t size_bytes;
    AVIOContext *io;
    AVFormatContext *format;
    AVStream *stream; /* the video; every other stream is discarded */
    int turns;        /* quarter turns clockwise that show the picture upright, 0..3 */
    bool is_cut;      /* the container declares more bytes than the file holds */
    bool is_complete; /* the container declares its length, and the file has all of it */
    int ended;        /* what ended it (video_file_next): AVERROR_EOF, or libav's error */
};

/* Errors begin with the spec's path and say what was expected. A truncated file is opened if
 * possible. The struct must not move until it is closed. origin:
 * video_source.h; NULL: the path's. */
NODISCARD int video_file_open(struct video_file *file, const char *spec_path,
                              const struct video_origin *origin, struct error *err);
void video_file_close(struct video_file *file); /* also for AUTO; accepts a zeroed one */
/* Whether it is the file that was listed, with that size and core ("": not known). */
bool video_file_is_listed(const struct video_file *file, int64_t size_bytes, const char *core);
/* Reports a failed read of the source, for which demuxers may return any error: -1 with *err, else
 * 0. */
NODISCARD int video_file_check(const struct video_file *file, struct error *err);

/* Reads the next packet of the video: 1; 0 at the end; -1 on failure. */
NODISCARD int video_file_next(struct video_file *file, AVPacket *packet, struct error *err);

/* A decoder for the video with `threads` threads, or on the GPU if it can (hardware: from
 * video_hardware_open; NULL: none); the caller frees it with avcodec_free_context. */
NODISCARD int video_file_decoder(const struct video_file *file, int threads, AVBufferRef *hardware,
                                 AVCodecContext **ret_decoder, struct error *err);

/* An AVIOContext over functions of the caller: read or write, which return bytes or an AVERROR. */
struct video_io {
    void *context;
    int (*read)(void *context, uint8_t *bytes, int size);
    int (*write)(void *context, uint8_t *bytes, int size);
    int64_t (*seek)(void *context, int64_t offset, int whence); /* NULL: it cannot go back */
};
NODISCARD int video_io_new(const struct video_io *functions, AVIOContext **ret_io,
                           struct error *err);
void video_io_close(AVIOContext **io);

/* WINDLASS_THREADS, at least 1 and at most 2: each further thread gains little and costs the memory
 * of a frame. */
int video_threads(void);
