// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/video_listing.h"

#include "agent/data/input/media.h"
#include "agent/data/video/video_tracks.h"
#include "lib/text/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { MAGIC = 0x57494458 };
/* Times are within it, so that sums and differences of a few do not overflow. */
#define TIME_MAX (INT64_MAX / 8)

/* Before the frames, keys and sections. */
struct head {
    int64_t magic, frame_count, key_count, section_count, last_duration;
    struct fraction time_base, frame_rate, sample_aspect;
    int32_t width, height;
    int32_t was_decoded;
    char damage[160];
};

void video_listing_release(struct video_listing *listing) {
    video_index_release(&listing->index);
    tree_freep(&listing->lost);
}

/* ---- building ------------------------------------------------------------------------------- */

static void lose_damaged(struct video_listing *listing) {
    if (*listing->index.damage) {
        AUTO(text_freep)
        char *why = x_printf("the file is damaged, so that frames may be missing from it: %s",
                             listing->index.damage);
        utf8_make_line(why); /* libav quotes the file */
        json_array_append_new(listing->lost,
                              json_pack("{s:s,s:s}", "what", "pictures", "why", why));
    }
}

static void lose_end(struct video_listing *listing) {
    if (listing->index.cut) {
        AUTO(text_freep)
        char *why = x_printf("the file was cut, or its recording broken off: it ends %s",
                             listing->index.cut);
        json_array_append_new(listing->lost, json_pack("{s:s,s:s}", "what", "end", "why", why));
    }
}

static void lose_late(struct video_listing *listing, int count, const char *what) {
    if (count > 0) {
        AUTO(text_freep) char *text = x_printf("%d late %s%s", count, what, count == 1 ? "" : "s");
        json_array_append_new(listing->lost,
                              json_pack("{s:s,s:s}", "what", text, "why",
                                        "left out: the file begins without, and tracks are chosen "
                                        "by its beginning"));
    }
}

static void lose_sizes(struct video_listing *listing) {
    const struct video_index *index = &listing->index;
    if (index->other_width > 0) {
        AUTO(text_freep)
        char *why = x_printf("some pictures are %dx%d, and are scored and shown in the size of the "
                             "first ones, %dx%d",
                             index->other_width, index->other_height, index->width, index->height);
        json_array_append_new(listing->lost,
                              json_pack("{s:s,s:s}", "what", "picture size", "why", why));
    }
}

/* Tries the film's container before anything is scored. */
static int plan_film(struct video_listing *listing, const char *spec_path,
                     const struct video_origin *origin, struct error *err) {
    AUTO(video_file_close) struct video_file file = {0};
    AUTO(video_tracks_release) struct video_tracks tracks = {0};
    if (video_file_open(&file, spec_path, origin, err) < 0 ||
        video_tracks_plan(&file, TRACKS_BEST, &tracks, err) < 0) {
        return -1;
    }
    json_array_extend(listing->lost, tracks.lost);
    if (listing->index.has_captions) {
        json_array_append_new(listing->lost,
                              json_pack("{s:s,s:s}", "what", "closed captions", "why",
                                        "left out: they are in the pictures, which are made anew"));
    }
    lose_late(listing, listing->index.late_sounds, "sound track");
    lose_late(listing, listing->index.late_others, "other track");
    return 0;
}

int video_listing_build(struct video_listing *listing, const char *spec_path,
                        const struct video_origin *origin, bool makes_film, struct error *err) {
    *listing = (struct video_listing){.lost = json_array()};
    if (video_index_build(&listing->index, spec_path, origin, err) < 0 ||
        (makes_film && plan_film(listing, spec_path, origin, err) < 0)) {
        video_listing_release(listing);
        return -1;
    }
    lose_damaged(listing);
    lose_end(listing);
    lose_sizes(listing);
    return 0;
}

/* ---- bytes ---------------------------------------------------------------------------------- */

int64_t video_listing_room(int64_t file_bytes) {
    int64_t frames = MIN(file_bytes, (int64_t)VIDEO_FRAMES_MAX); /* a packet has a byte at least */
    return (int64_t)sizeof(struct head) +
           frames *
               (int64_t)(sizeof(struct video_frame) + sizeof(struct video_key) + sizeof(int64_t));
}

int video_listing_pack(const struct video_index *index, struct buffer *to, struct error *err) {
    struct head head = {
        .magic = MAGIC,
        .frame_count = index->frame_count,
        .key_count = index->key_count,
        .section_count = index->section_count,
        .last_duration = index->last_duration,
        .time_base = index->time_base,
        .frame_rate = index->frame_rate,
        .sample_aspect = index->sample_aspect,
        .width = index->width,
        .height = index->height,
        .was_decoded = index->was_decoded,
    };
    memcpy(head.damage, index->damage, sizeof head.damage);
    return buffer_append(to, &head, sizeof head, err) < 0 ||
                   buffer_append(to, index->frames,
                                 (size_t)index->frame_count * sizeof *index->frames, err) < 0 ||
                   buffer_append(to, index->keys, (size_t)index->key_count * sizeof *index->keys,
                                 err) < 0 ||
                   buffer_append(to, index->sections,
                                 (size_t)index->section_count * sizeof *index->sections, err) < 0
               ? -1
               : 0;
}

static bool is_time(int64_t time) {
    return time >= -TIME_MAX && time <= TIME_MAX;
}

static bool is_time_or_none(int64_t time) {
    return time == VIDEO_NO_TIME || is_time(time);
}

static bool is_fraction(struct fraction value) {
    return value.num > 0 && value.den > 0;
}

static const char *check_head(const struct head *head) {
    if (head->magic != MAGIC) {
        return "wrong magic";
    }
    if (head->frame_count < 1 || head->frame_count > VIDEO_FRAMES_MAX || head->key_count < 0 ||
        head->key_count > VIDEO_FRAMES_MAX || head->section_count < 0 ||
        head->section_count > head->frame_count) {
        return "invalid counts";
    }
    if (head->width < 1 || head->height < 1 || head->width > MEDIA_SIDE_MAX ||
        head->height > MEDIA_SIDE_MAX || (int64_t)head->width * head->height > MEDIA_PIXELS_MAX) {
        return "invalid size of its pictures";
    }
    if (!is_fraction(head->time_base) || !is_fraction(head->frame_rate) ||
        !is_fraction(head->sample_aspect) || head->last_duration < 1 ||
        !is_time(head->last_duration)) {
        return "invalid units of time";
    }
    return memchr(head->damage, 0, sizeof head->damage) ? NULL : "its text has no end";
}

static const char *check_frames(const struct video_index *index) {
    for (int64_t i = 0; i < index->frame_count; i++) {
        const struct video_frame *frame = &index->frames[i];
        if (!is_time(frame->pts) || (i > 0 && frame->pts <= index->frames[i - 1].pts)) {
            return "its times do not increase";
        }
        if (frame->packet < 0 || frame->packet >= VIDEO_FRAMES_MAX || frame->key < -1 ||
            frame->key >= index->key_count) {
            return "a frame with an invalid packet";
        }
    }
    for (int64_t i = 0; i < index->key_count; i++) {
        const struct video_key *key = &index->keys[i];
        if (key->packet < 0 || key->packet >= VIDEO_FRAMES_MAX ||
            (i > 0 && key->packet <= index->keys[i - 1].packet) || !is_time_or_none(key->pts) ||
            !is_time_or_none(key->dts) || key->position < VIDEO_UNKNOWN) {
            return "a keyframe with an invalid packet";
        }
    }
    for (int64_t i = 0; i < index->section_count; i++) {
        if (!is_time(index->sections[i])) {
            return "a section with an invalid time";
        }
    }
    return NULL;
}

/* count > 0; moves *bytes on. */
static void *copy_array(const char **bytes, int64_t count, size_t item) {
    size_t size = (size_t)count * item;
    void *copy = x_malloc(MAX(size, (size_t)1));
    memcpy(copy, *bytes, size);
    *bytes += size;
    return copy;
}

int video_listing_unpack(struct video_index *index, const char *bytes, size_t size,
                         size_t *ret_used, struct error *err) {
    struct head head;
    *index = (struct video_index){0};
    if (size < sizeof head) {
        return error_set(err, ERROR_INVALID,
                         "invalid listing of the film from the decoder: it is truncated");
    }
    memcpy(&head, bytes, sizeof head);
    const char *why = check_head(&head);
    if (why) {
        return error_set(err, ERROR_INVALID, "invalid listing of the film from the decoder: %s",
                         why);
    }
    size_t used = sizeof head + (size_t)head.frame_count * sizeof *index->frames +
                  (size_t)head.key_count * sizeof *index->keys +
                  (size_t)head.section_count * sizeof *index->sections;
    if (size < used) {
        return error_set(err, ERROR_INVALID,
                         "invalid listing of the film from the decoder: it is truncated");
    }
    *index = (struct video_index){.width = head.width,
                                  .height = head.height,
                                  .time_base = head.time_base,
                                  .frame_rate = head.frame_rate,
                                  .sample_aspect = head.sample_aspect,
                                  .frame_count = head.frame_count,
                                  .key_count = head.key_count,
                                  .section_count = head.section_count,
                                  .last_duration = head.last_duration,
                                  .was_decoded = head.was_decoded != 0};
    memcpy(index->damage, head.damage, sizeof index->damage);
    bytes += sizeof head;
    index->frames = copy_array(&bytes, head.frame_count, sizeof *index->frames);
    index->keys = copy_array(&bytes, head.key_count, sizeof *index->keys);
    index->sections = copy_array(&bytes, head.section_count, sizeof *index->sections);
    why = check_frames(index);
    if (why) {
        video_index_release(index);
        return error_set(err, ERROR_INVALID, "invalid listing of the film from the decoder: %s",
                         why);
    }
    *ret_used = used;
    return 0;
}
