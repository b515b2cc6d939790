// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/video_cursor.h"

#include "agent/data/video/video_libav.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW_BYTES = 1 << 20 };

void video_cursor_init(struct video_cursor *cursor, const struct video_film *film) {
    *cursor = (struct video_cursor){.film = film, .packet = av.packet_alloc()};
}

static void cursor_close_part(struct video_cursor *cursor) {
    avformat.close_input(&cursor->part);
    video_io_close(&cursor->io);
}

void video_cursor_release(struct video_cursor *cursor) {
    cursor_close_part(cursor);
    avcodec.parameters_free(&cursor->codec);
    av.packet_free(&cursor->packet);
    free(cursor->window);
}

/* ---- the parts ------------------------------------------------------------------------------ */

int64_t video_film_next(const struct video_film *film, int64_t cell) {
    return cell + MAX(film->parts[cell].cells, 1);
}

int64_t video_film_end(const struct video_film *film, int64_t cell) {
    return MIN(video_film_next(film, cell) * film->batch_items, film->index->frame_count);
}

int64_t video_film_cells(const struct video_film *film) {
    return (film->index->frame_count + film->batch_items - 1) / film->batch_items;
}

static int64_t part_bytes(const struct video_cursor *cursor) {
    return cursor->film->parts[cursor->cell].size_bytes;
}

/* For errors. */
static long long first_of(const struct video_cursor *cursor) {
    return (long long)(cursor->cell * cursor->film->batch_items);
}

static int fill_window(struct video_cursor *cursor) {
    const struct video_film_files *files = &cursor->film->files;
    size_t size = (size_t)MIN(part_bytes(cursor) - cursor->position, (int64_t)WINDOW_BYTES);
    cursor->window_size = 0;
    if (!cursor->window) {
        cursor->window = x_malloc(WINDOW_BYTES);
    }
    int64_t got = files->read(files->context, FILM_PARTS + cursor->cell, cursor->position,
                              cursor->window, size);
    cursor->has_failed = got < (int64_t)size;
    cursor->window_at = cursor->position;
    cursor->window_size = (size_t)MAX(got, (int64_t)0);
    return cursor->has_failed ? -1 : 0;
}

static int read_part(void *context, uint8_t *bytes, int size) {
    struct video_cursor *cursor = context;
    int64_t from = cursor->position - cursor->window_at;
    if (cursor->position >= part_bytes(cursor)) {
        return AVERROR_EOF;
    }
    if (from < 0 || from >= (int64_t)cursor->window_size) {
        if (fill_window(cursor) < 0) {
            return AVERROR(EIO);
        }
        from = 0;
    }
    int got = (int)MIN((int64_t)size, (int64_t)cursor->window_size - from);
    memcpy(bytes, cursor->window + from, (size_t)got);
    cursor->position += got;
    return got;
}

static int64_t seek_part(void *context, int64_t offset, int whence) {
    struct video_cursor *cursor = context;
    int64_t size = part_bytes(cursor);
    if (whence & AVSEEK_SIZE) {
        return size;
    }
    whence &= ~AVSEEK_FORCE;
    int64_t from = whence == SEEK_CUR ? cursor->position : whence == SEEK_END ? size : 0;
    if (offset < -from || offset > size - from) {
        return AVERROR(EINVAL);
    }
    return cursor->position = from + offset;
}

/* One stream has one size and one header of the encoder. */
static int check_codec(const struct video_cursor *cursor, const AVCodecParameters *codec,
                       struct error *err) {
    const AVCodecParameters *first = cursor->codec;
    if (codec->width != first->width || codec->height != first->height) {
        return error_set(err, ERROR_INVALID,
                         "the part from frame %lld on (%dx%d) has another size than the first "
                         "(%dx%d)",
                         first_of(cursor), codec->width, codec->height, first->width,
                         first->height);
    }
    return codec->extradata_size == first->extradata_size &&
                   memcmp(codec->extradata, first->extradata, (size_t)first->extradata_size) == 0
               ? 0
               : error_set(err, ERROR_INVALID,
                           "the part from frame %lld on was encoded with other settings than the "
                           "first, as another version of Windlass has them: rerun with --restart "
                           "(annotation windlass.dev/restart)",
                           first_of(cursor));
}

static int cursor_open_part(struct video_cursor *cursor, struct error *err) {
    cursor->position = 0;
    cursor->window_size = 0;
    struct video_io functions = {.context = cursor, .read = read_part, .seek = seek_part};
    if (video_io_new(&functions, &cursor->io, err) < 0) {
        return -1;
    }
    AVFormatContext *part = avformat.alloc_context();
    part->pb = cursor->io;
    part->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_NOPARSE | AVFMT_FLAG_NOFILLIN;
    int result = avformat.open_input(&part, "", av.find_input_format("nut"), NULL);
    if (result < 0 || part->nb_streams != 1) {
        avformat.close_input(&part);
        AUTO(text_freep) char *what = x_printf("the part from frame %lld on", first_of(cursor));
        return video_error(err, result < 0 ? result : AVERROR_INVALIDDATA, what);
    }
    cursor->part = part;
    const AVCodecParameters *codec = part->streams[0]->codecpar;
    if (!cursor->codec) {
        cursor->codec = avcodec.parameters_alloc();
        return avcodec.parameters_copy(cursor->codec, codec) < 0
                   ? error_set(err, ERROR_EXHAUSTED, "no memory")
                   : 0;
    }
    return check_codec(cursor, codec, err);
}

static int wrong_part(const struct video_cursor *cursor, const char *what, struct error *err) {
    return error_set(err, ERROR_INVALID, "the part from frame %lld on %s: frame %lld",
                     first_of(cursor), what, (long long)cursor->frame);
}

/* When the next picture comes: mini-batches that have failed have none, and the picture before them
 * stays; at the start the one after them does. */
static int64_t shown_until(const struct video_cursor *cursor) {
    const struct video_film *film = cursor->film;
    const struct video_index *index = film->index;
    int64_t next = cursor->frame + 1, cell = cursor->cell;
    if (next == video_film_end(film, cell)) {
        cell = video_film_next(film, cell);
        while (cell < video_film_cells(film) && film->parts[cell].is_failed) {
            next = video_film_end(film, cell);
            cell = video_film_next(film, cell);
        }
    }
    return next < index->frame_count
               ? index->frames[next].pts
               : index->frames[index->frame_count - 1].pts + index->last_duration;
}

int video_cursor_next(struct video_cursor *cursor, struct error *err) {
    const struct video_film *film = cursor->film;
    while (cursor->cell < video_film_cells(film)) {
        if (film->parts[cursor->cell].is_failed) {
            cursor->frame = video_film_end(film, cursor->cell);
            cursor->cell = video_film_next(film, cursor->cell);
            continue;
        }
        if (!cursor->part && cursor_open_part(cursor, err) < 0) {
            return -1;
        }
        int64_t end = video_film_end(film, cursor->cell);
        int result = av.read_frame(cursor->part, cursor->packet);
        if (result < 0) {
            if (cursor->has_failed) {
                return error_set(err, ERROR_UNAVAILABLE, "the parts cannot be read");
            }
            if (cursor->frame != end) {
                return wrong_part(cursor, "ends too early", err);
            }
            cursor_close_part(cursor);
            cursor->cell = video_film_next(film, cursor->cell);
            continue;
        }
        if (cursor->frame == end) {
            return wrong_part(cursor, "has too many frames", err);
        }
        AVPacket *packet = cursor->packet;
        const struct video_frame *frame = &film->index->frames[cursor->frame];
        if (av.compare_ts(packet->pts, cursor->part->streams[0]->time_base, frame->pts,
                          video_rational(film->index->time_base)) != 0) {
            return wrong_part(cursor, "has a frame with another timestamp", err);
        }
        packet->pts = packet->dts = cursor->is_begun ? frame->pts : film->index->frames[0].pts;
        packet->duration = shown_until(cursor) - packet->pts;
        packet->pos = -1;
        cursor->frame++;
        cursor->is_begun = true;
        return 1;
    }
    return 0;
}
