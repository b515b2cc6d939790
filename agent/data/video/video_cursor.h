/* video_cursor.h: reads the encoded frames of all parts of a run, packet by packet, as one stream.
 * For video_film.h. */
#pragma once

#include "agent/data/video/video_file.h"
#include "agent/data/video/video_film.h"

struct video_cursor {
    const struct video_film *film;
    int64_t cell;             /* at which its part begins */
    int64_t frame;            /* the next one's number in the video */
    bool is_begun;            /* the first frame was read */
    AVPacket *packet;         /* video_cursor_next's */
    AVCodecParameters *codec; /* of the first part; the others must have the same */
    /* the part that is being read */
    int64_t position; /* the next byte of the part */
    char *window;     /* a buffer of it, since libav reads small pieces */
    int64_t window_at;
    size_t window_size;
    bool has_failed; /* the storage, during a read by libav */
    AVIOContext *io;
    AVFormatContext *part; /* NULL: between two parts */
};

/* film is borrowed; the cursor must not move. */
void video_cursor_init(struct video_cursor *cursor, const struct video_film *film);
void video_cursor_release(struct video_cursor *cursor); /* for AUTO, too */
/* Reads the next encoded frame into cursor->packet, with times in units of the listing's time base:
 * 1; 0 at the end; -1 on failure. */
NODISCARD int video_cursor_next(struct video_cursor *cursor, struct error *err);

static inline AVRational video_rational(struct fraction value) {
    return (AVRational){value.num, value.den};
}
