// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/video_index.h"

#include "agent/data/video/captions.h"
#include "agent/data/video/container/stream_end.h"
#include "agent/data/video/video_file.h"
#include "agent/data/video/video_libav.h"

#include <assert.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEAD_AFTER_KEY = 64, /* packets after the first keyframe that are decoded at most */
    HEAD_MAX = 512,
    TAIL_MAX = 1024,
};

static_assert(VIDEO_NO_TIME == AV_NOPTS_VALUE, "one notion of a missing timestamp");

/* Packets kept for a closer look, each with its number as timestamp. */
struct keep {
    AVPacket **packets;
    int count;
    int32_t first; /* number of packets[0] */
};

struct scan {
    struct video_file file;
    const struct video_origin *origin;
    struct video_index *index;
    int64_t *times; /* pts of every packet */
    int32_t packet_count;
    int64_t room; /* of times and index->frames */
    int64_t key_room;
    int64_t last_dts, last_duration;
    int64_t damaged;           /* incomplete packets */
    struct keep head, tail;    /* the tail: the last two groups of pictures */
    int tail_key;              /* where the last group begins */
    bool is_head_done, is_odd; /* odd: packets do not determine the frames, so decode */
    bool has_errors;           /* the decoder met a packet that is broken */
    bool is_jumping;           /* timestamps go backwards: a seek by time may miss */
    unsigned stream_count;     /* of the file's beginning */
    int width, height;         /* of the first keyframe, as its codec has it; 0: not known */
};

/* Drops the first `count` packets. */
static void keep_drop(struct keep *keep, int count) {
    for (int i = 0; i < count; i++) {
        av.packet_free(&keep->packets[i]);
    }
    keep->count -= count;
    keep->first += count;
    if (keep->count > 0) {
        memmove(keep->packets, keep->packets + count, (size_t)keep->count * sizeof *keep->packets);
    }
}

static void scan_release(struct scan *scan) {
    keep_drop(&scan->head, scan->head.count);
    keep_drop(&scan->tail, scan->tail.count);
    free(scan->head.packets);
    free(scan->tail.packets);
    free(scan->times);
    video_file_close(&scan->file);
}

static void keep_add(struct keep *keep, const AVPacket *packet, int32_t number) {
    if (keep->count == 0) {
        keep->first = number;
    }
    AVPacket *copy = av.packet_clone(packet);
    copy->pts = number;
    copy->dts = AV_NOPTS_VALUE;
    keep->packets[keep->count++] = copy;
}

/* ---- decoding a few, or all ----------------------------------------------------------------- */

/* Receives all frames that are ready and passes their numbers to seen(). -1: one of them could not
 * be decoded, or only in part. */
static int receive_all(AVCodecContext *decoder, AVFrame *frame,
                       void (*seen)(void *context, int64_t number), void *context) {
    int verdict = 0;
    for (;;) {
        int result = avcodec.receive_frame(decoder, frame);
        if (result == AVERROR(EAGAIN) || result == AVERROR_EOF) {
            return verdict;
        }
        if (result >= 0) {
            verdict = frame->decode_error_flags ? -1 : verdict;
            seen(context, frame->pts);
        } else {
            verdict = -1; /* it is not delivered, but the next one may be */
        }
    }
}

struct delivered {
    bool *flags;
    int32_t first;
    int count;
};

static void mark_delivered(void *context, int64_t number) {
    struct delivered *delivered = context;
    int64_t at = number - delivered->first;
    if (at >= 0 && at < delivered->count) {
        delivered->flags[at] = true;
    }
}

/* Opens a decoder that only determines which frames exist; their pixels do not matter. */
static int open_counter(const struct scan *scan, AVCodecContext **ret_decoder, struct error *err) {
    if (video_file_decoder(&scan->file, video_threads(), NULL, ret_decoder, err) < 0) {
        return -1;
    }
    (*ret_decoder)->skip_loop_filter = AVDISCARD_ALL;
    (*ret_decoder)->skip_idct = AVDISCARD_ALL;
    return 0;
}

/* Determines which of the kept packets give a frame when decoding starts at the first. */
static int try_decode(struct scan *scan, const struct keep *keep, bool *flags, struct error *err) {
    AVCodecContext *decoder = NULL;
    if (open_counter(scan, &decoder, err) < 0) {
        return -1;
    }
    AVFrame *frame = av.frame_alloc();
    struct delivered delivered = {flags, keep->first, keep->count};
    for (int i = 0; i < keep->count; i++) {
        int sent;
        while ((sent = avcodec.send_packet(decoder, keep->packets[i])) == AVERROR(EAGAIN)) {
            scan->has_errors |= receive_all(decoder, frame, mark_delivered, &delivered) < 0;
        }
        scan->has_errors |= sent < 0;
        scan->has_errors |= receive_all(decoder, frame, mark_delivered, &delivered) < 0;
    }
    (void)avcodec.send_packet(decoder, NULL);
    scan->has_errors |= receive_all(decoder, frame, mark_delivered, &delivered) < 0;
    av.frame_free(&frame);
    avcodec.free_context(&decoder);
    return 0;
}

static void append_frame(void *context, int64_t number) {
    struct scan *scan = context;
    struct video_index *index = scan->index;
    if (number < 0 || number >= scan->packet_count || index->frame_count >= scan->room) {
        return;
    }
    index->frames[index->frame_count++] =
        (struct video_frame){.pts = scan->times[number], .packet = (int32_t)number};
}

/* A small step back is not a section, but moves the section that it is in. */
static void add_section(struct video_index *index, int64_t shift, bool is_section) {
    if (is_section) {
        index->sections = x_realloc_array(index->sections, (size_t)index->section_count + 1,
                                          sizeof *index->sections);
        index->sections[index->section_count++] = shift;
    }
}

/* Repairs the timestamps of frames in their delivered order: a missing one follows the one before
 * (the first ones lead up to the first known one); one that goes backwards starts a new section. */
static void mend_times(struct scan *scan) {
    struct video_index *index = scan->index;
    int64_t step = MAX(scan->last_duration, 1), shift = 0, known = 0, last;
    int64_t back =
        av.rescale_q(VIDEO_SECTION_MS, (AVRational){1, 1000}, scan->file.stream->time_base);
    while (known < index->frame_count && index->frames[known].pts == VIDEO_NO_TIME) {
        known++;
    }
    last = known < index->frame_count ? index->frames[known].pts - (known + 1) * step : -step;
    for (int64_t i = 0; i < index->frame_count; i++) {
        int64_t pts = index->frames[i].pts;
        if (pts == VIDEO_NO_TIME) {
            pts = last + step;
        } else {
            if (pts + shift <= last) {
                bool is_section = last - pts - shift > back;
                shift = last + step - pts;
                add_section(index, shift, is_section);
            }
            pts += shift;
        }
        index->frames[i].pts = last = pts;
    }
}

/* Decodes everything and keeps the numbers of the delivered frames; slow. */
static int decode_all(struct scan *scan, const char *spec_path, struct error *err) {
    video_file_close(&scan->file);
    AVCodecContext *decoder = NULL;
    if (video_file_open(&scan->file, spec_path, scan->origin, err) < 0 ||
        open_counter(scan, &decoder, err) < 0) {
        return -1;
    }
    scan->index->frame_count = 0;
    AVPacket *packet = av.packet_alloc();
    AVFrame *frame = av.frame_alloc();
    int64_t refused = 0;
    int result;
    for (int32_t number = 0; (result = video_file_next(&scan->file, packet, err)) > 0; number++) {
        packet->pts = number;
        packet->dts = AV_NOPTS_VALUE;
        int sent;
        while ((sent = avcodec.send_packet(decoder, packet)) == AVERROR(EAGAIN)) {
            refused += receive_all(decoder, frame, append_frame, scan) < 0;
        }
        refused += sent < 0;
        refused += receive_all(decoder, frame, append_frame, scan) < 0;
    }
    if (result == 0) {
        (void)avcodec.send_packet(decoder, NULL);
        refused += receive_all(decoder, frame, append_frame, scan) < 0;
        if (refused > 0) {
            snprintf(scan->index->damage, sizeof scan->index->damage,
                     "%lld packets cannot be decoded whole", (long long)refused);
        }
        mend_times(scan);
        scan->index->was_decoded = true;
    }
    av.frame_free(&frame);
    av.packet_free(&packet);
    avcodec.free_context(&decoder);
    return result;
}

/* ---- scanning packets ----------------------------------------------------------------------- */

/* True if each packet is one frame. For other codecs only a decoder knows. */
static bool is_one_to_one(const struct video_file *file) {
    const AVCodecParameters *codec = file->stream->codecpar;
    switch (codec->codec_id) {
    case AV_CODEC_ID_H264:
        /* A transport stream may have the two fields of a picture in two packets. */
        return file->is_complete || codec->field_order == AV_FIELD_UNKNOWN ||
               codec->field_order == AV_FIELD_PROGRESSIVE;
    case AV_CODEC_ID_HEVC:
    case AV_CODEC_ID_AV1:
    case AV_CODEC_ID_VP8:
    case AV_CODEC_ID_VP9:
    case AV_CODEC_ID_THEORA:
    case AV_CODEC_ID_MPEG1VIDEO:
    case AV_CODEC_ID_MPEG2VIDEO:
    case AV_CODEC_ID_MJPEG:
    case AV_CODEC_ID_PRORES:
    case AV_CODEC_ID_DNXHD:
    case AV_CODEC_ID_FFV1:
    case AV_CODEC_ID_RAWVIDEO:
        return true;
    default:
        return false;
    }
}

/* VP8 has packets that only update a reference and are never shown. */
static bool is_shown(const struct scan *scan, const AVPacket *packet) {
    if (packet->flags & AV_PKT_FLAG_DISCARD) {
        return false;
    }
    return scan->file.stream->codecpar->codec_id != AV_CODEC_ID_VP8 || (packet->data[0] & 0x10);
}

static void scan_keep(struct scan *scan, const AVPacket *packet, bool is_key) {
    int32_t number = scan->packet_count, keys = (int32_t)scan->index->key_count;
    if (!scan->is_head_done) {
        int32_t key = keys ? scan->index->keys[0].packet : number;
        bool is_next_group = is_key && keys > 1 && number > key + 1;
        scan->is_head_done =
            is_next_group || number > key + HEAD_AFTER_KEY || scan->head.count == HEAD_MAX;
        if (!scan->is_head_done) {
            keep_add(&scan->head, packet, number);
        }
    }
    if (scan->file.is_complete) {
        return; /* the last packet is complete */
    }
    if (is_key) {
        keep_drop(&scan->tail, scan->tail_key);
        scan->tail_key = scan->tail.count;
    }
    if (scan->tail.count == TAIL_MAX) {
        scan->is_odd = true;
    } else if (keys) {
        keep_add(&scan->tail, packet, number);
    }
}

/* Only keyframes may begin another size, and what is not one may be damaged. */
static void see_size(struct scan *scan) {
    struct video_index *index = scan->index;
    const AVCodecParserContext *parser = av.stream_get_parser(scan->file.stream);
    if (!parser || parser->width <= 0 || parser->height <= 0) {
        return;
    }
    if (!scan->width) {
        scan->width = parser->width;
        scan->height = parser->height;
    } else if (parser->width != scan->width || parser->height != scan->height) {
        bool is_turned = scan->file.turns & 1;
        index->other_width = is_turned ? parser->height : parser->width;
        index->other_height = is_turned ? parser->width : parser->height;
    }
}

/* An error in the middle ends the film for us, and what follows is not known. */
static void note_end(struct scan *scan) {
    struct video_index *index = scan->index;
    char text[AV_ERROR_MAX_STRING_SIZE] = "";
    if (scan->file.ended == AVERROR_EOF || *index->damage) {
        return;
    }
    av.strerror(scan->file.ended, text, sizeof text);
    snprintf(index->damage, sizeof index->damage, "it cannot be read to its end: %s", text);
}

/* Joined transport streams and program streams whose sound begins late may have them. The
 * film is made without: its container's tracks are chosen by the file's beginning. */
static void count_late(struct scan *scan) {
    const AVFormatContext *format = scan->file.format;
    for (unsigned i = scan->stream_count; i < format->nb_streams; i++) {
        enum AVMediaType type = format->streams[i]->codecpar->codec_type;
        scan->index->late_sounds += type == AVMEDIA_TYPE_AUDIO;
        /* Tables of a broadcast (its programme guide) are data, and begin whenever they come. */
        scan->index->late_others += type == AVMEDIA_TYPE_VIDEO || type == AVMEDIA_TYPE_SUBTITLE;
    }
}

static int scan_packet(struct scan *scan, const AVPacket *packet, struct error *err) {
    struct video_index *index = scan->index;
    if (scan->packet_count == VIDEO_FRAMES_MAX) {
        return error_set(err, ERROR_INVALID, "has more than %d frames", VIDEO_FRAMES_MAX);
    }
    if (scan->packet_count == scan->room) {
        scan->room = scan->room ? scan->room * 2 : 1024;
        scan->times = x_realloc_array(scan->times, (size_t)scan->room, sizeof *scan->times);
        index->frames = x_realloc_array(index->frames, (size_t)scan->room, sizeof *index->frames);
    }
    bool is_key = packet->flags & AV_PKT_FLAG_KEY;
    index->has_captions =
        index->has_captions || captions_found(packet->data, (size_t)MAX(packet->size, 0));
    if (is_key) {
        see_size(scan);
        if (index->key_count == scan->key_room) {
            scan->key_room = scan->key_room ? scan->key_room * 2 : 64;
            index->keys = x_realloc_array(index->keys, (size_t)scan->key_room, sizeof *index->keys);
        }
        index->keys[index->key_count++] =
            (struct video_key){scan->packet_count, packet->pts, packet->dts,
                               packet->pos < 0 ? VIDEO_UNKNOWN : packet->pos};
    }
    scan_keep(scan, packet, is_key);
    if (packet->dts != AV_NOPTS_VALUE) {
        scan->is_jumping |= scan->last_dts != AV_NOPTS_VALUE && packet->dts < scan->last_dts;
        scan->last_dts = packet->dts;
    }
    scan->damaged += (packet->flags & AV_PKT_FLAG_CORRUPT) != 0;
    scan->is_odd |= packet->pts == AV_NOPTS_VALUE || scan->damaged;
    scan->last_duration = packet->duration > 0 ? packet->duration : scan->last_duration;
    scan->times[scan->packet_count] = packet->pts;
    if (is_shown(scan, packet)) {
        index->frames[index->frame_count++] =
            (struct video_frame){.pts = packet->pts, .packet = scan->packet_count};
    }
    scan->packet_count++;
    return 0;
}

static int by_time(const void *a, const void *b) {
    const struct video_frame *one = a, *other = b;
    return one->pts != other->pts ? (one->pts < other->pts ? -1 : 1)
                                  : (one->packet > other->packet) - (one->packet < other->packet);
}

static bool is_listed_anyway(const struct scan *scan) {
    return scan->file.is_complete && scan->has_errors && is_one_to_one(&scan->file);
}

/* Removes the frames from the index that the decoder did not deliver. Sets is_odd if they are not
 * before the first delivered one (head) or after the last one (tail). */
static int drop_undelivered(struct scan *scan, const struct keep *keep, bool is_head,
                            struct error *err) {
    struct video_index *index = scan->index;
    if (keep->count == 0 || scan->is_odd) {
        return 0;
    }
    bool *flags = x_calloc((size_t)keep->count, sizeof *flags);
    if (try_decode(scan, keep, flags, err) < 0) {
        free(flags);
        return -1;
    }
    int64_t key_time = scan->times[keep->first], wanted = 0;
    int64_t edge = is_head ? INT64_MAX : INT64_MIN;
    for (int i = 0; i < keep->count; i++) {
        int64_t pts = scan->times[keep->first + i];
        if (flags[i]) {
            edge = is_head ? MIN(edge, pts) : MAX(edge, pts);
        }
    }
    for (int64_t i = 0; i < index->frame_count; i++) {
        struct video_frame frame = index->frames[i];
        int32_t at = frame.packet - keep->first;
        bool is_kept = at >= 0 && at < keep->count;
        /* Frames shown before the tail's keyframe need the group before, so they are not judged
         * here. */
        bool is_gone = is_kept && !flags[at] && (is_head || frame.pts >= key_time);
        /* With packets that are frames, one that gives none is a frame that cannot be decoded:
         * it is listed, and fails. */
        if (is_gone && is_listed_anyway(scan) && (is_head ? frame.pts > edge : frame.pts < edge)) {
            is_gone = false;
        }
        scan->is_odd |= is_gone && (is_head ? frame.pts > edge : frame.pts < edge);
        if (!is_gone) {
            index->frames[wanted++] = frame;
        }
    }
    index->frame_count = wanted;
    free(flags);
    return 0;
}

/* The last keyframe that comes before the frame both in the file and on the screen: frames that
 * follow a keyframe in the file but are shown before it need the group before. */
static void find_keys(struct video_index *index, bool is_jumping) {
    for (int64_t i = 0; i < index->frame_count; i++) {
        struct video_frame *frame = &index->frames[i];
        int64_t low = 0, high = index->key_count;
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if (index->keys[middle].packet <= frame->packet) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        int64_t key = is_jumping ? -1 : low - 1;
        while (key >= 0 &&
               (index->keys[key].pts == VIDEO_NO_TIME || index->keys[key].pts > frame->pts)) {
            key--;
        }
        frame->key = (int32_t)key;
    }
}

static struct fraction fraction(AVRational value, AVRational fallback) {
    value = value.num > 0 && value.den > 0 ? value : fallback;
    return (struct fraction){value.num, value.den};
}

static void describe(struct scan *scan) {
    struct video_index *index = scan->index;
    AVStream *stream = scan->file.stream;
    bool is_turned = scan->file.turns & 1;
    index->size_bytes = scan->file.size_bytes;
    video_source_core(scan->file.source, index->core);
    index->width = is_turned ? stream->codecpar->height : stream->codecpar->width;
    index->height = is_turned ? stream->codecpar->width : stream->codecpar->height;
    index->time_base = fraction(stream->time_base, (AVRational){1, 1000});
    AVRational rate = stream->avg_frame_rate.num ? stream->avg_frame_rate : stream->r_frame_rate;
    index->frame_rate = fraction(rate, (AVRational){25, 1});
    AVRational aspect = av.guess_sample_aspect_ratio(scan->file.format, stream, NULL);
    aspect = is_turned ? (AVRational){aspect.den, aspect.num} : aspect;
    index->sample_aspect = fraction(aspect, (AVRational){1, 1});
    if (scan->last_duration <= 0) {
        scan->last_duration = av.rescale_q(
            1, (AVRational){index->frame_rate.den, index->frame_rate.num}, stream->time_base);
    }
    index->last_duration = MAX(scan->last_duration, 1);
}

static int refuse_truncated(const struct scan *scan, const char *spec_path, struct error *err) {
    long long readable = scan->index->frame_count - scan->damaged;
    long long declared = scan->file.stream->nb_frames;
    return declared > readable
               ? error_set(err, ERROR_INVALID,
                           "%s: is truncated: only %lld of its %lld frames can be read", spec_path,
                           readable, declared)
               : error_set(err, ERROR_INVALID,
                           "%s: is truncated: only its first %lld frames can be read", spec_path,
                           readable);
}

static int scan_file(struct scan *scan, const char *spec_path, struct error *err) {
    struct video_index *index = scan->index;
    AVPacket *packet = av.packet_alloc();
    int result;
    video_log_clear();
    while ((result = video_file_next(&scan->file, packet, err)) > 0) {
        if (scan_packet(scan, packet, err) < 0) {
            result = -1;
            break;
        }
    }
    av.packet_free(&packet);
    if (result < 0) {
        return error_context(err, "%s", spec_path);
    }
    snprintf(index->damage, sizeof index->damage, "%s", video_log_text());
    note_end(scan);
    count_late(scan);
    index->cut = stream_end_find(scan->file.source, scan->file.format->iformat->name);
    if (scan->file.is_cut) {
        return refuse_truncated(scan, spec_path, err);
    }
    describe(scan);
    if (index->frame_count > 0) {
        qsort(index->frames, (size_t)index->frame_count, sizeof *index->frames, by_time);
    }
    for (int64_t i = 1; i < index->frame_count; i++) {
        scan->is_odd |= index->frames[i].pts <= index->frames[i - 1].pts;
    }
    scan->is_odd |= scan->is_jumping || index->key_count == 0 || !is_one_to_one(&scan->file);
    if (drop_undelivered(scan, &scan->head, true, err) < 0 ||
        drop_undelivered(scan, &scan->tail, false, err) < 0) {
        return error_context(err, "%s", spec_path);
    }
    if (scan->is_odd && decode_all(scan, spec_path, err) < 0) {
        return -1;
    }
    if (index->frame_count == 0) {
        return error_set(err, ERROR_INVALID, "%s: no frame of the video can be decoded", spec_path);
    }
    find_keys(index, scan->is_jumping);
    return 0;
}

int video_index_build(struct video_index *index, const char *spec_path,
                      const struct video_origin *origin, struct error *err) {
    *index = (struct video_index){0};
    AUTO(scan_release)
    struct scan scan = {.index = index, .origin = origin, .last_dts = AV_NOPTS_VALUE};
    if (video_file_open(&scan.file, spec_path, origin, err) < 0) {
        return -1;
    }
    scan.stream_count = scan.file.format->nb_streams;
    scan.head.packets = x_calloc(HEAD_MAX, sizeof(AVPacket *));
    scan.tail.packets = x_calloc(TAIL_MAX, sizeof(AVPacket *));
    if (scan_file(&scan, spec_path, err) < 0) {
        video_index_release(index);
        return -1;
    }
    return 0;
}

void video_index_release(struct video_index *index) {
    free(index->frames);
    free(index->keys);
    free(index->sections);
    *index = (struct video_index){0};
}
