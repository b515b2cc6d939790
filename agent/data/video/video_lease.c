// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/video_lease.h"

#include "agent/data/input/media.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static json_t *encode_time(int64_t time) {
    return time == VIDEO_NO_TIME ? json_null() : json_integer(time);
}

static json_t *encode_fraction(struct fraction value) {
    return json_pack("[i,i]", value.num, value.den);
}

/* The key of the frame that needs the earliest one, and the key before that. */
static json_t *encode_keys(const struct video_index *index, int64_t first, int64_t count) {
    int64_t earliest = index->frames[first].key;
    for (int64_t i = first; i < first + count; i++) {
        earliest = MIN(earliest, index->frames[i].key);
    }
    json_t *keys = json_array();
    for (int64_t i = earliest; i >= 0 && i > earliest - 2; i--) {
        const struct video_key *key = &index->keys[i];
        json_array_append_new(keys, json_pack("[i,o,o,I]", (int)key->packet, encode_time(key->pts),
                                              encode_time(key->dts), (json_int_t)key->position));
    }
    return keys;
}

json_t *video_lease_encode(const struct video_index *index, int64_t first, int64_t count) {
    assert(first >= 0 && count > 0 && first + count <= index->frame_count);
    json_t *times = json_array(), *packets = json_array();
    int64_t time = 0, packet = 0; /* differences are encoded, since they are short */
    for (int64_t i = first; i < first + count; i++) {
        json_array_append_new(times, json_integer(index->frames[i].pts - time));
        json_array_append_new(packets, json_integer(index->frames[i].packet - packet));
        time = index->frames[i].pts;
        packet = index->frames[i].packet;
    }
    return json_pack("{s:I,s:I,s:I,s:s,s:i,s:i,s:o,s:o,s:o,s:o,s:o,s:o}", "first",
                     (json_int_t)first, "count", (json_int_t)count, "bytes",
                     (json_int_t)index->size_bytes, "state", index->core, "width", index->width,
                     "height", index->height, "timeBase", encode_fraction(index->time_base),
                     "frameRate", encode_fraction(index->frame_rate), "sampleAspect",
                     encode_fraction(index->sample_aspect), "keys",
                     encode_keys(index, first, count), "pts", times, "packets", packets);
}

static bool decode_fraction(const json_t *work, const char *name, struct fraction *ret_value) {
    const json_t *value = json_object_get(work, name);
    json_int_t num = json_integer_value(json_array_get(value, 0));
    json_int_t den = json_integer_value(json_array_get(value, 1));
    *ret_value = (struct fraction){(int)num, (int)den};
    return num > 0 && den > 0 && num <= INT32_MAX && den <= INT32_MAX;
}

static int64_t decode_time(const json_t *time) {
    return json_is_integer(time) ? json_integer_value(time) : VIDEO_NO_TIME;
}

static bool decode_frames(struct video_lease *lease, const json_t *work) {
    const json_t *times = json_object_get(work, "pts"), *packets = json_object_get(work, "packets");
    if (lease->count < 1 || lease->count > VIDEO_LEASE_MAX || lease->first < 0 ||
        lease->first > VIDEO_FRAMES_MAX || (int64_t)json_array_size(times) != lease->count ||
        (int64_t)json_array_size(packets) != lease->count) {
        return false;
    }
    lease->pts = x_calloc((size_t)lease->count, sizeof *lease->pts);
    lease->packets = x_calloc((size_t)lease->count, sizeof *lease->packets);
    lease->packet_min = INT32_MAX;
    int64_t time = 0, packet = 0;
    for (int64_t i = 0; i < lease->count; i++) {
        json_int_t step = json_integer_value(json_array_get(times, (size_t)i));
        packet += json_integer_value(json_array_get(packets, (size_t)i));
        if ((i > 0 && step <= 0) || packet < 0 || packet > VIDEO_FRAMES_MAX ||
            __builtin_add_overflow(time, step, &time)) {
            return false;
        }
        lease->pts[i] = time;
        lease->packets[i] = (int32_t)packet;
        lease->packet_min = MIN(lease->packet_min, lease->packets[i]);
        lease->packet_max = MAX(lease->packet_max, lease->packets[i]);
    }
    return true;
}

int video_lease_decode(struct video_lease *lease, const json_t *work, struct error *err) {
    *lease = (struct video_lease){
        .first = tree_integer(work, "first", -1),
        .count = tree_integer(work, "count", -1),
        .size_bytes = tree_integer(work, "bytes", -1),
        .width = (int)tree_integer(work, "width", 0),
        .height = (int)tree_integer(work, "height", 0),
    };
    snprintf(lease->core, sizeof lease->core, "%s", tree_text(work, "state", ""));
    size_t i;
    json_t *key;
    json_array_foreach(json_object_get(work, "keys"), i, key) {
        if (i < ARRAY_LEN(lease->keys)) {
            lease->keys[lease->key_count++] = (struct video_key){
                .packet = (int32_t)json_integer_value(json_array_get(key, 0)),
                .pts = decode_time(json_array_get(key, 1)),
                .dts = decode_time(json_array_get(key, 2)),
                .position = json_integer_value(json_array_get(key, 3)),
            };
        }
    }
    if (lease->width < 1 || lease->height < 1 || lease->width > MEDIA_SIDE_MAX ||
        lease->height > MEDIA_SIDE_MAX || !decode_fraction(work, "timeBase", &lease->time_base) ||
        !decode_fraction(work, "frameRate", &lease->frame_rate) ||
        !decode_fraction(work, "sampleAspect", &lease->sample_aspect) ||
        !decode_frames(lease, work)) {
        video_lease_release(lease);
        return error_set(err, ERROR_INVALID, "the lease does not describe frames of a video");
    }
    return 0;
}

void video_lease_release(struct video_lease *lease) {
    free(lease->pts);
    free(lease->packets);
    lease->pts = NULL;
    lease->packets = NULL;
}
