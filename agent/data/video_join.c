// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video_join.h"

#include "agent/data/video_file.h"
#include "lib/digest.h"
#include "lib/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The pictures of all parts, packet by packet. */
struct cursor {
    const struct video_join *join;
    int64_t cell;  /* where its part begins */
    int64_t frame; /* the next one's number in the video */
    struct part source;
    int64_t position;     /* the next byte of the source */
    struct error failure; /* of the store, while libav was reading */
    AVIOContext *io;
    AVFormatContext *part;    /* NULL: between two parts */
    AVCodecParameters *codec; /* of the first part; the others must have the same */
    AVPacket *packet;
};

struct output {
    char *temporary;
    int fd;
    AVIOContext *io;
    AVFormatContext *format;
    struct video_file input;
    AVPacket *sound;   /* the next sound packet of the input */
    bool has_sound;    /* it holds one */
    int *stream_of;    /* input stream -> output stream, -1: left out */
    int64_t *last_dts; /* per output stream, so that a muxer never sees time going back */
    int64_t origin;    /* time of the video that becomes 0, in units of index->time_base */
};

static void cursor_close_part(struct cursor *cursor) {
    avformat_close_input(&cursor->part);
    video_io_close(&cursor->io);
}

static void cursor_release(struct cursor *cursor) {
    cursor_close_part(cursor);
    avcodec_parameters_free(&cursor->codec);
    av_packet_free(&cursor->packet);
}

static void output_release(struct output *output) {
    avformat_free_context(output->format);
    video_io_close(&output->io);
    fd_closep(&output->fd);
    if (output->temporary) {
        unlink(output->temporary);
    }
    free(output->temporary);
    free(output->stream_of);
    free(output->last_dts);
    av_packet_free(&output->sound);
    video_file_close(&output->input);
}

static AVRational rational(struct fraction value) {
    return (AVRational){value.num, value.den};
}

/* ---- the parts ------------------------------------------------------------------------------ */

/* Frame numbers of the part that begins with a cell; a part that is missing is one cell long. */
static int64_t part_first(const struct video_join *join, int64_t cell) {
    return cell * join->batch_items;
}

static int64_t next_part(const struct video_join *join, int64_t cell) {
    return cell + MAX(join->parts->places[cell].cells, 1);
}

/* The frame after its last. */
static int64_t part_end(const struct video_join *join, int64_t cell) {
    return MIN(part_first(join, next_part(join, cell)), join->index->frame_count);
}

static int64_t cell_count(const struct video_join *join) {
    return (join->index->frame_count + join->batch_items - 1) / join->batch_items;
}

/* Before anything is written: is every part there? What is not is marked. */
static int check_parts(const struct video_join *join, struct error *err) {
    for (int64_t i = 0; i < cell_count(join); i = next_part(join, i)) {
        struct part_place *place = &join->parts->places[i];
        struct part part = parts_at(join->parts, i);
        struct store_info info;
        struct error cause = {0};
        long long first = (long long)part_first(join, i), last = (long long)part_end(join, i) - 1;
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

/* Its bytes, too, before they are relied on. */
static int check_bytes(const struct video_join *join, int64_t cell, const struct part *part,
                       struct error *err) {
    return part_check(part, &join->parts->places[cell].is_broken, err);
}

static int read_part(void *context, uint8_t *bytes, int size) {
    struct cursor *cursor = context;
    int64_t left = cursor->source.size_bytes - cursor->position;
    int wanted = (int)MIN((int64_t)size, left);
    if (wanted <= 0) {
        return AVERROR_EOF;
    }
    if (part_read(&cursor->source, cursor->position, bytes, (size_t)wanted, &cursor->failure) < 0) {
        return AVERROR(EIO);
    }
    cursor->position += wanted;
    return wanted;
}

static int64_t seek_part(void *context, int64_t offset, int whence) {
    struct cursor *cursor = context;
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

static int cursor_open_part(struct cursor *cursor, struct error *err) {
    cursor->source = parts_at(cursor->join->parts, cursor->cell);
    cursor->position = 0;
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
                         "the part %s (%dx%d) is coded otherwise than the first (%dx%d)", path,
                         codec->width, codec->height, cursor->codec->width, cursor->codec->height);
    }
    return 0;
}

static int wrong_part(const struct cursor *cursor, const char *what, struct error *err) {
    return error_set(err, ERROR_INVALID, "the part %s %s: frame %lld", cursor->source.name, what,
                     (long long)cursor->frame);
}

/* The next picture into cursor->packet, its times in units of the listing's time base: 1, 0, -1. */
static int cursor_next(struct cursor *cursor, struct error *err) {
    const struct video_join *join = cursor->join;
    while (cursor->cell < cell_count(join)) {
        if (!cursor->part && cursor_open_part(cursor, err) < 0) {
            return -1;
        }
        int64_t end = part_end(join, cursor->cell);
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
            cursor->cell = next_part(join, cursor->cell);
            continue;
        }
        if (cursor->frame == end) {
            return wrong_part(cursor, "goes on too long", err);
        }
        AVPacket *packet = cursor->packet;
        const struct video_frame *frame = &join->index->frames[cursor->frame];
        if (av_compare_ts(packet->pts, cursor->part->streams[0]->time_base, frame->pts,
                          rational(join->index->time_base)) != 0) {
            return wrong_part(cursor, "has a frame of another time", err);
        }
        packet->pts = packet->dts = frame->pts;
        packet->duration = cursor->frame + 1 < join->index->frame_count
                               ? frame[1].pts - frame->pts
                               : join->index->last_duration;
        packet->pos = -1;
        cursor->frame++;
        return 1;
    }
    return 0;
}

/* ---- the output ----------------------------------------------------------------------------- */

/* Sound that players of MP4 know. */
static bool fits_mp4(enum AVCodecID codec) {
    static const enum AVCodecID known[] = {AV_CODEC_ID_AAC,  AV_CODEC_ID_MP3,  AV_CODEC_ID_MP2,
                                           AV_CODEC_ID_AC3,  AV_CODEC_ID_EAC3, AV_CODEC_ID_OPUS,
                                           AV_CODEC_ID_FLAC, AV_CODEC_ID_ALAC};
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (known[i] == codec) {
            return true;
        }
    }
    return false;
}

static bool is_sound(const AVStream *stream) {
    return stream->codecpar->codec_type == AVMEDIA_TYPE_AUDIO &&
           stream->codecpar->codec_id != AV_CODEC_ID_NONE && stream->codecpar->sample_rate > 0;
}

static const char *choose_format(const struct output *output) {
    const AVFormatContext *input = output->input.format;
    for (unsigned i = 0; i < input->nb_streams; i++) {
        if (is_sound(input->streams[i]) && !fits_mp4(input->streams[i]->codecpar->codec_id)) {
            return "matroska";
        }
    }
    return "mp4";
}

static int add_stream(struct output *output, const AVCodecParameters *codec, AVRational time_base,
                      struct error *err) {
    AVStream *stream = avformat_new_stream(output->format, NULL);
    if (!stream || avcodec_parameters_copy(stream->codecpar, codec) < 0) {
        return error_set(err, ERROR_EXHAUSTED, "no memory for a stream");
    }
    stream->codecpar->codec_tag = 0; /* the old container's; this one chooses its own */
    stream->time_base = time_base;
    return stream->index;
}

/* Sound tracks keep their order, language and role. A track that the muxer has no name for cannot
 * be copied anywhere and is left out. */
static int add_sound(struct output *output, struct error *err) {
    AVFormatContext *input = output->input.format;
    for (unsigned i = 0; i < input->nb_streams; i++) {
        AVStream *stream = input->streams[i];
        output->stream_of[i] = -1;
        stream->discard = AVDISCARD_ALL;
        if (!is_sound(stream) ||
            avformat_query_codec(output->format->oformat, stream->codecpar->codec_id,
                                 FF_COMPLIANCE_NORMAL) == 0) {
            continue;
        }
        int at = add_stream(output, stream->codecpar, stream->time_base, err);
        if (at < 0) {
            return -1;
        }
        stream->discard = AVDISCARD_DEFAULT;
        output->stream_of[i] = at;
        output->format->streams[at]->disposition = stream->disposition;
        av_dict_copy(&output->format->streams[at]->metadata, stream->metadata, 0);
    }
    return 0;
}

static int open_output(struct output *output, const struct video_join *join,
                       const AVCodecParameters *codec, struct error *err) {
    output->fd = open(output->temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (output->fd < 0) {
        return error_from_errno(err, errno, "cannot create %s", output->temporary);
    }
    if (video_io_open(output->fd, true, &output->io, err) < 0) {
        return -1;
    }
    const char *name = choose_format(output);
    int result = avformat_alloc_output_context2(&output->format, NULL, name, NULL);
    if (result < 0) {
        return video_error(err, result, "no muxer");
    }
    AVFormatContext *format = output->format;
    format->pb = output->io;
    format->flags |= AVFMT_FLAG_CUSTOM_IO;
    /* The index is moved to the front at the end, for which the muxer opens the file again. */
    AUTO(text_freep) char *url = x_printf("file:%s", output->temporary);
    format->url = av_strdup(url);
    unsigned streams = output->input.format->nb_streams;
    output->stream_of = x_calloc(streams, sizeof *output->stream_of);
    output->last_dts = x_calloc(streams + 1, sizeof *output->last_dts);
    for (unsigned i = 0; i <= streams; i++) {
        output->last_dts[i] = AV_NOPTS_VALUE;
    }
    if (add_stream(output, codec, rational(join->index->time_base), err) < 0 ||
        add_sound(output, err) < 0) {
        return -1;
    }
    format->streams[0]->avg_frame_rate = rational(join->index->frame_rate);
    format->streams[0]->sample_aspect_ratio = codec->sample_aspect_ratio;
    av_dict_copy(&format->metadata, output->input.format->metadata, 0);
    AVDictionary *options = NULL;
    av_dict_set(&options, "movflags", "+faststart", 0);
    result = avformat_write_header(format, &options);
    av_dict_free(&options);
    return result < 0 ? video_error(err, result, "cannot write the video") : 0;
}

/* ---- copying -------------------------------------------------------------------------------- */

/* Times start at 0 where the input's first track starts later (transport streams start anywhere);
 * sound that begins before the video keeps its lead. */
static int64_t find_origin(const struct output *output, const struct video_index *index) {
    int64_t origin = index->frames[0].pts;
    const AVFormatContext *input = output->input.format;
    for (unsigned i = 0; i < input->nb_streams; i++) {
        const AVStream *stream = input->streams[i];
        if (is_sound(stream) && stream->start_time != AV_NOPTS_VALUE) {
            int64_t start =
                av_rescale_q(stream->start_time, stream->time_base, rational(index->time_base));
            origin = MIN(origin, start);
        }
    }
    return MAX(origin, 0);
}

static int next_sound(struct output *output, struct error *err) {
    int result;
    do {
        av_packet_unref(output->sound);
        result = av_read_frame(output->input.format, output->sound);
        if (result == AVERROR(EIO) && output->input.io->error == AVERROR(EIO)) {
            return video_error(err, result, "cannot read the sound");
        }
        /* Streams that show up late, as in transport streams, were not announced. */
    } while (result >= 0 && (output->sound->stream_index >= (int)output->input.format->nb_streams ||
                             output->sound->dts == AV_NOPTS_VALUE ||
                             output->stream_of[output->sound->stream_index] < 0));
    output->has_sound = result >= 0;
    return 0;
}

static int write_packet(struct output *output, AVPacket *packet, int stream, AVRational from,
                        struct error *err) {
    AVStream *to = output->format->streams[stream];
    packet->stream_index = stream;
    av_packet_rescale_ts(packet, from, to->time_base);
    int64_t *last = &output->last_dts[stream];
    if (*last != AV_NOPTS_VALUE && packet->dts <= *last) {
        packet->dts = *last + 1;
        packet->pts = MAX(packet->pts, packet->dts);
    }
    *last = packet->dts;
    int result = av_interleaved_write_frame(output->format, packet); /* takes the packet's bytes */
    return result < 0 ? video_error(err, result, "cannot write the video") : 0;
}

static int write_sound(struct output *output, AVRational video_base, struct error *err) {
    AVPacket *packet = output->sound;
    AVRational base = output->input.format->streams[packet->stream_index]->time_base;
    int64_t origin = av_rescale_q(output->origin, video_base, base);
    packet->dts -= origin;
    packet->pts = packet->pts == AV_NOPTS_VALUE ? packet->dts : packet->pts - origin;
    packet->pos = -1;
    return write_packet(output, packet, output->stream_of[packet->stream_index], base, err) < 0
               ? -1
               : next_sound(output, err);
}

/* Merges pictures and sound by time, so that the muxer holds little back. */
static int copy_all(struct output *output, struct cursor *cursor, struct error *err) {
    AVRational base = rational(cursor->join->index->time_base);
    if (next_sound(output, err) < 0) {
        return -1;
    }
    /* The first picture was read when the output was opened. */
    for (int result = 1; result > 0; result = cursor_next(cursor, err)) {
        while (output->has_sound) {
            AVRational sound_base =
                output->input.format->streams[output->sound->stream_index]->time_base;
            if (av_compare_ts(output->sound->dts, sound_base, cursor->packet->dts, base) > 0) {
                break;
            }
            if (write_sound(output, base, err) < 0) {
                return -1;
            }
        }
        cursor->packet->pts -= output->origin;
        cursor->packet->dts -= output->origin;
        if (write_packet(output, cursor->packet, 0, base, err) < 0) {
            return -1;
        }
    }
    while (err->kind == ERROR_NONE && output->has_sound) {
        if (write_sound(output, base, err) < 0) {
            return -1;
        }
    }
    return err->kind == ERROR_NONE ? 0 : -1;
}

/* The sound comes from the file whose pictures were listed, and from no other. */
static int open_input(struct output *output, const struct video_join *join, struct error *err) {
    if (video_file_open(&output->input, join->input_path, err) < 0) {
        return error_context(err, "spec.input.video.path");
    }
    return output->input.size_bytes == join->index->size_bytes
               ? 0
               : error_set(err, ERROR_INVALID,
                           "spec.input.video.path: %s: has changed since it was listed",
                           join->input_path);
}

static int write_video(struct output *output, struct cursor *cursor, struct error *err) {
    const struct video_join *join = cursor->join;
    if (cursor_next(cursor, err) <= 0 || open_output(output, join, cursor->codec, err) < 0) {
        return -1;
    }
    output->origin = find_origin(output, join->index);
    if (copy_all(output, cursor, err) < 0) {
        return -1;
    }
    int result = av_write_trailer(output->format);
    avio_flush(output->io);
    result = result < 0 ? result : output->io->error;
    if (result < 0) {
        return video_error(err, result, "cannot write the video");
    }
    return fsync(output->fd) < 0 ? error_from_errno(err, errno, "cannot write the video") : 0;
}

/* Under a name of its own until it is whole. */
static char *temporary_name(const struct video_join *join) {
    AUTO(text_freep) char *random = digest_random(8);
    return x_printf("%s/%s.tmp", join->folder, random);
}

static int put_in_place(const struct video_join *join, const char *temporary, const char *name,
                        struct error *err) {
    AUTO(text_freep) char *path = file_join(join->output, name);
    if (rename(temporary, path) < 0) {
        return error_from_errno(err, errno, "spec.output.path: cannot write %s", path);
    }
    AUTO(fd_closep) int folder = open(join->output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* EINVAL: this file system has nothing to sync in a folder. */
    return folder >= 0 && fsync(folder) < 0 && errno != EINVAL
               ? error_from_errno(err, errno, "spec.output.path: %s", join->output)
               : 0;
}

int video_join_pictures(const struct video_join *join, char **ret_name, struct error *err) {
    video_log_quiet();
    if (check_parts(join, err) < 0) {
        return -1;
    }
    AUTO(output_release) struct output output = {.fd = -1, .input = {.fd = -1}};
    AUTO(cursor_release) struct cursor cursor = {.join = join};
    if (open_input(&output, join, err) < 0) {
        return -1;
    }
    output.sound = av_packet_alloc();
    cursor.packet = av_packet_alloc();
    output.temporary = temporary_name(join);
    if (write_video(&output, &cursor, err) < 0) {
        return error_context(err, "spec.output.path: %s", join->output);
    }
    bool is_mp4 = strcmp(output.format->oformat->name, "mp4") == 0;
    AUTO(text_freep) char *name = x_printf("%s.%s", join->stem, is_mp4 ? "mp4" : "mkv");
    if (put_in_place(join, output.temporary, name, err) < 0) {
        return -1;
    }
    free(TAKE(output.temporary));
    *ret_name = TAKE(name);
    return 0;
}

/* ---- records -------------------------------------------------------------------------------- */

static int write_all(int fd, const char *bytes, size_t size, struct error *err) {
    while (size) {
        ssize_t put = write(fd, bytes, size);
        if (put < 0 && errno != EINTR) {
            return error_from_errno(err, errno, "cannot write the records");
        }
        bytes += put > 0 ? put : 0;
        size -= put > 0 ? (size_t)put : 0;
    }
    return 0;
}

/* Appends a part's bytes and checks that it has a line for every frame. */
static int copy_lines(int to, const struct part *part, int64_t wanted, struct error *err) {
    char bytes[16384];
    int64_t lines = 0;
    for (int64_t at = 0; at < part->size_bytes;) {
        size_t size = (size_t)MIN(part->size_bytes - at, (int64_t)sizeof bytes);
        if (part_read(part, at, bytes, size, err) < 0 || write_all(to, bytes, size, err) < 0) {
            return -1;
        }
        for (size_t i = 0; i < size; i++) {
            lines += bytes[i] == '\n';
        }
        at += (int64_t)size;
    }
    return lines == wanted ? 0
                           : error_set(err, ERROR_INVALID, "the part %s has %lld of %lld records",
                                       part->name, (long long)lines, (long long)wanted);
}

static int write_lines(const struct video_join *join, const char *path, struct error *err) {
    AUTO(fd_closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        return error_from_errno(err, errno, "cannot create %s", path);
    }
    for (int64_t i = 0; i < cell_count(join); i = next_part(join, i)) {
        struct part part = parts_at(join->parts, i);
        if (check_bytes(join, i, &part, err) < 0 ||
            copy_lines(fd, &part, part_end(join, i) - part_first(join, i), err) < 0) {
            return -1;
        }
    }
    return fsync(fd) < 0 ? error_from_errno(err, errno, "cannot write the records") : 0;
}

int video_join_records(const struct video_join *join, char **ret_name, struct error *err) {
    if (check_parts(join, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *temporary = temporary_name(join);
    AUTO(text_freep) char *name = x_printf("%s.jsonl", join->stem);
    int result = write_lines(join, temporary, err);
    if (result < 0) {
        error_context(err, "spec.output.path: %s", join->output);
    }
    if (result < 0 || put_in_place(join, temporary, name, err) < 0) {
        unlink(temporary);
        return -1;
    }
    *ret_name = TAKE(name);
    return 0;
}
