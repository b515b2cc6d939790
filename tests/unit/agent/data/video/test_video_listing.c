// SPDX-License-Identifier: Apache-2.0
/* The bytes of a listing, which come from a process that the film may have taken over. */
#include "agent/data/video/video_listing.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

enum { FRAMES = 5, KEYS = 2, SECTIONS = 1, MUTANTS = 200000 };

static struct video_frame frames[FRAMES] = {
    {-10, 1, -1}, {0, 0, 0}, {10, 2, 0}, {20, 4, 1}, {30, 3, 1}};
static struct video_key keys[KEYS] = {{0, 0, VIDEO_NO_TIME, 48}, {3, 30, 20, VIDEO_UNKNOWN}};
static int64_t sections[SECTIONS] = {-7};

static struct video_index sound_index(void) {
    return (struct video_index){.width = 320,
                                .height = 180,
                                .time_base = {1, 90000},
                                .frame_rate = {25, 1},
                                .sample_aspect = {1, 1},
                                .frames = frames,
                                .frame_count = FRAMES,
                                .keys = keys,
                                .key_count = KEYS,
                                .last_duration = 10,
                                .was_decoded = true,
                                .damage = "a word",
                                .sections = sections,
                                .section_count = SECTIONS};
}

static void pack(struct buffer *bytes, const struct video_index *index) {
    struct error err = {0};
    buffer_init(bytes, 1 << 20);
    CHECK_OK(video_listing_pack(index, bytes, &err), &err);
    CHECK((int64_t)bytes->size <= video_listing_room(5000));
}

static void there_and_back(void) {
    struct video_index index = sound_index(), back;
    struct error err = {0};
    AUTO(buffer_release) struct buffer bytes;
    size_t used = 0;
    pack(&bytes, &index);
    CHECK_OK(video_listing_unpack(&back, bytes.data, bytes.size, &used, &err), &err);
    CHECK_INT(used, bytes.size);
    CHECK_INT(used % 8, 0);
    CHECK(back.width == 320 && back.height == 180 && back.time_base.den == 90000 &&
          back.frame_rate.num == 25 && back.last_duration == 10 && back.was_decoded);
    CHECK_STR(back.damage, "a word");
    for (int i = 0; i < FRAMES; i++) {
        CHECK(back.frames[i].pts == frames[i].pts && back.frames[i].packet == frames[i].packet &&
              back.frames[i].key == frames[i].key);
    }
    for (int i = 0; i < KEYS; i++) {
        CHECK(back.keys[i].packet == keys[i].packet && back.keys[i].pts == keys[i].pts &&
              back.keys[i].dts == keys[i].dts && back.keys[i].position == keys[i].position);
    }
    CHECK_INT(back.sections[0], -7);
    video_index_release(&back);
    for (size_t size = 0; size < bytes.size; size++) {
        CHECK_INT(video_listing_unpack(&back, bytes.data, size, &used, &err), -1);
        CHECK(strstr(err.text, "truncated"));
        error_clear(&err);
    }
}

/* One field is wrong; what it says is in the error. */
static void check_refused(const struct video_index *index, const char *why) {
    struct video_index back;
    struct error err = {0};
    AUTO(buffer_release) struct buffer bytes;
    size_t used = 0;
    pack(&bytes, index);
    CHECK_INT(video_listing_unpack(&back, bytes.data, bytes.size, &used, &err), -1);
    CHECK(strstr(err.text, why));
    if (!strstr(err.text, why)) {
        printf("# %s (expected %s)\n", err.text, why);
    }
    CHECK(!back.frames && !back.keys && !back.sections);
}

static void lies_are_refused(void) {
    struct video_frame kept_frame = frames[3];
    struct video_key kept_key = keys[1];
    struct video_index index = sound_index();
    index.width = 0;
    check_refused(&index, "invalid size");
    index = sound_index();
    index.height = index.width = 30000;
    check_refused(&index, "invalid size");
    index = sound_index();
    index.time_base.den = 0;
    check_refused(&index, "units of time");
    index = sound_index();
    index.last_duration = INT64_MAX;
    check_refused(&index, "units of time");
    index = sound_index();
    memset(index.damage, 'x', sizeof index.damage);
    check_refused(&index, "its text has no end");
    index = sound_index();
    frames[3].pts = 10;
    check_refused(&index, "times do not increase");
    frames[3].pts = INT64_MAX;
    check_refused(&index, "times do not increase");
    frames[3] = kept_frame;
    frames[3].packet = -1;
    check_refused(&index, "invalid packet");
    frames[3].packet = INT32_MAX;
    check_refused(&index, "invalid packet");
    frames[3] = kept_frame;
    frames[3].key = KEYS;
    check_refused(&index, "invalid packet");
    frames[3] = kept_frame;
    keys[1].packet = 0;
    check_refused(&index, "a keyframe");
    keys[1] = kept_key;
    keys[1].position = -2;
    check_refused(&index, "a keyframe");
    keys[1] = kept_key;
    sections[0] = INT64_MIN;
    check_refused(&index, "a section");
    sections[0] = -7;
}

/* Bytes changed at random are refused or are a listing that a lease can be made of. */
static void changed_bytes(void) {
    struct video_index index = sound_index(), back;
    uint64_t seed = test_seed(1);
    AUTO(buffer_release) struct buffer bytes;
    pack(&bytes, &index);
    AUTO(text_freep) char *changed = x_malloc(bytes.size);
    for (int i = 0; i < test_rounds(MUTANTS); i++) {
        struct error err = {0};
        size_t used = 0;
        memcpy(changed, bytes.data, bytes.size);
        for (int k = 0; k < 1 + i % 3; k++) {
            changed[test_below(&seed, bytes.size)] = (char)test_below(&seed, 256);
        }
        if (video_listing_unpack(&back, changed, bytes.size, &used, &err) == 0) {
            CHECK(back.frame_count >= 1 && used <= bytes.size);
            for (int64_t f = 0; f < back.frame_count; f++) {
                CHECK(back.frames[f].key < back.key_count);
            }
            video_index_release(&back);
        } else {
            CHECK(err.kind == ERROR_INVALID);
        }
    }
}

int main(void) {
    TEST(there_and_back);
    TEST(lies_are_refused);
    TEST(changed_bytes);
    return TEST_END();
}
