/* video_film.h: joins the parts of a run to one video. Packets are copied, not encoded again: the
 * pictures come from the parts, with the times of the listing; sound, subtitles and chapters come
 * from the input, in sync, as video_tracks.h plans them. MP4 with the index first; if a sound track
 * has a codec that MP4 players do not know (Vorbis, PCM, WMA ...), Matroska (.mkv), which takes
 * more codecs but rounds times to milliseconds.
 *
 * The input is a user's file, so this runs in the decoder's process (decoder.h). It has no file: it
 * reads and writes by the functions of video_film_files. */
#pragma once

#include "agent/data/video/video_index.h"
#include "agent/data/video/video_tracks.h"

/* What can be read; only the output is written. */
enum film_source {
    FILM_INPUT, /* the user's video */
    FILM_PLAN,  /* the listing and the table of parts, as decoder_media.c packs them */
    FILM_OUTPUT,
    FILM_PARTS /* + cell: the part that begins there; in ascending order */
};

/* read: as pread; -1: the storage failed, whose owner knows why. write: at most 1 MiB at once. */
struct video_film_files {
    void *context;
    int64_t (*read)(void *context, int64_t source, int64_t offset, void *data, size_t size);
    int (*write)(void *context, int64_t offset, const void *data, size_t size);
};

/* A cell (part.h, struct part_place). */
struct video_film_part {
    int64_t size_bytes;
    int32_t cells;     /* number in the part; 0: no part begins at this cell */
    int32_t is_failed; /* the mini-batch has failed, so it has no part */
};

struct video_film {
    const struct video_index *index;
    const struct video_film_part *parts; /* [video_film_cells] */
    int64_t batch_items;                 /* frames of a cell; the last may have fewer */
    const char *input_path;              /* in errors */
    const char *output_path;
    int64_t input_bytes;
    struct video_film_files files;
};

struct video_film_result {
    bool is_mp4;     /* else Matroska */
    bool is_refused; /* after a failure: the muxer refused what the plan holds: another choice may
                        do */
    json_t *lost;    /* video_tracks.h's, owned */
};

int64_t video_film_cells(const struct video_film *film);
/* Of the part that begins at `cell`: the cell after it, and the frame after its last one. A part
 * that is missing is one cell long. */
int64_t video_film_next(const struct video_film *film, int64_t cell);
int64_t video_film_end(const struct video_film *film, int64_t cell);

/* Fails if a part does not hold the frames of its mini-batch. The same parts always give the same
 * bytes. */
NODISCARD int video_film_write(const struct video_film *film, enum tracks_choice choice,
                               struct video_film_result *ret_result, struct error *err);
