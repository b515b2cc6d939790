/* video_cursor.h: reads the encoded frames of all parts of a run, packet by packet, as one stream,
 * and checks the parts against the commit. For the join. */
#pragma once

#include "agent/data/video/video_file.h"
#include "agent/data/video/video_join.h"

struct video_cursor {
    const struct video_join *join;
    int64_t cell;             /* at which its part begins */
    int64_t frame;            /* the next one's number in the video */
    bool is_begun;            /* the first frame was read */
    AVPacket *packet;         /* video_cursor_next's */
    AVCodecParameters *codec; /* of the first part; the others must have the same */
    /* the part that is being read */
    struct part source;
    int64_t position; /* the next byte of the source */
    char *window;     /* a buffer of it, since libav reads small pieces */
    int64_t window_at;
    size_t window_size;
    struct error failure; /* of the store during a read by libav */
    AVIOContext *io;
    AVFormatContext *part; /* NULL: between two parts */
};

/* join is borrowed; the cursor must not move. */
void video_cursor_init(struct video_cursor *cursor, const struct video_join *join);
void video_cursor_release(struct video_cursor *cursor); /* for AUTO, too */
/* Reads the next encoded frame into cursor->packet, with times in units of the listing's time base:
 * 1; 0 at the end; -1 on failure. A part whose bytes differ from the commit is marked is_broken. */
NODISCARD int video_cursor_next(struct video_cursor *cursor, struct error *err);

/* Checks before anything is written that every part exists; missing ones are marked is_broken. */
NODISCARD int video_parts_check(const struct video_join *join, struct error *err);
int64_t video_cell_count(const struct video_join *join);
/* Of the part that begins at `cell`: the cell after it, and the frame after its last one. */
int64_t video_part_next(const struct video_join *join, int64_t cell);
int64_t video_part_end(const struct video_join *join, int64_t cell);

static inline AVRational video_rational(struct fraction value) {
    return (AVRational){value.num, value.den};
}
