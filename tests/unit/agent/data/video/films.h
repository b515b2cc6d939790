/* films.h: the films for the tests of video, each for one way in which videos differ, and the whole
 * way of a video through the data plane. */
#pragma once

#include "agent/data/input/media.h"
#include "tests/seed.h"
#include "tests/unit/agent/data/tries.h"
#include "tests/unit/agent/spec_defaults.h"

#define SOURCE(rate, seconds) "-f lavfi -i testsrc2=s=160x120:r=" #rate ":d=" #seconds
#define ODD "-f lavfi -i testsrc2=s=322x244:r=10:d=1,format=rgb24,crop=321:243"
#define SOUND(seconds) " -f lavfi -i sine=440:d=" #seconds

UNUSED static const struct film {
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
    {"odd.mkv", "ff " ODD " -c:v libx264 -pix_fmt yuv444p $OUT"},
    {"odd.avi", "ff " ODD " -c:v mjpeg -pix_fmt yuvj420p -q:v 3 $OUT"},
    {"odd.webm", "ff " ODD " -c:v libvpx -pix_fmt yuv420p $OUT"},
    {"tenbit.mkv", "ff " SOURCE(25, 1) " -c:v libx264 -pix_fmt yuv420p10le -g 9 $OUT"},
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

UNUSED static int film_make(const struct film *film) {
    return fixture(film->name, film->command);
}

/* Chooses a sample of the films; printed, as each day has another. */
UNUSED static uint64_t films_seed(void) {
    uint64_t seed = test_seed(test_day());
    printf("# SOAK_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

UNUSED static json_t *spec_of(const char *name) {
    char path[512];
    snprintf(path, sizeof path, "media/%s", name);
    return spec_fill(json_pack("{s:{s:{s:s}},s:{s:s},s:{s:{}}}", "input", "video", "path", path,
                               "output", "path", "out/result", "scorer", "onnx"));
}

UNUSED static const struct media *video(void) {
    AUTO(tree_freep) json_t *spec = spec_of("x");
    const struct media *media = NULL;
    struct error err = {0};
    CHECK_OK(media_find(spec, &media, &err), &err);
    return media;
}

static int64_t films_failed; /* frames, in all make_video so far */
static json_t *films_lost;   /* what the last one lacks, as its job says it at the end */

/* The whole way: list, cut unevenly, read, write, join. */
UNUSED static int make_video(const char *name, int64_t step, json_t *outputs, struct error *err) {
    AUTO(tree_freep) json_t *spec = spec_of(name);
    struct listing *listing = NULL;
    struct reader *reader = NULL;
    if (video()->list(spec, &listing, err) < 0) {
        return -1;
    }
    int64_t count = video()->count(listing);
    AUTO(store_freep) struct store *output = open_output("out/result");
    struct parts parts = new_parts(output, (count + step - 1) / step);
    for (int64_t first = 0; first < count; first += step) {
        AUTO(tree_freep) json_t *work = video()->work(listing, first, MIN(step, count - first));
        AUTO(staged_output_freep) struct staged_output *staged = new_try(&parts, first / step);
        struct writer *writer = NULL;
        CHECK_OK(video()->reader_open(spec, work, &reader, err), err);
        CHECK_OK(video()->writer_open(spec, work, staged, &writer, err), err);
        struct picture picture = {0};
        const char *item = NULL;
        int got;
        while (reader && writer && (got = video()->reader_next(reader, &picture, &item, err)) > 0) {
            struct result result = {.name = item, .picture = &picture};
            if (got == READER_FAULT) {
                video()->writer_skip(writer);
                films_failed++;
                continue;
            }
            CHECK_OK(video()->writer_add(writer, &result, err), err);
            picture_release(&picture);
        }
        CHECK_OK(video()->writer_finish(writer, err), err);
        CHECK_OK(place_part(&parts, first / step, staged, err), err);
        video()->writer_free(writer);
    }
    video()->reader_free(reader);
    int result = video()->join(listing, spec, &parts, step, outputs, err);
    json_decref(films_lost);
    films_lost = json_deep_copy(video()->lost(listing));
    free(parts.places);
    video()->listing_free(listing);
    return result;
}
