// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/video_film.h"

#include "agent/data/video/video_cursor.h"
#include "agent/data/video/video_libav.h"
#include "agent/data/video/video_sound.h"
#include "agent/data/video/video_subtitles.h"
#include "agent/data/video/video_track_times.h"

#include <stdlib.h>
#include <string.h>

/* A track of the input on its way to the output. Times are in units of its own time base. */
struct track {
    int to;                            /* output stream, -1: left out */
    struct video_sound *sound;         /* not NULL: it is encoded again */
    struct video_subtitles *subtitles; /* not NULL: they are converted */
    struct video_track_times times;
    /* Sound whose input does not say how long a packet lasts: the last one waits for the next,
     * whose time is its end. The muxer would end the track where its last packet begins. */
    AVPacket *held;
    int64_t step; /* how long the one before it lasted */
};

struct output {
    const struct video_film *film;
    int64_t position, size; /* of the output: libav's, and written so far */
    int64_t read_at;        /* of the muxer's second look at it */
    AVIOContext *io;
    AVFormatContext *format;
    struct video_file input;
    struct video_tracks plan;
    AVPacket *side;       /* the next packet of a track of the input */
    AVPacket *encoded;    /* of a track that is encoded again */
    bool has_side;        /* `side` holds a packet */
    bool is_refused;      /* the muxer failed, not the disk: another container may do */
    struct track *tracks; /* [input streams] */
    unsigned track_count;
    int64_t *last_dts; /* per output stream, so that a muxer never sees time going back */
    int64_t origin;    /* time of the video that becomes 0, in units of index->time_base */
};

static void output_release(struct output *output) {
    avformat.free_context(output->format);
    video_io_close(&output->io);
    for (unsigned i = 0; i < output->track_count; i++) {
        video_sound_free(output->tracks[i].sound);
        video_subtitles_free(output->tracks[i].subtitles);
        av.packet_free(&output->tracks[i].held);
    }
    free(output->tracks);
    free(output->last_dts);
    av.packet_free(&output->side);
    av.packet_free(&output->encoded);
    video_tracks_release(&output->plan);
    video_file_close(&output->input);
}

/* ---- the output ----------------------------------------------------------------------------- */

static int refused(struct output *output, int averror, struct error *err) {
    video_error(err, averror, "cannot write the video");
    output->is_refused = err->kind == ERROR_INVALID && averror != AVERROR(ENOMEM);
    return -1;
}

static int add_stream(struct output *output, const AVCodecParameters *codec, AVRational time_base,
                      struct error *err) {
    AVStream *stream = avformat.new_stream(output->format, NULL);
    if (!stream || avcodec.parameters_copy(stream->codecpar, codec) < 0) {
        return error_set(err, ERROR_EXHAUSTED, "no memory for a stream");
    }
    stream->codecpar->codec_tag = 0; /* the old container's tag; the muxer chooses the new one */
    stream->time_base = time_base;
    return stream->index;
}

static int add_encoded(struct output *output, struct track *track, const AVStream *stream,
                       struct error *err) {
    AVCodecParameters *codec = avcodec.parameters_alloc();
    bool is_sound = stream->codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
    int result = is_sound ? video_sound_open(stream, &track->sound, err)
                          : video_subtitles_open(stream, &track->subtitles, err);
    if (result == 0) {
        const AVCodecContext *encoder = is_sound ? video_sound_encoder(track->sound)
                                                 : video_subtitles_encoder(track->subtitles);
        (void)avcodec.parameters_from_context(codec, encoder);
        track->to = add_stream(output, codec, encoder->time_base, err);
    }
    avcodec.parameters_free(&codec);
    return result < 0 ? -1 : MIN(track->to, 0);
}

/* Tracks keep their order, language and role. */
static int add_tracks(struct output *output, struct error *err) {
    for (unsigned i = 0; i < output->track_count; i++) {
        AVStream *stream = output->input.format->streams[i];
        struct track *track = &output->tracks[i];
        *track = (struct track){.to = -1, .times = {.raw = AV_NOPTS_VALUE}};
        stream->discard = AVDISCARD_ALL;
        if (output->plan.fates[i] == TRACK_LEFT_OUT) {
            continue;
        }
        if (output->plan.fates[i] == TRACK_ENCODED) {
            if (add_encoded(output, track, stream, err) < 0) {
                return -1;
            }
        } else {
            track->to = add_stream(output, stream->codecpar, stream->time_base, err);
            bool is_sound = stream->codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
            track->held = is_sound ? av.packet_alloc() : NULL;
        }
        if (track->to < 0) {
            return -1;
        }
        stream->discard = AVDISCARD_DEFAULT;
        output->format->streams[track->to]->disposition = stream->disposition;
        av.dict_copy(&output->format->streams[track->to]->metadata, stream->metadata, 0);
    }
    return 0;
}

/* Both muxers take chapters, with times from the origin on. */
static int add_chapters(struct output *output, AVRational video_base, struct error *err) {
    const AVFormatContext *input = output->input.format;
    AVFormatContext *format = output->format;
    if (input->nb_chapters == 0 || output->plan.is_bare) {
        return 0;
    }
    format->chapters = av.calloc(input->nb_chapters, sizeof *format->chapters);
    for (unsigned i = 0; format->chapters && i < input->nb_chapters; i++) {
        const AVChapter *from = input->chapters[i];
        AVChapter *to = av.mallocz(sizeof *to);
        if (!to) {
            break;
        }
        int64_t origin = av.rescale_q(output->origin, video_base, from->time_base);
        to->id = from->id;
        to->time_base = from->time_base;
        to->start = MAX(from->start - origin, (int64_t)0);
        to->end = MAX(from->end - origin, to->start);
        av.dict_copy(&to->metadata, from->metadata, 0);
        format->chapters[format->nb_chapters++] = to;
    }
    return format->nb_chapters == input->nb_chapters
               ? 0
               : error_set(err, ERROR_EXHAUSTED, "no memory for chapters");
}

static int io_write(void *context, uint8_t *bytes, int size) {
    struct output *output = context;
    const struct video_film_files *files = &output->film->files;
    if (files->write(files->context, output->position, bytes, (size_t)size) < 0) {
        return AVERROR(EIO);
    }
    output->position += size;
    output->size = MAX(output->size, output->position);
    return size;
}

static int64_t seek_in(int64_t *position, int64_t size, int64_t offset, int whence) {
    if (whence & AVSEEK_SIZE) {
        return size;
    }
    whence &= ~AVSEEK_FORCE;
    int64_t from = whence == SEEK_CUR ? *position : whence == SEEK_END ? size : 0;
    if (offset < -from || offset > INT64_MAX - from) {
        return AVERROR(EINVAL);
    }
    return *position = from + offset;
}

static int64_t io_seek(void *context, int64_t offset, int whence) {
    struct output *output = context;
    return seek_in(&output->position, output->size, offset, whence);
}

static int io_read_again(void *context, uint8_t *bytes, int size) {
    struct output *output = context;
    const struct video_film_files *files = &output->film->files;
    int64_t got = files->read(files->context, FILM_OUTPUT, output->read_at, bytes, (size_t)size);
    output->read_at += MAX(got, (int64_t)0);
    return got > 0 ? (int)got : got == 0 ? AVERROR_EOF : AVERROR(EIO);
}

static int64_t io_seek_again(void *context, int64_t offset, int whence) {
    struct output *output = context;
    return seek_in(&output->read_at, output->size, offset, whence);
}

/* The index is moved to the front at the end, for which the muxer opens its own output to read. */
static int open_again(AVFormatContext *format, AVIOContext **io, const char *url UNUSED, int flags,
                      AVDictionary **options UNUSED) {
    struct output *output = format->opaque;
    struct video_io functions = {.context = output, .read = io_read_again, .seek = io_seek_again};
    struct error ignored = {0};
    if (flags != AVIO_FLAG_READ) {
        return AVERROR(EPERM);
    }
    output->read_at = 0;
    return video_io_new(&functions, io, &ignored) < 0 ? AVERROR(ENOMEM) : 0;
}

static int close_again(AVFormatContext *format UNUSED, AVIOContext *io) {
    video_io_close(&io);
    return 0;
}

static int open_muxer(struct output *output, struct error *err) {
    struct video_io functions = {.context = output, .write = io_write, .seek = io_seek};
    if (video_io_new(&functions, &output->io, err) < 0) {
        return -1;
    }
    int result = avformat.alloc_output_context2(&output->format, NULL, output->plan.format, NULL);
    if (result < 0) {
        return video_error(err, result, "no muxer");
    }
    AVFormatContext *format = output->format;
    format->pb = output->io;
    format->flags |= AVFMT_FLAG_CUSTOM_IO;
    format->opaque = output;
    format->io_open = open_again;
    format->io_close2 = close_again;
    video_tracks_allow(format);
    format->url = av.strdup("");
    return 0;
}

static int open_output(struct output *output, const AVCodecParameters *codec, struct error *err) {
    const struct video_index *index = output->film->index;
    AVRational base = video_rational(index->time_base);
    if (open_muxer(output, err) < 0) {
        return -1;
    }
    AVFormatContext *format = output->format;
    output->track_count = output->plan.count;
    output->tracks = x_calloc(MAX(output->track_count, 1u), sizeof *output->tracks);
    output->last_dts = x_calloc(output->track_count + 1, sizeof *output->last_dts);
    for (unsigned i = 0; i <= output->track_count; i++) {
        output->last_dts[i] = AV_NOPTS_VALUE;
    }
    if (add_stream(output, codec, base, err) < 0 || add_tracks(output, err) < 0 ||
        add_chapters(output, base, err) < 0) {
        return -1;
    }
    format->streams[0]->avg_frame_rate = video_rational(index->frame_rate);
    format->streams[0]->sample_aspect_ratio = codec->sample_aspect_ratio;
    av.dict_copy(&format->metadata, output->input.format->metadata, 0);
    AVDictionary *options = NULL;
    av.dict_set(&options, "movflags", "+faststart", 0);
    int result = avformat.write_header(format, &options);
    av.dict_free(&options);
    return result < 0 ? refused(output, result, err) : 0;
}

/* ---- copying -------------------------------------------------------------------------------- */

/* Times start at 0 if the input's first track starts later (transport streams start at any time);
 * sound that begins before the video stays ahead of it. */
static int64_t find_origin(const struct output *output, const struct video_index *index) {
    int64_t origin = index->frames[0].pts;
    const AVFormatContext *input = output->input.format;
    for (unsigned i = 0; i < input->nb_streams; i++) {
        const AVStream *stream = input->streams[i];
        if (stream->codecpar->codec_type == AVMEDIA_TYPE_AUDIO &&
            output->plan.fates[i] != TRACK_LEFT_OUT && stream->start_time != AV_NOPTS_VALUE) {
            int64_t start = av.rescale_q(stream->start_time, stream->time_base,
                                         video_rational(index->time_base));
            origin = MIN(origin, start);
        }
    }
    return MAX(origin, 0);
}

static int next_side(struct output *output, const struct video_index *index, struct error *err) {
    AVPacket *packet = output->side;
    for (;;) {
        av.packet_unref(packet);
        int result = av.read_frame(output->input.format, packet);
        output->has_side = result >= 0;
        if (video_file_check(&output->input, err) < 0) {
            return error_context(err, "spec.input.video.path");
        }
        if (result == AVERROR(EAGAIN)) {
            continue;
        }
        if (!output->has_side) {
            return 0;
        }
        /* Streams that appear later, as in transport streams, are unknown and skipped. */
        if (packet->stream_index < (int)output->track_count &&
            output->tracks[packet->stream_index].to >= 0 &&
            video_track_times_keep(&output->tracks[packet->stream_index].times, index,
                                   output->input.format->streams[packet->stream_index]->time_base,
                                   packet)) {
            return 0;
        }
    }
}

/* Packets of equal times stay so where the container takes that (Matroska): pushing each on would
 * stretch sound whose packets are shorter than the container's unit of time. */
static int write_packet(struct output *output, AVPacket *packet, int stream, AVRational from,
                        struct error *err) {
    AVStream *to = output->format->streams[stream];
    int64_t step = output->format->oformat->flags & AVFMT_TS_NONSTRICT ? 0 : 1;
    packet->stream_index = stream;
    packet->pos = -1;
    av.packet_rescale_ts(packet, from, to->time_base);
    int64_t *last = &output->last_dts[stream];
    if (*last != AV_NOPTS_VALUE && packet->dts < *last + step) {
        packet->dts = *last + step;
    }
    packet->pts = MAX(packet->pts, packet->dts);
    *last = packet->dts;
    int result = av.interleaved_write_frame(output->format, packet); /* takes the packet's bytes */
    return result < 0 ? refused(output, result, err) : 0;
}

/* Encodes a packet again, or the end of its track (NULL). */
static int write_encoded(struct output *output, struct track *track, const AVPacket *packet,
                         struct error *err) {
    int result;
    if (video_sound_feed(track->sound, packet, err) < 0) {
        return -1;
    }
    AVRational base = video_sound_encoder(track->sound)->time_base;
    while ((result = video_sound_take(track->sound, output->encoded, err)) > 0) {
        if (write_packet(output, output->encoded, track->to, base, err) < 0) {
            return -1;
        }
    }
    return result;
}

static int write_subtitles(struct output *output, struct track *track, const AVPacket *packet,
                           AVRational base, struct error *err) {
    int result = video_subtitles_convert(track->subtitles, packet, output->encoded, err);
    return result > 0 ? write_packet(output, output->encoded, track->to, base, err) : result;
}

/* The held packet, which ends at `end`; AV_NOPTS_VALUE: as long after its begin as the one before.
 */
static int write_held(struct output *output, struct track *track, AVRational base, int64_t end,
                      struct error *err) {
    AVPacket *held = track->held;
    if (!held || held->size == 0) {
        return 0;
    }
    track->step = end != AV_NOPTS_VALUE && end > held->dts ? end - held->dts : track->step;
    held->duration = track->step;
    return write_packet(output, held, track->to, base, err);
}

static int write_copied(struct output *output, struct track *track, AVPacket *packet,
                        AVRational base, struct error *err) {
    if (write_held(output, track, base, packet->dts, err) < 0) {
        return -1;
    }
    if (!track->held || packet->duration > 0) {
        return write_packet(output, packet, track->to, base, err);
    }
    if (packet->size > 0) { /* FLAC in NUT ends with an empty one */
        av.packet_move_ref(track->held, packet);
    }
    return 0;
}

static int write_side(struct output *output, const struct video_index *index, struct error *err) {
    AVPacket *packet = output->side;
    AVRational base = output->input.format->streams[packet->stream_index]->time_base;
    struct track *track = &output->tracks[packet->stream_index];
    int64_t origin = av.rescale_q(output->origin, video_rational(index->time_base), base);
    packet->dts -= origin;
    packet->pts -= origin;
    int result = track->sound       ? write_encoded(output, track, packet, err)
                 : track->subtitles ? write_subtitles(output, track, packet, base, err)
                                    : write_copied(output, track, packet, base, err);
    return result < 0 ? -1 : next_side(output, index, err);
}

/* Writes the tracks up to the picture, so that the muxer buffers little. */
static int write_sides(struct output *output, const struct video_cursor *cursor,
                       struct error *err) {
    const struct video_index *index = cursor->film->index;
    while (output->has_side) {
        AVRational base = output->input.format->streams[output->side->stream_index]->time_base;
        if (av.compare_ts(output->side->dts, base, cursor->packet->dts,
                          video_rational(index->time_base)) > 0) {
            return 0;
        }
        if (write_side(output, index, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int end_tracks(struct output *output, const struct video_index *index, struct error *err) {
    while (output->has_side) {
        if (write_side(output, index, err) < 0) {
            return -1;
        }
    }
    for (unsigned i = 0; i < output->track_count; i++) {
        struct track *track = &output->tracks[i];
        AVRational base = output->input.format->streams[i]->time_base;
        if (write_held(output, track, base, AV_NOPTS_VALUE, err) < 0 ||
            (track->sound && write_encoded(output, track, NULL, err) < 0)) {
            return -1;
        }
    }
    return 0;
}

static void lose_broken_sound(struct output *output) {
    for (unsigned i = 0; i < output->track_count; i++) {
        const struct video_sound *sound = output->tracks[i].sound;
        AUTO(text_freep) char *why = sound ? video_sound_describe_broken(sound) : NULL;
        if (why) {
            video_tracks_lose_part(&output->plan, &output->input, i, why);
        }
    }
}

static int copy_all(struct output *output, struct video_cursor *cursor, struct error *err) {
    const struct video_index *index = cursor->film->index;
    AVRational base = video_rational(index->time_base);
    if (next_side(output, index, err) < 0) {
        return -1;
    }
    /* The first picture was read when the output was opened. */
    int result = 1;
    for (; result > 0; result = video_cursor_next(cursor, err)) {
        if (write_sides(output, cursor, err) < 0) {
            return -1;
        }
        cursor->packet->pts -= output->origin;
        cursor->packet->dts -= output->origin;
        if (write_packet(output, cursor->packet, 0, base, err) < 0) {
            return -1;
        }
    }
    return result < 0 ? -1 : end_tracks(output, index, err);
}

static int64_t read_input(void *context, int64_t offset, void *data, size_t size) {
    const struct video_film *film = context;
    return film->files.read(film->files.context, FILM_INPUT, offset, data, size);
}

static int open_input(struct output *output, struct error *err) {
    const struct video_film *film = output->film;
    struct video_origin origin = {
        .context = (void *)(uintptr_t)film, .size_bytes = film->input_bytes, .read = read_input};
    return video_file_open(&output->input, film->input_path, &origin, err) < 0
               ? error_context(err, "spec.input.video.path")
               : 0;
}

static int write_video(struct output *output, struct video_cursor *cursor, struct error *err) {
    if (video_cursor_next(cursor, err) <= 0) {
        return err->kind ? -1 : error_set(err, ERROR_INVALID, "no part holds a picture");
    }
    output->origin = find_origin(output, output->film->index);
    if (open_output(output, cursor->codec, err) < 0 || copy_all(output, cursor, err) < 0) {
        return -1;
    }
    int result = av.write_trailer(output->format);
    avio.flush(output->io);
    result = result < 0 ? result : output->io->error;
    return result < 0 ? refused(output, result, err) : 0;
}

int video_film_write(const struct video_film *film, enum tracks_choice choice,
                     struct video_film_result *ret_result, struct error *err) {
    *ret_result = (struct video_film_result){0};
    if (video_libav_open(err) < 0) {
        return -1;
    }
    AUTO(output_release) struct output output = {.film = film};
    AUTO(video_cursor_release) struct video_cursor cursor;
    video_cursor_init(&cursor, film);
    video_log_quiet();
    if (open_input(&output, err) < 0 ||
        video_tracks_plan(&output.input, choice, &output.plan, err) < 0) {
        return -1;
    }
    output.side = av.packet_alloc();
    output.encoded = av.packet_alloc();
    if (write_video(&output, &cursor, err) < 0) {
        ret_result->is_refused = output.is_refused;
        return error_context(err, "spec.output.path: %s", film->output_path);
    }
    lose_broken_sound(&output);
    ret_result->is_mp4 = strcmp(output.plan.format, "mp4") == 0;
    ret_result->lost = TAKE(output.plan.lost);
    return 0;
}
