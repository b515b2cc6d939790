/* video_cursor.h: the pictures of all parts of a run, packet by packet, as if they were one stream;
 * and whether these parts are what was committed. For the join. */
#pragma once

#include "agent/data/video/video_file.h"
#include "agent/data/video/video_join.h"

struct video_cursor {
    const struct video_join *join;
    int64_t cell;             /* where its part begins */
    int64_t frame;            /* the next one's number in the video */
    AVPacket *packet;         /* video_cursor_next's */
    AVCodecParameters *codec; /* of the first part; the others must have the same */
    /* the part that is read */
    struct part source;
    int64_t position; /* the next byte of the source */
    char *window;     /* a piece of it: libav asks for little at a time */
    int64_t window_at;
    size_t window_size;
    struct error failure; /* of the store, while libav was reading */
    AVIOContext *io;
    AVFormatContext *part; /* NULL: between two parts */
};

/* join is borrowed, and the cursor stays where it is. */
void video_cursor_init(struct video_cursor *cursor, const struct video_join *join);
void video_cursor_release(struct video_cursor *cursor); /* for AUTO, too */
/* The next picture into cursor->packet, its times in units of the listing's time base: 1, 0 at the
 * end, -1. A part that has other bytes than were committed is marked is_broken. */
NODISCARD int video_cursor_next(struct video_cursor *cursor, struct error *err);

/* Before anything is written: is every part there? What is not is marked is_broken. */
NODISCARD int video_parts_check(const struct video_join *join, struct error *err);
int64_t video_cell_count(const struct video_join *join);
/* The cell behind the part that begins with `cell`, and the frame behind its last. */
int64_t video_part_next(const struct video_join *join, int64_t cell);
int64_t video_part_end(const struct video_join *join, int64_t cell);

static inline AVRational video_rational(struct fraction value) {
    return (AVRational){value.num, value.den};
}
