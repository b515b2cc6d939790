// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/video_read.h"

#include "agent/data/image/hardware.h"
#include "agent/data/video/video_color.h"
#include "agent/data/video/video_file.h"
#include "agent/data/video/video_hardware.h"
#include "agent/data/video/video_lease.h"
#include "agent/data/video/video_libav.h"
#include "lib/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOST_AFTER = 64,        /* packets beyond the lease after which a frame counts as lost */
    SYNC_PACKETS_MAX = 4096 /* packets to search for a keyframe after a seek */
};

struct video_reader {
    char *spec_path;
    struct video_origin origin; /* read NULL: none */
    struct video_file file;
    AVCodecContext *decoder;
    AVBufferRef *hardware; /* NULL: the processor decodes */
    AVPacket *packet;
    AVPacket *first; /* the file's first packet; see prime_decoder */
    AVFrame *frame;
    struct SwsContext *scaler;
    struct video_lease lease;
    int64_t done;        /* frames of the lease that were returned */
    int64_t last_pts;    /* of the last frame that this decoder delivered; VIDEO_NO_TIME: none */
    int32_t next_packet; /* number of the demuxer's next packet */
    int32_t skipped_end; /* packets below this number may have been skipped */
    bool has_packet;     /* `packet` holds that one already */
    bool has_failed;     /* a frame of this lease has failed */
    bool is_broken;      /* the awaited frame came, but the decoder had to guess parts of it */
    bool has_frame;      /* `frame` holds a frame that comes after the awaited one */
    bool is_drained;     /* the end was sent to the decoder */
    /* Numbers of packets, -1: none. Frames from the first broken one on up to the next keyframe may
     * repeat what is broken in it. */
    int32_t broken, mended, last_key;
    int attempts; /* starting points tried for this lease */
    char name[32];
    char cause[512];
};

/* ---- where to start ------------------------------------------------------------------------- */

static int start_decoder(struct video_reader *reader, struct error *err) {
    avcodec.free_context(&reader->decoder);
    reader->is_drained = false;
    reader->has_frame = false;
    reader->broken = reader->mended = reader->last_key = -1;
    reader->last_pts = VIDEO_NO_TIME;
    reader->skipped_end = 0;
    return video_file_decoder(&reader->file, video_threads(), reader->hardware, &reader->decoder,
                              err);
}

/* Some files have parameter sets in the stream, only with the first packet, that differ from the
 * container's: a decoder that starts at a later keyframe without them gives wrong pictures. A flush
 * drops pictures, but not parameter sets. */
static void prime_decoder(struct video_reader *reader) {
    if (avcodec.send_packet(reader->decoder, reader->first) >= 0) {
        (void)avcodec.send_packet(reader->decoder, NULL);
        while (avcodec.receive_frame(reader->decoder, reader->frame) >= 0) {
            av.frame_unref(reader->frame);
        }
    }
    avcodec.flush_buffers(reader->decoder);
}

/* Opens the file and holds its first packet, number 0. */
static int open_file(struct video_reader *reader, struct error *err) {
    reader->has_packet = false;
    reader->next_packet = 0;
    video_file_close(&reader->file);
    av.packet_unref(reader->first);
    if (video_file_open(&reader->file, reader->spec_path,
                        reader->origin.read ? &reader->origin : NULL, err) < 0) {
        return -1;
    }
    int result = video_file_next(&reader->file, reader->packet, err);
    if (result > 0 && av.packet_ref(reader->first, reader->packet) < 0) {
        return error_set(err, ERROR_EXHAUSTED, "%s: no memory for a packet", reader->spec_path);
    }
    reader->has_packet = result > 0;
    return MIN(result, 0);
}

/* Reads up to the key's packet. 1: found; 0: not found; -1: failed. */
static int find_packet(struct video_reader *reader, const struct video_key *key,
                       struct error *err) {
    for (int i = 0; i < SYNC_PACKETS_MAX; i++) {
        int result = video_file_next(&reader->file, reader->packet, err);
        if (result <= 0) {
            return result;
        }
        const AVPacket *packet = reader->packet;
        bool is_it = key->pts != VIDEO_NO_TIME
                         ? packet->pts == key->pts
                         : packet->pos == key->position && packet->pos != VIDEO_UNKNOWN;
        if (is_it && (packet->flags & AV_PKT_FLAG_KEY)) {
            reader->next_packet = key->packet;
            reader->has_packet = true;
            return 1;
        }
        if (packet->dts != AV_NOPTS_VALUE && key->dts != VIDEO_NO_TIME && packet->dts > key->dts) {
            return 0;
        }
    }
    return 0;
}

/* A seek only saves time: if it does not reach the keyframe, the file is read from its start, where
 * packet numbers are certain. */
static int start_at(struct video_reader *reader, const struct video_key *key, struct error *err) {
    bool is_at_start = reader->next_packet == 0 && reader->has_packet;
    bool is_later = key && key->packet > 0;
    if (!is_at_start || is_later) {
        int64_t time = !key ? VIDEO_NO_TIME : key->dts != VIDEO_NO_TIME ? key->dts : key->pts;
        int found = 0;
        if (time != VIDEO_NO_TIME && av.seek_frame(reader->file.format, reader->file.stream->index,
                                                   time, AVSEEK_FLAG_BACKWARD) >= 0) {
            found = find_packet(reader, key, err);
        }
        if (found < 0 || (!found && open_file(reader, err) < 0)) {
            return -1;
        }
    }
    if (start_decoder(reader, err) < 0) {
        return -1;
    }
    if (reader->next_packet > 0) {
        prime_decoder(reader);
    }
    return 0;
}

/* The next starting point for this lease: its keys, then the file's start. 0 when all were tried.
 */
static int start_again(struct video_reader *reader, struct error *err) {
    int attempt = reader->attempts++;
    if (attempt > reader->lease.key_count) {
        return 0;
    }
    const struct video_key *key =
        attempt < reader->lease.key_count ? &reader->lease.keys[attempt] : NULL;
    return start_at(reader, key, err) < 0 ? -1 : 1;
}

/* Whether the decoder can continue from the lease before and reach this lease's frames without
 * decoding more than a start at the lease's keyframe would. */
static bool can_go_on(const struct video_reader *reader) {
    const struct video_lease *lease = &reader->lease;
    int32_t start = lease->key_count ? lease->keys[0].packet : 0;
    return reader->decoder && !reader->is_drained && !reader->has_failed &&
           reader->last_pts != VIDEO_NO_TIME && lease->pts[0] > reader->last_pts &&
           reader->next_packet >= start && lease->packet_min >= reader->skipped_end;
}

/* Logged once per reader, which is kept between leases. */
static void open_hardware(struct video_reader *reader) {
    struct error err = {0};
    if (!hardware_is_wanted()) {
        return;
    }
    if (video_hardware_open(&reader->hardware, &err) < 0) {
        log_event(LOG_WARNING, "%s; decoding on the CPU", err.text);
    } else {
        log_event(LOG_INFO, "decoding %s on the GPU, if it supports the codec", reader->spec_path);
    }
}

/* The lease is decoded again from its start, by the processor. */
static int leave_hardware(struct video_reader *reader, const char *why, struct error *err) {
    log_event(LOG_WARNING, "%s: the GPU's decoder failed (%s); decoding on the CPU from now on",
              reader->spec_path, why);
    av.buffer_unref(&reader->hardware);
    reader->attempts = 0;
    return start_again(reader, err);
}

static struct video_reader *reader_new(const char *spec_path, const struct video_origin *origin) {
    struct video_reader *reader = x_calloc(1, sizeof *reader);
    reader->spec_path = x_strdup(spec_path);
    reader->origin = origin ? *origin : (struct video_origin){0};
    reader->packet = av.packet_alloc();
    reader->first = av.packet_alloc();
    reader->frame = av.frame_alloc();
    open_hardware(reader);
    return reader;
}

static int check_listed(const struct video_reader *reader, struct error *err) {
    return video_file_is_listed(&reader->file, reader->lease.size_bytes, reader->lease.core)
               ? 0
               : error_set(err, ERROR_CONFLICT, "%s: has changed since it was listed",
                           reader->spec_path);
}

static int begin_lease(struct video_reader *reader, const json_t *work, struct error *err) {
    video_lease_release(&reader->lease);
    if (video_lease_decode(&reader->lease, work, err) < 0 ||
        (!reader->file.stream && open_file(reader, err) < 0)) {
        return -1;
    }
    if (check_listed(reader, err) < 0) {
        return -1;
    }
    reader->done = 0;
    reader->attempts = 0;
    bool goes_on = can_go_on(reader);
    reader->has_failed = false;
    return goes_on ? 0 : MIN(start_again(reader, err), 0);
}

int video_read_open(const char *spec_path, const struct video_origin *origin, const json_t *work,
                    struct video_reader **reader, struct error *err) {
    if (video_libav_open(err) < 0) {
        return error_context(err, "%s", spec_path);
    }
    struct video_reader *it = TAKE(*reader);
    if (!it || strcmp(it->spec_path, spec_path) != 0) {
        video_read_free(it);
        it = reader_new(spec_path, origin);
    }
    if (begin_lease(it, work, err) < 0) {
        video_read_free(it);
        return -1;
    }
    *reader = it;
    return 0;
}

void video_read_skip(struct video_reader *reader, int64_t done) {
    reader->done = MIN(MAX(done, reader->done), reader->lease.count);
}

/* ---- decoding ------------------------------------------------------------------------------- */

/* Frames up to the next keyframe are built from this one. */
static void note_broken(struct video_reader *reader, int64_t number) {
    bool is_known = reader->broken >= 0 && number >= reader->broken &&
                    (reader->mended < 0 || number < reader->mended);
    if (!is_known) {
        reader->broken = (int32_t)number;
        reader->mended = reader->last_key > number ? reader->last_key : -1;
    }
}

static bool is_tainted(const struct video_reader *reader, int64_t number) {
    return reader->broken >= 0 && number >= reader->broken &&
           (reader->mended < 0 || number < reader->mended);
}

/* Feeds the decoder one packet, or the end. */
static int feed(struct video_reader *reader, struct error *err) {
    if (!reader->has_packet) {
        int result = video_file_next(&reader->file, reader->packet, err);
        if (result < 0) {
            return -1;
        }
        if (result == 0) {
            reader->is_drained = true;
            (void)avcodec.send_packet(reader->decoder, NULL);
            return 0;
        }
    }
    /* The packet's number replaces the timestamp, so that delivered frames can be identified. */
    int32_t number = reader->next_packet;
    reader->packet->pts = number;
    reader->packet->dts = AV_NOPTS_VALUE;
    bool is_before = number < reader->lease.packet_min;
    reader->decoder->skip_frame = is_before ? AVDISCARD_NONREF : AVDISCARD_DEFAULT;
    if (is_before) {
        reader->skipped_end = number + 1;
    }
    if (reader->packet->flags & AV_PKT_FLAG_KEY) {
        reader->last_key = number;
        reader->mended = reader->mended < 0 && number > reader->broken ? number : reader->mended;
    }
    int result = avcodec.send_packet(reader->decoder, reader->packet);
    reader->has_packet = result == AVERROR(EAGAIN);
    /* The demuxer's own mark (AV_PKT_FLAG_CORRUPT) is not asked: it marks whole packets, too, where
     * transport streams were joined. */
    if (result < 0 && !reader->has_packet && result != AVERROR_EOF) {
        note_broken(reader, number);
    }
    if (!reader->has_packet) {
        reader->next_packet++; /* a packet that cannot be decoded appears as a missing frame */
    }
    return 0;
}

/* Whether the frame numbered `number`, which is not the awaited one, shows that the awaited one
 * will not come. */
static bool is_lost(const struct video_reader *reader, int64_t number) {
    const struct video_lease *lease = &reader->lease;
    for (int64_t i = reader->done + 1; i < lease->count; i++) {
        if (lease->packets[i] == number) {
            return true;
        }
    }
    return number > (int64_t)lease->packet_max + LOST_AFTER;
}

/* Whether the decoder had to guess parts of the picture. */
static bool is_damaged(const AVFrame *frame) {
    return frame->decode_error_flags != 0 || (frame->flags & AV_FRAME_FLAG_CORRUPT);
}

/* Frames that nothing is built from spoil only themselves. */
static bool is_leaf(const AVFrame *frame) {
    return frame->pict_type == AV_PICTURE_TYPE_B;
}

/* Whether the decoder gave the frame in reader->frame without having to guess. */
static bool is_whole(struct video_reader *reader) {
    int64_t number = reader->frame->pts;
    if (!is_damaged(reader->frame)) {
        return !is_tainted(reader, number);
    }
    if (!is_leaf(reader->frame)) {
        note_broken(reader, number);
    }
    return false;
}

/* Decodes up to the awaited frame. 1: it is in reader->frame; 0: it cannot be reached from this
 * start, or is broken; -1. */
static int decode_to_frame(struct video_reader *reader, struct error *err) {
    reader->is_broken = false;
    for (;;) {
        int result = reader->has_frame ? 0 : avcodec.receive_frame(reader->decoder, reader->frame);
        bool is_it = result >= 0 && reader->frame->pts == reader->lease.packets[reader->done];
        reader->has_frame = false;
        if (result == AVERROR(EAGAIN)) {
            if (feed(reader, err) < 0) {
                return -1;
            }
        } else if (result == AVERROR_EOF) {
            return 0;
        } else if (is_it) {
            reader->is_broken = !is_whole(reader);
            return !reader->is_broken;
        } else if (result >= 0 && is_lost(reader, reader->frame->pts)) {
            reader->has_frame = true;
            return 0;
        } else if (result >= 0) {
            (void)is_whole(reader); /* a frame before the lease may spoil those of it */
        }
    }
}

/* Like decode_to_frame, with the frame in main memory. */
static int decode_next(struct video_reader *reader, struct error *err) {
    struct error cause = {0};
    int result = decode_to_frame(reader, err);
    if (result > 0 && video_hardware_fetch(reader->frame, &cause) < 0) {
        result = leave_hardware(reader, cause.text, err);
        return result < 0 ? -1 : decode_to_frame(reader, err);
    }
    return result;
}

/* The next lease starts afresh, since this decoder may have passed its frames. */
static int fail_frame(struct video_reader *reader, int64_t frame, const char **ret_name) {
    snprintf(reader->cause, sizeof reader->cause, "%.400s: frame %lld cannot be decoded whole",
             reader->spec_path, (long long)frame);
    reader->done++;
    reader->has_failed = true;
    *ret_name = reader->cause;
    return READER_FAULT;
}

int video_read_next(struct video_reader *reader, struct picture *picture, const char **ret_name,
                    struct error *err) {
    const struct video_lease *lease = &reader->lease;
    if (reader->done == lease->count) {
        return check_listed(reader, err); /* what was read before was as listed, too */
    }
    int64_t frame = lease->first + reader->done;
    int result;
    while ((result = decode_next(reader, err)) == 0) {
        /* A broken frame may be the keyframe's fault, for which another one is tried, but hardly
         * that of all: the file's start is only for frames that do not come. */
        bool is_last = reader->is_broken && reader->attempts >= lease->key_count;
        int again = is_last ? 0 : start_again(reader, err);
        if (again == 0 && reader->hardware) {
            again = leave_hardware(reader, "a frame is missing", err);
        }
        if (again < 0) {
            return -1;
        }
        if (again == 0) {
            if (!reader->is_broken) {
                note_broken(reader, lease->packets[reader->done]);
            }
            return fail_frame(reader, frame, ret_name);
        }
    }
    if (result < 0) {
        return error_context(err, "%s: frame %lld", reader->spec_path, (long long)frame);
    }
    bool is_turned = reader->file.turns & 1;
    picture_init(picture, is_turned ? lease->height : lease->width,
                 is_turned ? lease->width : lease->height);
    if (video_color_to_picture(&reader->scaler, reader->frame, picture, err) < 0) {
        picture_release(picture);
        return error_context(err, "%s: frame %lld", reader->spec_path, (long long)frame);
    }
    av.frame_unref(reader->frame);
    static const int orientations[] = {1, 6, 3, 8}; /* by quarter turns clockwise */
    picture_orient(picture, orientations[reader->file.turns]);
    snprintf(reader->name, sizeof reader->name, "frame %lld", (long long)frame);
    *ret_name = reader->name;
    reader->last_pts = lease->pts[reader->done++];
    return 1;
}

void video_read_free(struct video_reader *reader) {
    if (!reader) {
        return;
    }
    video_lease_release(&reader->lease);
    sws.freeContext(reader->scaler);
    av.frame_free(&reader->frame);
    av.packet_free(&reader->packet);
    av.packet_free(&reader->first);
    avcodec.free_context(&reader->decoder);
    av.buffer_unref(&reader->hardware);
    video_file_close(&reader->file);
    free(reader->spec_path);
    free(reader);
}
