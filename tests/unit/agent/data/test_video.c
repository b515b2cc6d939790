// SPDX-License-Identifier: Apache-2.0
#include "agent/data/media.h"

#include "agent/data/video_index.h"
#include "lib/digest.h"
#include "tests/unit/agent/data/fixtures.h"

#define SOURCE(rate, seconds) "-f lavfi -i testsrc2=s=160x120:r=" #rate ":d=" #seconds
#define SOUND(seconds) " -f lavfi -i sine=440:d=" #seconds

static const struct film {
    const char *name, *command;
} films[] = {
    {"bframes.mp4", "ff " SOURCE(25, 3) SOUND(3) " -c:v libx264 -bf 3 -g 20 -c:a aac $OUT"},
    {"opengop.mp4",
     "ff " SOURCE(25, 3) " -c:v libx264 -x264-params open-gop=1:keyint=12:bframes=3 $OUT"},
    {"opengop.ts",
     "ff " SOURCE(25, 3) " -c:v libx264 -x264-params open-gop=1:keyint=12:bframes=3 $OUT"},
    /* Starts in the middle of a group of pictures, ends in the middle of a packet. */
    {"cut.ts",
     "ff " SOURCE(
         25, 3) " -c:v libx264 -x264-params open-gop=1:keyint=12:bframes=3 "
                "whole-$OUT && tail -c +20493 whole-$OUT | head -c 150000 > $OUT && rm whole-$OUT"},
    {"mpeg2.mpg", "ff " SOURCE(25, 4) SOUND(4) " -c:v mpeg2video -bf 2 -g 12 -c:a mp2 $OUT"},
    {"mpeg2cut.mpg",
     "ff " SOURCE(25, 4) " -c:v mpeg2video -bf 2 -g 12 whole-$OUT && "
                         "tail -c +40961 whole-$OUT | head -c 250000 > $OUT && rm whole-$OUT"},
    {"mpeg2.ts", "ff " SOURCE(25, 4) " -c:v mpeg2video -bf 2 -g 12 $OUT"},
    {"edit.mp4",
     "ff " SOURCE(25, 3) SOUND(3) " -c:v libx264 -bf 3 -g 20 -c:a aac whole-$OUT && "
                                  "ff -ss 0.5 -i whole-$OUT -c copy $OUT && rm whole-$OUT"},
    {"vfr.mp4", "ff " SOURCE(30, 3) " -vf \"select='not(eq(mod(n,3),1))*lt(mod(n,17),11)'\" "
                                    "-vsync vfr -c:v libx264 -bf 2 $OUT"},
    {"vfr.mkv", "ff " SOURCE(30, 3) " -vf \"select='not(eq(mod(n,3),1))'\" "
                                    "-vsync vfr -c:v libx264 -bf 2 $OUT"},
    {"odd.mkv", "ff -f lavfi -i testsrc2=s=321x243:r=10:d=1 -c:v libx264 -pix_fmt yuv444p $OUT"},
    {"odd.avi", "ff -f lavfi -i testsrc2=s=321x243:r=10:d=1 -c:v mjpeg -q:v 3 $OUT"},
    {"one.mp4", "ff " SOURCE(25, 1) " -frames:v 1 -c:v libx264 $OUT"},
    {"two.mp4", "ff " SOURCE(25, 1) " -frames:v 2 -c:v libx264 $OUT"},
    {"vp8.webm", "ff " SOURCE(25, 3) SOUND(3) " -c:v libvpx -auto-alt-ref 1 -lag-in-frames 16 "
                                              "-g 30 -b:v 200k -c:a libvorbis $OUT"},
    {"vp9.webm", "ff " SOURCE(25, 2) SOUND(2) " -c:v libvpx-vp9 -auto-alt-ref 1 -lag-in-frames 16 "
                                              "-cpu-used 8 -g 20 -c:a libopus $OUT"},
    {"theora.ogv", "ff " SOURCE(25, 2) SOUND(2) " -c:v libtheora -g 16 -c:a libvorbis $OUT"},
    {"mpeg4.avi", "ff " SOURCE(25, 2) SOUND(2) " -c:v mpeg4 -bf 2 -g 12 -c:a libmp3lame $OUT"},
    {"h264.avi", "ff " SOURCE(25, 2) " -c:v libx264 -bf 2 -g 12 $OUT"},
    {"hevc.mp4", "ff " SOURCE(25, 2) " -c:v libx265 -preset ultrafast -x265-params "
                                     "log-level=none:keyint=10:open-gop=1:bframes=3 $OUT"},
    {"refresh.mkv",
     "ff " SOURCE(25, 3) " -c:v libx264 -x264-params intra-refresh=1:keyint=20 $OUT"},
    {"interlaced.ts", "ff " SOURCE(25, 2) " -c:v libx264 -flags +ilme+ildct -x264-params "
                                          "tff=1:keyint=12 $OUT"},
    {"fragments.mp4", "ff " SOURCE(25, 2) SOUND(2) " -c:v libx264 -g 12 -c:a aac "
                                                   "-movflags frag_keyframe+empty_moov $OUT"},
    {"raw.h264", "ff " SOURCE(25, 2) " -c:v libx264 -bf 2 -g 12 $OUT"},
    {"small.gif", "ff " SOURCE(10, 1) " $OUT"},
    {"pcm.mov", "ff " SOURCE(25, 1) SOUND(1) " -c:v mpeg4 -c:a pcm_s16le $OUT"},
    {"turned.mp4",
     "ff " SOURCE(25, 1) " -c:v libx264 whole-$OUT && "
                         "ff -i whole-$OUT -c copy -metadata:s:v rotate=90 $OUT && rm whole-$OUT"},
};

static json_t *spec_of(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "media/%s", name);
    return json_pack("{s:{s:{s:s}},s:{s:s}}", "input", "video", "path", path, "output", "path",
                     "out/result");
}

static const struct media *video(void) {
    AUTO(tree_freep) json_t *spec = spec_of("x");
    const struct media *media = NULL;
    struct error err = {0};
    CHECK_OK(media_find(spec, &media, &err), &err);
    return media;
}

/* Reads a lease; appends one digest per frame. `reader` is kept from call to call. */
static int64_t read_lease(const json_t *spec, const json_t *work, struct reader **reader,
                          char (*digests)[65]) {
    struct error err = {0};
    if (video()->reader_open(spec, work, reader, &err) < 0) {
        printf("# %s\n", err.text);
        return -1;
    }
    for (int64_t i = 0;; i++) {
        struct picture picture = {0};
        const char *name = NULL;
        int result = video()->reader_next(*reader, &picture, &name, &err);
        if (result <= 0) {
            if (result < 0) {
                printf("# %s\n", err.text);
            }
            return result < 0 ? -1 : i;
        }
        digest_sha256(picture.pixels, (size_t)picture.width * (size_t)picture.height * 3,
                      digests[i]);
        picture_release(&picture);
    }
}

/* Every frame is the same picture whether it is read in one go, in small leases from fresh readers
 * in any order, or in small leases by one reader that goes on. */
static void check_leases(const json_t *spec, const struct listing *listing, int64_t count) {
    char(*wanted)[65] = calloc((size_t)count + 1, 65), (*seen)[65] = calloc((size_t)count + 1, 65);
    AUTO(tree_freep) json_t *all = video()->work(listing, 0, count);
    struct reader *reader = NULL;
    CHECK_INT(read_lease(spec, all, &reader, wanted), count);
    video()->reader_free(reader);
    for (int pass = 0; pass < 2; pass++) {
        reader = NULL;
        int64_t step = pass ? 5 : 7, leases = (count + step - 1) / step, differing = 0;
        for (int64_t i = 0; i < leases; i++) {
            int64_t lease = pass ? i : leases - 1 - i, first = lease * step;
            int64_t length = MIN(step, count - first);
            AUTO(tree_freep) json_t *work = video()->work(listing, first, length);
            CHECK_INT(read_lease(spec, work, &reader, seen + first), length);
            if (!pass) {
                video()->reader_free(reader);
                reader = NULL;
            }
        }
        video()->reader_free(reader);
        for (int64_t i = 0; i < count; i++) {
            differing += strcmp(seen[i], wanted[i]) != 0;
        }
        CHECK_INT(differing, 0);
    }
    free(wanted);
    free(seen);
}

static void counts_and_leases(void) {
    for (size_t i = 0; i < ARRAY_LEN(films); i++) {
        struct error err = {0};
        struct listing *listing = NULL;
        AUTO(tree_freep) json_t *spec = spec_of(films[i].name);
        int before = test_failures;
        if (fixture(films[i].name, films[i].command) < 0) {
            continue;
        }
        char path[8192];
        snprintf(path, sizeof path, "%s/%s", fixtures_folder, films[i].name);
        CHECK_OK(video()->list(spec, &listing, &err), &err);
        if (listing) {
            long wanted = ask_frames(path);
            CHECK_INT(video()->count(listing), wanted);
            printf("# %-16s ffprobe %4ld, listed %4lld%s\n", films[i].name, wanted,
                   (long long)video()->count(listing),
                   ((const struct video_index *)listing)->was_decoded ? ", by decoding" : "");
            check_leases(spec, listing, video()->count(listing));
            video()->listing_free(listing);
        }
        if (test_failures > before) {
            printf("# ... with %s\n", films[i].name);
        }
    }
}

/* The whole way: list, cut unevenly, read, write, join. */
static int make_video(const char *name, int64_t step, json_t *outputs, struct error *err) {
    AUTO(tree_freep) json_t *spec = spec_of(name);
    AUTO(tree_freep) json_t *batches = json_array();
    struct listing *listing = NULL;
    struct reader *reader = NULL;
    if (video()->list(spec, &listing, err) < 0) {
        return -1;
    }
    int64_t count = video()->count(listing);
    for (int64_t first = 0; first < count; first += step) {
        json_t *work = video()->work(listing, first, MIN(step, count - first));
        json_array_append_new(batches, work);
        struct writer *writer = NULL;
        CHECK_OK(video()->reader_open(spec, work, &reader, err), err);
        CHECK_OK(video()->writer_open(spec, "r0", work, "w1-7", &writer, err), err);
        struct picture picture = {0};
        const char *item = NULL;
        while (reader && writer && video()->reader_next(reader, &picture, &item, err) > 0) {
            struct result result = {.picture = &picture};
            CHECK_OK(video()->writer_add(writer, &result, err), err);
            picture_release(&picture);
        }
        CHECK_OK(video()->writer_commit(writer, err), err);
        video()->writer_free(writer);
    }
    video()->reader_free(reader);
    int result = video()->join(listing, spec, "r0", batches, outputs, err);
    video()->listing_free(listing);
    return result;
}

static void round_trips(void) {
    for (size_t i = 0; i < ARRAY_LEN(films); i++) {
        struct error err = {0};
        AUTO(tree_freep) json_t *outputs = json_array();
        char from[8192], to[8192];
        snprintf(from, sizeof from, "%s/%s", fixtures_folder, films[i].name);
        CHECK_OK(make_video(films[i].name, 11, outputs, &err), &err);
        const char *output = json_string_value(json_array_get(outputs, 0));
        snprintf(to, sizeof to, "%s/%s", fixtures_out, output ? output + 4 : "");
        int before = test_failures;
        CHECK_INT(ask_frames(to), ask_frames(from));
        if (test_failures > before) {
            printf("# ... with %s\n", films[i].name);
        }
    }
}

int main(void) {
    fixtures_start("video");
    TEST(counts_and_leases);
    TEST(round_trips);
    return TEST_END();
}
