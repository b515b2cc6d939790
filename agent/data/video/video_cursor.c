// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/video_cursor.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW_BYTES = 1 << 20 };

void video_cursor_init(struct video_cursor *cursor, const struct video_join *join) {
    *cursor = (struct video_cursor){.join = join, .packet = av_packet_alloc()};
}

static void cursor_close_part(struct video_cursor *cursor) {
    avformat_close_input(&cursor->part);
    video_io_close(&cursor->io);
}

void video_cursor_release(struct video_cursor *cursor) {
    cursor_close_part(cursor);
    avcodec_parameters_free(&cursor->codec);
    av_packet_free(&cursor->packet);
    free(cursor->window);
}

/* ---- the parts ------------------------------------------------------------------------------ */

/* Frame numbers of the part that begins with a cell; a part that is missing is one cell long. */
static int64_t part_first(const struct video_join *join, int64_t cell) {
    return cell * join->batch_items;
}

int64_t video_part_next(const struct video_join *join, int64_t cell) {
    return cell + MAX(join->parts->places[cell].cells, 1);
}

int64_t video_part_end(const struct video_join *join, int64_t cell) {
    return MIN(part_first(join, video_part_next(join, cell)), join->index->frame_count);
}

int64_t video_cell_count(const struct video_join *join) {
    return (join->index->frame_count + join->batch_items - 1) / join->batch_items;
}

int video_parts_check(const struct video_join *join, struct error *err) {
    for (int64_t i = 0; i < video_cell_count(join); i = video_part_next(join, i)) {
        struct part_place *place = &join->parts->places[i];
        struct part part = parts_at(join->parts, i);
        struct store_info info;
        struct error cause = {0};
        long long first = (long long)part_first(join, i),
                  last = (long long)video_part_end(join, i) - 1;
        if (place->is_failed) {
            continue;
        }
        bool is_there = place->is_there && store_stat(part.store, part.name, &info, &cause) == 0;
        if (cause.kind && cause.kind != ERROR_NOT_FOUND && cause.kind != ERROR_INVALID) {
            *err = cause;
            return -1;
        }
        place->is_broken = !is_there || info.size_bytes != part.size_bytes;
        if (place->is_broken) {
            error_set(err, ERROR_INVALID, "the part with frames %lld to %lld, %s, is missing",
                      first, last, part.name);
        }
    }
    return err->kind ? -1 : 0;
}

/* Checks also the part's bytes before they are used. */
static int check_bytes(const struct video_join *join, int64_t cell, const struct part *part,
                       struct error *err) {
    return part_check(part, &join->parts->places[cell].is_broken, err);
}

static int fill_window(struct video_cursor *cursor) {
    size_t size = (size_t)MIN(cursor->source.size_bytes - cursor->position, (int64_t)WINDOW_BYTES);
    cursor->window_size = 0;
    if (!cursor->window) {
        cursor->window = x_malloc(WINDOW_BYTES);
    }
    if (part_read(&cursor->source, cursor->position, cursor->window, size, &cursor->failure) < 0) {
        return -1;
    }
    cursor->window_at = cursor->position;
    cursor->window_size = size;
    return 0;
}

static int read_part(void *context, uint8_t *bytes, int size) {
    struct video_cursor *cursor = context;
    int64_t from = cursor->position - cursor->window_at;
    if (cursor->position >= cursor->source.size_bytes) {
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
    int64_t size = cursor->source.size_bytes;
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

static int cursor_open_part(struct video_cursor *cursor, struct error *err) {
    cursor->source = parts_at(cursor->join->parts, cursor->cell);
    cursor->position = 0;
    cursor->window_size = 0;
    const char *path = cursor->source.name;
    struct video_io functions = {.context = cursor, .read = read_part, .seek = seek_part};
    if (check_bytes(cursor->join, cursor->cell, &cursor->source, err) < 0 ||
        video_io_new(&functions, &cursor->io, err) < 0) {
        return -1;
    }
    AVFormatContext *part = avformat_alloc_context();
    part->pb = cursor->io;
    part->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_NOPARSE | AVFMT_FLAG_NOFILLIN;
    int result = avformat_open_input(&part, "", av_find_input_format("nut"), NULL);
    if (result < 0 || part->nb_streams != 1) {
        avformat_close_input(&part);
        return video_error(err, result < 0 ? result : AVERROR_INVALIDDATA, path);
    }
    cursor->part = part;
    const AVCodecParameters *codec = part->streams[0]->codecpar;
    if (!cursor->codec) {
        cursor->codec = avcodec_parameters_alloc();
        return avcodec_parameters_copy(cursor->codec, codec) < 0
                   ? error_set(err, ERROR_EXHAUSTED, "no memory")
                   : 0;
    }
    if (codec->width != cursor->codec->width || codec->height != cursor->codec->height ||
        codec->extradata_size != cursor->codec->extradata_size ||
        memcmp(codec->extradata, cursor->codec->extradata, (size_t)codec->extradata_size) != 0) {
        return error_set(err, ERROR_INVALID,
                         "the part %s (%dx%d) has another codec or size than the first (%dx%d)",
                         path, codec->width, codec->height, cursor->codec->width,
                         cursor->codec->height);
    }
    return 0;
}

static int wrong_part(const struct video_cursor *cursor, const char *what, struct error *err) {
    return error_set(err, ERROR_INVALID, "the part %s %s: frame %lld", cursor->source.name, what,
                     (long long)cursor->frame);
}

/* When the next picture comes: mini-batches that have failed have none, and the picture before them
 * stays; at the start the one after them does. */
static int64_t shown_until(const struct video_cursor *cursor) {
    const struct video_join *join = cursor->join;
    const struct video_index *index = join->index;
    int64_t next = cursor->frame + 1, cell = cursor->cell;
    if (next == video_part_end(join, cell)) {
        cell = video_part_next(join, cell);
        while (cell < video_cell_count(join) && join->parts->places[cell].is_failed) {
            next = video_part_end(join, cell);
            cell = video_part_next(join, cell);
        }
    }
    return next < index->frame_count
               ? index->frames[next].pts
               : index->frames[index->frame_count - 1].pts + index->last_duration;
}

int video_cursor_next(struct video_cursor *cursor, struct error *err) {
    const struct video_join *join = cursor->join;
    while (cursor->cell < video_cell_count(join)) {
        if (join->parts->places[cursor->cell].is_failed) {
            cursor->frame = video_part_end(join, cursor->cell);
            cursor->cell = video_part_next(join, cursor->cell);
            continue;
        }
        if (!cursor->part && cursor_open_part(cursor, err) < 0) {
            return -1;
        }
        int64_t end = video_part_end(join, cursor->cell);
        int result = av_read_frame(cursor->part, cursor->packet);
        if (result < 0) {
            if (cursor->failure.kind) {
                *err = cursor->failure;
                return -1;
            }
            if (cursor->frame != end) {
                return wrong_part(cursor, "ends too early", err);
            }
            cursor_close_part(cursor);
            cursor->cell = video_part_next(join, cursor->cell);
            continue;
        }
        if (cursor->frame == end) {
            return wrong_part(cursor, "has too many frames", err);
        }
        AVPacket *packet = cursor->packet;
        const struct video_frame *frame = &join->index->frames[cursor->frame];
        if (av_compare_ts(packet->pts, cursor->part->streams[0]->time_base, frame->pts,
                          video_rational(join->index->time_base)) != 0) {
            return wrong_part(cursor, "has a frame with another timestamp", err);
        }
        packet->pts = packet->dts = cursor->is_begun ? frame->pts : join->index->frames[0].pts;
        packet->duration = shown_until(cursor) - packet->pts;
        packet->pos = -1;
        cursor->frame++;
        cursor->is_begun = true;
        return 1;
    }
    return 0;
}
