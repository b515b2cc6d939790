// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/video_tracks.h"

#include "agent/data/video/video_libav.h"
#include "agent/data/video/video_sound.h"
#include "agent/data/video/video_subtitles.h"

#include <stdlib.h>
#include <string.h>

enum { LOST_MAX = 16 }; /* rows of the list; the status has room for no more */

void video_tracks_release(struct video_tracks *tracks) {
    free(TAKE(tracks->fates));
    tree_freep(&tracks->lost);
}

void video_tracks_allow(AVFormatContext *format) {
    format->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;
}

/* ---- what is lost --------------------------------------------------------------------------- */

static int number_of(const struct video_file *file, unsigned index) {
    int number = 0;
    for (unsigned i = 0; i <= index; i++) {
        number += file->format->streams[i]->codecpar->codec_type ==
                  file->format->streams[index]->codecpar->codec_type;
    }
    return number;
}

static const char *kind_name(const AVStream *stream) {
    switch (stream->codecpar->codec_type) {
    case AVMEDIA_TYPE_AUDIO:
        return "sound track";
    case AVMEDIA_TYPE_SUBTITLE:
        return "subtitles";
    case AVMEDIA_TYPE_VIDEO:
        return stream->disposition & AV_DISPOSITION_ATTACHED_PIC ? "cover" : "video track";
    case AVMEDIA_TYPE_ATTACHMENT:
        return "attachment";
    default:
        return "data track";
    }
}

/* The last row stands for all that have no room. */
static void lose(struct video_tracks *tracks, const char *what, const char *why) {
    AUTO(text_freep) char *more = NULL;
    if (json_array_size(tracks->lost) == LOST_MAX) {
        tracks->unnamed += tracks->unnamed ? 1 : 2;
        more = x_printf("%d others", tracks->unnamed);
        what = more;
        why = "tracks of the film that are not named here are left out or changed, too";
        json_array_remove(tracks->lost, LOST_MAX - 1);
    }
    json_array_append_new(tracks->lost, json_pack("{s:s,s:s}", "what", what, "why", why));
}

static void lose_track(struct video_tracks *tracks, const struct video_file *file, unsigned index,
                       const char *why) {
    const AVStream *stream = file->format->streams[index];
    const AVDictionaryEntry *language = av.dict_get(stream->metadata, "language", NULL, 0);
    AUTO(text_freep)
    char *what = x_printf("%s %d (%s%s%.20s)", kind_name(stream), number_of(file, index),
                          avcodec.get_name(stream->codecpar->codec_id), language ? ", " : "",
                          language ? language->value : "");
    lose(tracks, what, why);
}

void video_tracks_lose_part(struct video_tracks *tracks, const struct video_file *file,
                            unsigned index, const char *why) {
    AUTO(text_freep)
    char *what = x_printf("parts of %s %d (%s)", kind_name(file->format->streams[index]),
                          number_of(file, index),
                          avcodec.get_name(file->format->streams[index]->codecpar->codec_id));
    lose(tracks, what, why);
}

/* ---- what fits ------------------------------------------------------------------------------ */

static bool is_sound(const AVStream *stream) {
    return stream->codecpar->codec_type == AVMEDIA_TYPE_AUDIO &&
           stream->codecpar->codec_id != AV_CODEC_ID_NONE && stream->codecpar->sample_rate > 0;
}

/* True for sound codecs that MP4 players support, and for the one kind of subtitles. */
static bool is_known_to_mp4(enum AVCodecID codec) {
    static const enum AVCodecID known[] = {
        AV_CODEC_ID_AAC,  AV_CODEC_ID_MP3,  AV_CODEC_ID_MP2,  AV_CODEC_ID_AC3,     AV_CODEC_ID_EAC3,
        AV_CODEC_ID_OPUS, AV_CODEC_ID_FLAC, AV_CODEC_ID_ALAC, AV_CODEC_ID_MOV_TEXT};
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (known[i] == codec) {
            return true;
        }
    }
    return false;
}

/* Adds a track as the join does. */
static int add_track(AVFormatContext *format, const AVCodecParameters *codec, AVRational base) {
    AVStream *stream = avformat.new_stream(format, NULL);
    if (!stream || avcodec.parameters_copy(stream->codecpar, codec) < 0) {
        return AVERROR(ENOMEM);
    }
    stream->codecpar->codec_tag = 0;
    stream->time_base = base;
    return 0;
}

/* Pictures as the workers encode them, with an avcC of baseline H.264 that has no parameter sets:
 * Matroska's muxer wants one. */
static AVCodecParameters *pictures_new(const struct video_file *file) {
    static const uint8_t private[] = {1, 66, 0xC0, 30, 0xFF, 0xE0, 0};
    AVCodecParameters *codec = avcodec.parameters_alloc();
    codec->extradata = av.mallocz(sizeof private + AV_INPUT_BUFFER_PADDING_SIZE);
    if (codec->extradata) {
        memcpy(codec->extradata, private, sizeof private);
        codec->extradata_size = sizeof private;
    }
    codec->codec_type = AVMEDIA_TYPE_VIDEO;
    codec->codec_id = AV_CODEC_ID_H264;
    codec->format = AV_PIX_FMT_YUV420P;
    codec->width = file->stream->codecpar->width;
    codec->height = file->stream->codecpar->height;
    return codec;
}

/* Writes the header of a film with the pictures and this track (NULL: none) to memory. Returns 0 or
 * an AVERROR. */
static int try_header(const struct video_file *file, const char *name, const AVStream *track) {
    AVFormatContext *format = NULL;
    AVCodecParameters *pictures = pictures_new(file);
    uint8_t *bytes = NULL;
    int result = avformat.alloc_output_context2(&format, NULL, name, NULL);
    result = result < 0 ? result : avio.open_dyn_buf(&format->pb);
    if (result >= 0) {
        video_tracks_allow(format);
        result = add_track(format, pictures, file->stream->time_base);
        if (result >= 0 && track) {
            result = add_track(format, track->codecpar, track->time_base);
        }
        result = result < 0 ? result : avformat.write_header(format, NULL);
        avio.close_dyn_buf(format->pb, &bytes);
        av.free(bytes);
    }
    avcodec.parameters_free(&pictures);
    avformat.free_context(format);
    return MIN(result, 0);
}

static bool fits(const struct video_file *file, const char *name, const AVStream *track) {
    if (track->codecpar->codec_id == AV_CODEC_ID_TTA) {
        return false; /* its readers guess its length from the film's, and drop its end */
    }
    if (strcmp(name, "mp4") == 0 && !is_known_to_mp4(track->codecpar->codec_id)) {
        return false;
    }
    return try_header(file, name, track) == 0;
}

/* A track that neither container takes is encoded again, for which MP4 is as good. */
static const char *choose_format(const struct video_file *file) {
    for (unsigned i = 0; i < file->format->nb_streams; i++) {
        const AVStream *stream = file->format->streams[i];
        if (is_sound(stream) && !fits(file, "mp4", stream) && fits(file, "matroska", stream)) {
            return "matroska";
        }
    }
    return "mp4";
}

/* ---- the plan ------------------------------------------------------------------------------- */

static const char *container_name(const struct video_tracks *tracks) {
    return strcmp(tracks->format, "mp4") == 0 ? "MP4" : "Matroska";
}

static void plan_sound(struct video_tracks *tracks, const struct video_file *file, unsigned index) {
    const AVStream *stream = file->format->streams[index];
    AUTO(text_freep) char *mixing = NULL;
    struct error why = {0};
    if (is_sound(stream) && fits(file, tracks->format, stream)) {
        tracks->fates[index] = TRACK_COPIED;
        return;
    }
    if (is_sound(stream) && video_sound_check(stream, &mixing, &why) == 0) {
        AUTO(text_freep)
        char *text = x_printf("encoded again as AAC: %s does not take this codec%s%s",
                              container_name(tracks), mixing ? "; " : "", mixing ? mixing : "");
        tracks->fates[index] = TRACK_ENCODED;
        lose_track(tracks, file, index, text);
        return;
    }
    lose_track(tracks, file, index,
               *why.text ? why.text : "left out: its codec or sample rate is unknown");
}

static void plan_subtitles(struct video_tracks *tracks, const struct video_file *file,
                           unsigned index) {
    if (fits(file, tracks->format, file->format->streams[index])) {
        tracks->fates[index] = TRACK_COPIED;
        return;
    }
    struct video_subtitles *subtitles = NULL;
    struct error unsuited = {0};
    enum AVCodecID codec = file->format->streams[index]->codecpar->codec_id;
    if (strcmp(tracks->format, "mp4") == 0 &&
        video_subtitles_open(file->format->streams[index], &subtitles, &unsuited) == 0) {
        video_subtitles_free(subtitles);
        tracks->fates[index] = TRACK_ENCODED;
        if (codec == AV_CODEC_ID_ASS || codec == AV_CODEC_ID_SSA) {
            lose_track(tracks, file, index, "their text is kept, positions and styles are not");
        }
        return;
    }
    AUTO(text_freep)
    char *why = x_printf("left out: %s does not take this codec", container_name(tracks));
    lose_track(tracks, file, index, why);
}

static void plan_track(struct video_tracks *tracks, const struct video_file *file, unsigned index) {
    const AVStream *stream = file->format->streams[index];
    enum AVMediaType type = stream->codecpar->codec_type;
    /* libav shows the texts of an MP4's chapters as a data track, too. */
    bool is_chapters = type == AVMEDIA_TYPE_DATA && file->format->nb_chapters > 0 &&
                       stream->codecpar->codec_id == AV_CODEC_ID_BIN_DATA;
    if (stream == file->stream || is_chapters) {
        return;
    }
    if (type == AVMEDIA_TYPE_AUDIO) {
        plan_sound(tracks, file, index);
    } else if (type == AVMEDIA_TYPE_SUBTITLE) {
        plan_subtitles(tracks, file, index);
    } else {
        lose_track(tracks, file, index,
                   type == AVMEDIA_TYPE_VIDEO ? "left out: only the first video is scored"
                                              : "left out: only sound, subtitles and chapters are "
                                                "carried");
    }
}

static void plan_none(struct video_tracks *tracks, const struct video_file *file) {
    for (unsigned i = 0; i < file->format->nb_streams; i++) {
        if (file->format->streams[i] != file->stream) {
            lose_track(tracks, file, i, "left out: neither MP4 nor Matroska could be written");
        }
    }
    if (file->format->nb_chapters > 0) {
        lose(tracks, "chapters", "left out: neither MP4 nor Matroska could be written");
    }
}

/* ---- what pictures lose ---------------------------------------------------------------------- */

static bool is_transparent(const AVStream *stream) {
    const AVPixFmtDescriptor *format = av.pix_fmt_desc_get(stream->codecpar->format);
    /* VP8 and VP9 have it in a second stream of their own, which only this tag shows. */
    const AVDictionaryEntry *mode = av.dict_get(stream->metadata, "alpha_mode", NULL, 0);
    bool has_tag = mode && strcmp(mode->value, "1") == 0;
    return has_tag || (format && format->flags & AV_PIX_FMT_FLAG_ALPHA);
}

static void lose_of_pictures(struct video_tracks *tracks, const AVStream *stream) {
    const AVCodecParameters *codec = stream->codecpar;
    if (codec->field_order != AV_FIELD_UNKNOWN && codec->field_order != AV_FIELD_PROGRESSIVE) {
        lose(tracks, "interlacing",
             "both fields of a frame are scored as one picture, and the "
             "film is marked as progressive");
    }
    if (is_transparent(stream)) {
        lose(tracks, "transparency", "left out: networks get only the colours");
    }
    if (codec->color_trc == AVCOL_TRC_SMPTE2084 || codec->color_trc == AVCOL_TRC_ARIB_STD_B67) {
        lose(tracks, "high dynamic range",
             "its numbers are scored and written as bytes of BT.709, without tone mapping");
    }
    if (av.stream_get_side_data(stream, AV_PKT_DATA_STEREO3D, NULL) ||
        av.stream_get_side_data(stream, AV_PKT_DATA_SPHERICAL, NULL)) {
        lose(tracks, "stereo or spherical layout",
             "the pictures are scored as they are, and the film does not declare their layout");
    }
}

int video_tracks_plan(const struct video_file *file, enum tracks_choice choice,
                      struct video_tracks *ret_tracks, struct error *err) {
    struct video_tracks tracks = {.count = file->format->nb_streams,
                                  .is_bare = choice == TRACKS_NONE,
                                  .lost = json_array(),
                                  .format = choice == TRACKS_MATROSKA ? "matroska" : "mp4"};
    int result = try_header(file, tracks.format, NULL);
    tracks.fates = x_calloc(MAX(tracks.count, 1u), sizeof *tracks.fates);
    if (result < 0) {
        video_tracks_release(&tracks);
        return video_error(err, result, "the video's container cannot be written");
    }
    if (choice == TRACKS_BEST) {
        tracks.format = choose_format(file);
    }
    for (unsigned i = 0; choice != TRACKS_NONE && i < tracks.count; i++) {
        plan_track(&tracks, file, i);
    }
    if (choice == TRACKS_NONE) {
        plan_none(&tracks, file);
    }
    lose_of_pictures(&tracks, file->stream);
    *ret_tracks = tracks;
    return 0;
}
