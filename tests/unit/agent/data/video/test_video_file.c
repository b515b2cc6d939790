// SPDX-License-Identifier: Apache-2.0
#include "lib/time/clock.h"
#include "tests/unit/agent/data/video/films.h"

/* Films that must be refused, and the beginning or a part of the message. */
static const struct {
    const char *name;
    const char *command; /* NULL: not made */
    const char *error;
} rows[] = {
    {"none.mp4", NULL, "spec.input.video.path: media/none.mp4: no such file"},
    {"bad-folder.mp4", "mkdir $OUT", "media/bad-folder.mp4: is a folder, a video file is expected"},
    {"bad-zero.mp4", ": > $OUT", "media/bad-zero.mp4: is empty (0 bytes), a video file"},
    {"bad-text.mp4", "for i in $(seq 1000); do echo \"This is not a video, line $i.\"; done > $OUT",
     "media/bad-text.mp4: is not a video that can be read: "},
    {"bad-random.mkv",
     "openssl enc -aes-128-ctr -pass pass:film -nosalt -pbkdf2 < /dev/zero "
     "2>/dev/null | head -c 300000 > $OUT",
     "media/bad-random.mkv: "},
    {"bad-picture.png", "ff -f lavfi -i testsrc2=s=64x64 -frames:v 1 $OUT",
     "media/bad-picture.png: is not a video that can be read"},
    {"bad-sound.mp4", "ff -f lavfi -i sine=440:d=1 -c:a aac $OUT",
     "media/bad-sound.mp4: contains no video stream (format "},
    {"bad-cover.mp3",
     "ff -f lavfi -i testsrc2=s=64x64 -frames:v 1 cover-$OUT.png && ff -f lavfi -i "
     "sine=440:d=1 -i cover-$OUT.png -map 0 -map 1 -c:a libmp3lame -c:v copy "
     "-disposition:v attached_pic $OUT && rm cover-$OUT.png",
     "media/bad-cover.mp3: "},
    {"bad-list.m3u8",
     "printf '#EXTM3U\\n#EXT-X-TARGETDURATION:10\\n#EXTINF:10,\\n"
     "bframes.mp4\\n#EXT-X-ENDLIST\\n' > $OUT",
     "media/bad-list.m3u8: is not a video that can be read"},
    {"bad-concat.ffconcat", "printf 'ffconcat version 1.0\\nfile bframes.mp4\\n' > $OUT",
     "media/bad-concat.ffconcat: is not a video that can be read"},
    {"bad-cut-front.mp4", "head -c 40000 fast.mp4 > $OUT",
     "media/bad-cut-front.mp4: is truncated: only "},
    {"bad-cut-back.mp4", "head -c 40000 bframes.mp4 > $OUT",
     "media/bad-cut-back.mp4: is truncated and cannot be read: "},
    {"bad-cut.mkv", "head -c 40000 vfr.mkv > $OUT",
     "media/bad-cut.mkv: is truncated: only its first "},
    {"bad-cut.avi", "head -c 40000 h264.avi > $OUT", "media/bad-cut.avi: is truncated: only "},
    {"bad-wide.avi", "ff -f lavfi -i color=s=16386x16:r=1:d=1 -c:v mjpeg $OUT",
     "media/bad-wide.avi: is 16386x16 pixels, at most 16384x16384"},
};

static void bad_films_are_refused(void) {
    fixture("fast.mp4", "ff " SOURCE(25, 3) " -c:v libx264 -bf 3 -g 20 -movflags +faststart $OUT");
    for (size_t i = 0; i < ARRAY_LEN(films); i++) {
        if (strstr("bframes.mp4 vfr.mkv h264.avi", films[i].name)) {
            fixture(films[i].name, films[i].command);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].command && fixture(rows[i].name, rows[i].command) < 0) {
            continue;
        }
        struct error err = {0};
        struct listing *listing = NULL;
        AUTO(tree_freep) json_t *spec = spec_of(rows[i].name);
        int64_t start = clock_monotonic_ms();
        int result = video()->list(spec, &listing, &err);
        int64_t took = clock_monotonic_ms() - start;
        if (result == 0 || !strstr(err.text, rows[i].error) ||
            !text_starts(err.text, "spec.input.video.path: media/") || took > 60000) {
            printf("# %s: %s (%lld ms)\n", rows[i].name, result ? err.text : "was listed",
                   (long long)took);
            test_failures++;
        }
        if (result == 0) {
            video()->listing_free(listing);
        }
    }
}

/* The reported number of readable frames equals the number that a decoder delivers. */
static void truncation_counts_frames(void) {
    static const char *const names[] = {"bad-cut-front.mp4", "bad-cut.mkv", "bad-cut.avi"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct error err = {0};
        struct listing *listing = NULL;
        AUTO(tree_freep) json_t *spec = spec_of(names[i]);
        CHECK_INT(video()->list(spec, &listing, &err), -1);
        const char *number = strstr(err.text, "only ");
        number = number ? number + strcspn(number, "0123456789") : "0";
        char path[8192];
        snprintf(path, sizeof path, "%s/%s", fixtures_folder, names[i]);
        /* A decoder may also deliver the truncated frame. */
        long said = strtol(number, NULL, 10), decoded = ask_frames(path);
        printf("# %s: said %ld, decoded %ld: %s\n", names[i], said, decoded, err.text);
        CHECK(said > 0 && (said == decoded || said + 1 == decoded));
    }
}

static void unusable_places_are_told(void) {
    struct error err = {0};
    struct listing *listing = NULL;
    /* The result would be media/bframes.mp4, which is the input. */
    AUTO(tree_freep)
    json_t *same = json_pack("{s:{s:{s:s}},s:{s:s}}", "input", "video", "path", "media/bframes.mp4",
                             "output", "path", "media");
    spec_fill(same);
    CHECK_INT(video()->list(same, &listing, &err), -1);
    CHECK_STR(err.text, "spec.output.path: media: the result would replace the input "
                        "media/bframes.mp4");
    error_clear(&err);
    AUTO(tree_freep)
    json_t *taken = json_pack("{s:{s:{s:s}},s:{s:s}}", "input", "video", "path",
                              "media/bframes.mp4", "output", "path", "out/other");
    spec_fill(taken);
    CHECK_OK(video()->list(taken, &listing, &err), &err);
    AUTO(tree_freep) json_t *work = video()->work(listing, 0, 1);
    /* A lease of a file that was replaced meanwhile. */
    json_object_set_new(work, "bytes", json_integer(7));
    struct reader *reader = NULL;
    CHECK_INT(video()->reader_open(taken, work, &reader, &err), -1);
    CHECK_STR(err.text,
              "spec.input.video.path: media/bframes.mp4: has changed since it was listed");
    CHECK(reader == NULL);
    video()->listing_free(listing);
}

/* A lease comes over the network: nonsense in it is an error, not a crash. */
static void bad_leases_are_refused(void) {
    static const char *const leases[] = {
        "{}",
        "{\"first\":0,\"count\":1}",
        "{\"first\":0,\"count\":1,\"bytes\":1,\"width\":1,\"height\":1,\"timeBase\":[1,25],"
        "\"frameRate\":[25,1],\"sampleAspect\":[1,1],\"keys\":[],\"pts\":[],\"packets\":[0]}",
        "{\"first\":0,\"count\":1,\"bytes\":1,\"width\":1,\"height\":1,\"timeBase\":[1,0],"
        "\"frameRate\":[25,1],\"sampleAspect\":[1,1],\"keys\":[],\"pts\":[0],\"packets\":[0]}",
        "{\"first\":0,\"count\":2,\"bytes\":1,\"width\":1,\"height\":1,\"timeBase\":[1,25],"
        "\"frameRate\":[25,1],\"sampleAspect\":[1,1],\"keys\":[1,2,3],\"pts\":[0,0],"
        "\"packets\":[0,1]}",
        "{\"first\":0,\"count\":1,\"bytes\":1,\"width\":99999,\"height\":1,\"timeBase\":[1,25],"
        "\"frameRate\":[25,1],\"sampleAspect\":[1,1],\"keys\":[],\"pts\":[0],\"packets\":[-4]}",
    };
    AUTO(tree_freep) json_t *spec = spec_of("bframes.mp4");
    for (size_t i = 0; i < ARRAY_LEN(leases); i++) {
        struct error err = {0};
        struct reader *reader = NULL;
        AUTO(tree_freep) json_t *work = json_loads(leases[i], 0, NULL);
        CHECK(work != NULL);
        CHECK_INT(video()->reader_open(spec, work, &reader, &err), -1);
        CHECK(strstr(err.text, "the lease does not describe frames of a video") != NULL);
    }
}

int main(void) {
    fixtures_start("video-file");
    TEST(bad_films_are_refused);
    TEST(truncation_counts_frames);
    TEST(unusable_places_are_told);
    TEST(bad_leases_are_refused);
    return TEST_END();
}
