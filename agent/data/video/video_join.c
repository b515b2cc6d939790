// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/video_join.h"

#include "agent/data/video/video_cursor.h"
#include "agent/data/video/video_file.h"
#include "lib/digest.h"
#include "lib/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 20 };

struct output {
    char *temporary;
    int fd;
    AVIOContext *io;
    AVFormatContext *format;
    struct video_file input;
    AVPacket *sound;   /* the next sound packet of the input */
    bool has_sound;    /* `sound` holds a packet */
    int *stream_of;    /* input stream -> output stream, -1: left out */
    int64_t *last_dts; /* per output stream, so that a muxer never sees time going back */
    int64_t origin;    /* time of the video that becomes 0, in units of index->time_base */
};

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

/* ---- the output ----------------------------------------------------------------------------- */

/* True for sound codecs that MP4 players support. */
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
    stream->codecpar->codec_tag = 0; /* the old container's tag; the muxer chooses the new one */
    stream->time_base = time_base;
    return stream->index;
}

/* Sound tracks keep their order, language and role. A track whose codec the muxer does not support
 * cannot be copied and is left out. */
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
    if (video_io_open(output->fd, &output->io, err) < 0) {
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
    if (add_stream(output, codec, video_rational(join->index->time_base), err) < 0 ||
        add_sound(output, err) < 0) {
        return -1;
    }
    format->streams[0]->avg_frame_rate = video_rational(join->index->frame_rate);
    format->streams[0]->sample_aspect_ratio = codec->sample_aspect_ratio;
    av_dict_copy(&format->metadata, output->input.format->metadata, 0);
    AVDictionary *options = NULL;
    av_dict_set(&options, "movflags", "+faststart", 0);
    result = avformat_write_header(format, &options);
    av_dict_free(&options);
    return result < 0 ? video_error(err, result, "cannot write the video") : 0;
}

/* ---- copying -------------------------------------------------------------------------------- */

/* Times start at 0 if the input's first track starts later (transport streams start at any time);
 * sound that begins before the video stays ahead of it. */
static int64_t find_origin(const struct output *output, const struct video_index *index) {
    int64_t origin = index->frames[0].pts;
    const AVFormatContext *input = output->input.format;
    for (unsigned i = 0; i < input->nb_streams; i++) {
        const AVStream *stream = input->streams[i];
        if (is_sound(stream) && stream->start_time != AV_NOPTS_VALUE) {
            int64_t start = av_rescale_q(stream->start_time, stream->time_base,
                                         video_rational(index->time_base));
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
        if (video_file_check(&output->input, err) < 0) {
            return error_context(err, "spec.input.video.path");
        }
        /* Streams that appear later, as in transport streams, are unknown and skipped. */
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

/* Merges pictures and sound by time, so that the muxer buffers little. */
static int copy_all(struct output *output, struct video_cursor *cursor, struct error *err) {
    AVRational base = video_rational(cursor->join->index->time_base);
    if (next_sound(output, err) < 0) {
        return -1;
    }
    /* The first picture was read when the output was opened. */
    for (int result = 1; result > 0; result = video_cursor_next(cursor, err)) {
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

/* The sound must come from the same file whose pictures were listed. */
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

static int write_video(struct output *output, struct video_cursor *cursor, struct error *err) {
    const struct video_join *join = cursor->join;
    if (video_cursor_next(cursor, err) <= 0 || open_output(output, join, cursor->codec, err) < 0) {
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

/* The output has a temporary name until it is complete. */
static char *temporary_name(const struct video_join *join) {
    AUTO(text_freep) char *random = digest_random(8);
    return x_printf("%s/%s.tmp", join->folder, random);
}

static int upload(const struct video_join *join, const char *temporary, const char *name,
                  struct error *err) {
    AUTO(fd_closep) int fd = open(temporary, O_RDONLY | O_CLOEXEC);
    AUTO(store_upload_freep) struct store_upload *upload = NULL;
    AUTO(text_freep) char *piece = x_malloc(PIECE_BYTES);
    ssize_t got = -1;
    if (fd < 0) {
        return error_from_errno(err, errno, "%s", temporary);
    }
    if (store_upload_open(join->parts->store, name, &upload, err) < 0) {
        return -1;
    }
    while ((got = read(fd, piece, PIECE_BYTES)) > 0) {
        if (store_upload_add(upload, piece, (size_t)got, err) < 0) {
            return -1;
        }
    }
    return got < 0 ? error_from_errno(err, errno, "%s", temporary)
                   : store_upload_commit(upload, STORE_REPLACE, err);
}

static int put_in_place(const struct video_join *join, const char *temporary, const char *name,
                        struct error *err) {
    if (!join->output) {
        return upload(join, temporary, name, err) < 0 ? error_context(err, "spec.output.path") : 0;
    }
    AUTO(text_freep) char *path = file_join(join->output, name);
    if (rename(temporary, path) < 0) {
        return error_from_errno(err, errno, "spec.output.path: cannot write %s", path);
    }
    AUTO(fd_closep) int folder = open(join->output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* EINVAL: this file system cannot sync a folder. */
    return folder >= 0 && fsync(folder) < 0 && errno != EINVAL
               ? error_from_errno(err, errno, "spec.output.path: %s", join->output)
               : 0;
}

int video_join_pictures(const struct video_join *join, char **ret_name, struct error *err) {
    video_log_quiet();
    if (video_parts_check(join, err) < 0) {
        return -1;
    }
    AUTO(output_release) struct output output = {.fd = -1};
    AUTO(video_cursor_release) struct video_cursor cursor;
    video_cursor_init(&cursor, join);
    if (open_input(&output, join, err) < 0) {
        return -1;
    }
    output.sound = av_packet_alloc();
    output.temporary = temporary_name(join);
    if (write_video(&output, &cursor, err) < 0) {
        return error_context(err, "spec.output.path: %s", store_path(join->parts->store));
    }
    bool is_mp4 = strcmp(output.format->oformat->name, "mp4") == 0;
    AUTO(text_freep) char *name = x_printf("%s.%s", join->stem, is_mp4 ? "mp4" : "mkv");
    if (put_in_place(join, output.temporary, name, err) < 0) {
        return -1;
    }
    if (join->output) { /* it has been renamed */
        free(TAKE(output.temporary));
    }
    *ret_name = TAKE(name);
    return 0;
}

/* ---- records -------------------------------------------------------------------------------- */

/* Appends a part's bytes and checks that it has a line for every frame. */
static int copy_lines(struct store_upload *to, const struct part *part, int64_t wanted,
                      struct error *err) {
    AUTO(text_freep) char *bytes = x_malloc(PIECE_BYTES);
    int64_t lines = 0;
    for (int64_t at = 0; at < part->size_bytes;) {
        size_t size = (size_t)MIN(part->size_bytes - at, (int64_t)PIECE_BYTES);
        if (part_read(part, at, bytes, size, err) < 0 ||
            store_upload_add(to, bytes, size, err) < 0) {
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

static int write_lines(const struct video_join *join, const char *name, struct error *err) {
    AUTO(store_upload_freep) struct store_upload *upload = NULL;
    if (store_upload_open(join->parts->store, name, &upload, err) < 0) {
        return -1;
    }
    for (int64_t i = 0; i < video_cell_count(join); i = video_part_next(join, i)) {
        struct part part = parts_at(join->parts, i);
        if (part_check(&part, &join->parts->places[i].is_broken, err) < 0 ||
            copy_lines(upload, &part, video_part_end(join, i) - i * join->batch_items, err) < 0) {
            return -1;
        }
    }
    return store_upload_commit(upload, STORE_REPLACE, err);
}

int video_join_records(const struct video_join *join, char **ret_name, struct error *err) {
    AUTO(text_freep) char *name = x_printf("%s.jsonl", join->stem);
    if (video_parts_check(join, err) < 0) {
        return -1;
    }
    if (write_lines(join, name, err) < 0) {
        return error_context(err, "spec.output.path: %s", store_path(join->parts->store));
    }
    *ret_name = TAKE(name);
    return 0;
}
