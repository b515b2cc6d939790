// SPDX-License-Identifier: Apache-2.0
#include "agent/data/decoder/decoder.h"
#include "agent/data/decoder/decoder_child.h"
#include "tests/seed.h"
#include "tests/unit/agent/data/video/films.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void path_in(char *path, size_t room, const char *folder, const char *name) {
    snprintf(path, room, "%s/%s", folder, name);
}

/* The output's path on this machine, or "". */
static void output_of(const json_t *outputs, char *path, size_t room) {
    const char *output = json_string_value(json_array_get(outputs, 0));
    path_in(path, room, fixtures_out, output ? output + strlen("out/") : "");
}

/* Sound of one codec, as bytes of packets: the same before and after? */
static bool is_same_sound(const char *from, const char *to) {
    return ask_number("for f in '%s' '%s'; do ffmpeg -v quiet -i $f -map 0:a -c copy -f data - | "
                      "md5sum; done | uniq | wc -l",
                      from, to) == 1;
}

/* The first picture's and the first sound's time differ as before, to 2 ms (Matroska's grain). */
static bool is_same_lead(const char *from, const char *to) {
    return ask_number("for f in '%s' '%s'; do { ffprobe -v quiet -select_streams v:0 -show_entries "
                      "frame=best_effort_timestamp_time -of csv=p=0 $f | grep '^[0-9]' | head -1; "
                      "ffprobe -v quiet -select_streams a:0 -show_entries packet=pts_time -of "
                      "csv=p=0 $f | grep '^[-0-9]' | sort -n | head -1; } | tr -d ,; done | "
                      "awk '{t[NR] = $1} END {d = t[2] - t[1] - t[4] + t[3]; "
                      "print (NR == 4 && d * d < 0.000005)}'",
                      from, to) == 1;
}

static bool is_same_times(const char *from, const char *to) {
    return ask_number("for f in '%s' '%s'; do ffprobe -v quiet -select_streams v:0 -show_entries "
                      "frame=best_effort_timestamp_time -of csv=p=0 $f | tr -d , | grep '^[0-9]' | "
                      "md5sum; done | uniq | wc -l",
                      from, to) == 1;
}

/* Those of the later tests. (test_video makes films, too, perhaps at the same time.) */
static void films_are_there(void) {
    static const char *const names[] = {"bframes.mp4", "cut.ts",    "edit.mp4", "fragments.mp4",
                                        "hevc.mp4",    "mpeg2.mpg", "odd.mkv",  "two.mp4",
                                        "vfr.mkv",     "vfr.mp4"};
    size_t made = 0;
    for (size_t i = 0; i < ARRAY_LEN(films); i++) {
        for (size_t j = 0; j < ARRAY_LEN(names); j++) {
            if (strcmp(films[i].name, names[j]) == 0) {
                CHECK_INT(film_make(&films[i]), 0);
                made++;
            }
        }
    }
    CHECK_INT(made, ARRAY_LEN(names));
}

static void round_trips(void) {
    uint64_t seed = films_seed();
    for (size_t i = 0; i < ARRAY_LEN(films); i++) {
        struct error err = {0};
        AUTO(tree_freep) json_t *outputs = json_array();
        char from[8192], to[8192];
        if (!test_samples(i, ARRAY_LEN(films), 5, seed)) {
            continue;
        }
        CHECK_INT(film_make(&films[i]), 0);
        snprintf(from, sizeof from, "%s/%s", fixtures_folder, films[i].name);
        CHECK_OK(make_video(films[i].name, 11, outputs, &err), &err);
        const char *output = json_string_value(json_array_get(outputs, 0));
        snprintf(to, sizeof to, "%s/%s", fixtures_out, output ? output + 4 : "");
        int before = test_failures;
        CHECK_INT(ask_frames(to), ask_frames(from));
        bool has_sound = ask_number("ffprobe -v quiet -select_streams a -show_entries "
                                    "stream=index -of csv=p=0 '%s' | grep -c '^[0-9]'",
                                    from) > 0;
        if (has_sound) {
            CHECK(is_same_sound(from, to));
            CHECK(is_same_lead(from, to));
        }
        long codec = ask_number("ffprobe -v quiet -select_streams v -show_entries "
                                "stream=codec_name,pix_fmt,color_space,color_range -of csv=p=0 "
                                "'%s' | grep -c '^h264,yuv420p,tv,bt709$'",
                                to);
        CHECK_INT(codec, 1);
        if (test_failures > before) {
            printf("# ... with %s\n", films[i].name);
        }
    }
}

static void times_are_exact(void) {
    static const char *const names[] = {"bframes.mp4", "vfr.mp4",       "vfr.mkv",
                                        "edit.mp4",    "fragments.mp4", "hevc.mp4"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct error err = {0};
        AUTO(tree_freep) json_t *outputs = json_array();
        char from[8192], to[8192];
        if (!test_samples(i, ARRAY_LEN(names), 2, test_day())) {
            continue;
        }
        path_in(from, sizeof from, fixtures_folder, names[i]);
        CHECK_OK(make_video(names[i], 4, outputs, &err), &err);
        output_of(outputs, to, sizeof to);
        if (!is_same_times(from, to)) {
            printf("# %s: frames have other times\n", names[i]);
            test_failures++;
        }
    }
}

static void ready_for_a_browser(void) {
    struct error err = {0};
    AUTO(tree_freep) json_t *outputs = json_array();
    char to[8192];
    CHECK_OK(make_video("odd.mkv", 3, outputs, &err), &err);
    output_of(outputs, to, sizeof to);
    /* 321x243 grows to even sides; the index comes before the pictures; the code point is avc1. */
    CHECK_INT(ask_number("ffprobe -v quiet -show_entries stream=width,height -of csv=p=0 '%s' | "
                         "grep -c '^322,244$'",
                         to),
              1);
    long index = ask_number("grep -aobm1 moov '%s' | cut -d: -f1", to);
    long pictures = ask_number("grep -aobm1 mdat '%s' | cut -d: -f1", to);
    CHECK(index > 0 && index < pictures);
    CHECK_INT(
        ask_number("ffprobe -v quiet -show_entries stream=codec_tag_string -of csv=p=0 '%s' | "
                   "grep -c avc1",
                   to),
        1);
    CHECK_INT(ask_number("find '%s/result' -name '*tmp*' | wc -l", fixtures_out), 0);
}

/* A picture's colours survive coding as H.264. */
static void colors_survive(void) {
    AUTO(store_freep) struct store *output = open_output("out/result");
    static const uint8_t colors[][3] = {{255, 0, 0}, {0, 0, 255}, {128, 128, 128}, {20, 200, 90}};
    struct error err = {0};
    struct listing *listing = NULL;
    AUTO(tree_freep) json_t *spec = spec_of("two.mp4");
    CHECK_OK(video()->list(spec, &listing, &err), &err);
    for (size_t i = 0; listing && i < ARRAY_LEN(colors); i++) {
        AUTO(tree_freep) json_t *work = video()->work(listing, 0, 2);
        AUTO(tree_freep) json_t *outputs = json_array();
        struct parts parts = new_parts(output, 1);
        AUTO(staged_output_freep) struct staged_output *staged = new_try(&parts, 0);
        struct writer *writer = NULL;
        struct picture picture;
        picture_init(&picture, 63, 41);
        for (size_t pixel = 0; pixel < 63 * 41; pixel++) {
            memcpy(picture.pixels + 3 * pixel, colors[i], 3);
        }
        struct result result = {.picture = &picture};
        CHECK_OK(video()->writer_open(spec, work, staged, &writer, &err), &err);
        CHECK_OK(video()->writer_add(writer, &result, &err), &err);
        CHECK_OK(video()->writer_add(writer, &result, &err), &err);
        CHECK_OK(video()->writer_finish(writer, &err), &err);
        video()->writer_free(writer);
        picture_release(&picture);
        CHECK_OK(place_part(&parts, 0, staged, &err), &err);
        CHECK_OK(video()->join(listing, spec, &parts, 2, outputs, &err), &err);
        free(parts.places);
        for (int c = 0; c < 3; c++) {
            long seen = ask_number("ffmpeg -v quiet -i '%s/result/two.mp4' -frames:v 1 -vf "
                                   "scale=in_color_matrix=bt709:in_range=tv,format=rgb24 -f "
                                   "rawvideo - | od -An -tu1 -j%d -N1 | tr -d ' '",
                                   fixtures_out, 3 * (20 * 64 + 31) + c);
            if (labs(seen - colors[i][c]) > 4) {
                printf("# channel %d is %ld, wanted %d\n", c, seen, colors[i][c]);
                test_failures++;
            }
        }
    }
    video()->listing_free(listing);
}

static int write_part(struct parts *parts, int64_t index, const json_t *spec, const json_t *work,
                      int side, struct error *err) {
    AUTO(staged_output_freep) struct staged_output *staged = new_try(parts, index);
    struct writer *writer = NULL;
    struct picture picture;
    picture_init(&picture, side, side);
    struct result result = {.picture = &picture};
    int done = video()->writer_open(spec, work, staged, &writer, err);
    for (int64_t i = 0; done == 0 && i < tree_integer(work, "count", 0); i++) {
        done = video()->writer_add(writer, &result, err);
    }
    done = done < 0 ? done : video()->writer_finish(writer, err);
    done = done < 0 ? done : place_part(parts, index, staged, err);
    video()->writer_free(writer);
    picture_release(&picture);
    return done;
}

static void incomplete_parts_are_told(void) {
    struct error err = {0};
    struct listing *listing = NULL;
    AUTO(tree_freep) json_t *spec = spec_of("bframes.mp4");
    AUTO(tree_freep) json_t *batches = json_array();
    AUTO(tree_freep) json_t *outputs = json_array();
    AUTO(store_freep) struct store *output = open_output("out/result");
    struct parts parts = new_parts(output, 3);
    CHECK_OK(video()->list(spec, &listing, &err), &err);
    for (int64_t first = 0; listing && first < 75; first += 25) {
        json_array_append_new(batches, video()->work(listing, first, 25));
    }
    CHECK_OK(write_part(&parts, 0, spec, json_array_get(batches, 0), 32, &err), &err);
    CHECK_OK(write_part(&parts, 2, spec, json_array_get(batches, 2), 32, &err), &err);
    CHECK_INT(video()->join(listing, spec, &parts, 25, outputs, &err), -1);
    CHECK(strstr(err.text, "the part with frames 25 to 49, ") && strstr(err.text, "is missing"));
    CHECK(!parts.places[0].is_broken && parts.places[1].is_broken && !parts.places[2].is_broken);
    error_clear(&err);
    /* Pictures of another size cannot be of the same video. */
    CHECK_OK(write_part(&parts, 1, spec, json_array_get(batches, 1), 48, &err), &err);
    CHECK_INT(video()->join(listing, spec, &parts, 25, outputs, &err), -1);
    CHECK(strstr(err.text, "(48x48) has another size than the first (32x32)") != NULL);
    error_clear(&err);
    /* Nor can those of another encoder's settings; the frame rate is one of them. */
    AUTO(tree_freep) json_t *other = json_deep_copy(json_array_get(batches, 1));
    json_object_set_new(other, "frameRate", json_pack("[i, i]", 7, 1));
    CHECK_OK(write_part(&parts, 1, spec, other, 32, &err), &err);
    CHECK_INT(video()->join(listing, spec, &parts, 25, outputs, &err), -1);
    CHECK(strstr(err.text, "the part from frame 25 on was encoded with other settings") &&
          strstr(err.text, "--restart"));
    error_clear(&err);
    /* A part with fewer frames than its mini-batch, as from another run. */
    AUTO(tree_freep) json_t *shorter = video()->work(listing, 25, 24);
    CHECK_OK(write_part(&parts, 1, spec, shorter, 32, &err), &err);
    CHECK_INT(video()->join(listing, spec, &parts, 25, outputs, &err), -1);
    CHECK(strstr(err.text, "the part from frame 25 on ends too early: frame 49") != NULL);
    CHECK_INT(json_array_size(outputs), 0);
    error_clear(&err);
    CHECK_OK(write_part(&parts, 1, spec, json_array_get(batches, 1), 32, &err), &err);
    CHECK_OK(video()->join(listing, spec, &parts, 25, outputs, &err), &err);
    CHECK_STR(json_string_value(json_array_get(outputs, 0)), "out/result/bframes.mp4");
    /* Bytes that differ from the committed ones: libav does not notice a change inside a frame. */
    struct part part = parts_at(&parts, 2);
    AUTO(text_freep) char *bytes = x_malloc((size_t)part.size_bytes);
    CHECK_OK(part_read(&part, 0, bytes, (size_t)part.size_bytes, &err), &err);
    bytes[part.size_bytes / 2] ^= 1;
    CHECK_OK(store_put(output, part.name, bytes, (size_t)part.size_bytes, STORE_REPLACE, &err),
             &err);
    CHECK_INT(video()->join(listing, spec, &parts, 25, outputs, &err), -1);
    CHECK(strstr(err.text, "try/1-2: differs from what was committed") != NULL);
    CHECK(!parts.places[1].is_broken && parts.places[2].is_broken);
    free(parts.places);
    video()->listing_free(listing);
}

/* As miniBatchSize auto makes them: a cell is a frame, a part is of as many as a lease had. */
static void parts_may_have_any_size(void) {
    static const int sizes[] = {1, 40, 9, 25};
    struct error err = {0};
    struct listing *listing = NULL;
    AUTO(tree_freep) json_t *spec = spec_of("bframes.mp4");
    AUTO(tree_freep) json_t *outputs = json_array();
    AUTO(store_freep) struct store *output = open_output("out/result");
    struct parts parts = new_parts(output, 75);
    CHECK_OK(video()->list(spec, &listing, &err), &err);
    for (int i = 0, first = 0; listing && i < (int)ARRAY_LEN(sizes); first += sizes[i++]) {
        AUTO(tree_freep) json_t *work = video()->work(listing, first, sizes[i]);
        CHECK_OK(write_part(&parts, first, spec, work, 32, &err), &err);
        parts.places[first].cells = sizes[i];
    }
    CHECK_OK(video()->join(listing, spec, &parts, 1, outputs, &err), &err);
    CHECK_STR(json_string_value(json_array_get(outputs, 0)), "out/result/bframes.mp4");
    CHECK_INT(ask_number("ffprobe -v error -count_frames -show_entries stream=nb_read_frames "
                         "-select_streams v -of csv=p=0 '%s/result/bframes.mp4'",
                         fixtures_out),
              75);
    parts.places[41] = (struct part_place){0};
    CHECK_INT(video()->join(listing, spec, &parts, 1, outputs, &err), -1);
    CHECK(strstr(err.text, "the part with frames 41 to 41, ") && strstr(err.text, "is missing"));
    CHECK(parts.places[41].is_broken && parts.places[49].is_broken && !parts.places[50].is_broken);
    free(parts.places);
    video()->listing_free(listing);
}

static void records_become_lines(void) {
    struct error err = {0};
    struct listing *listing = NULL;
    AUTO(store_freep) struct store *output = open_output("out/result");
    struct parts parts = new_parts(output, 2);
    AUTO(tree_freep) json_t *spec = spec_of("two.mp4");
    AUTO(tree_freep) json_t *outputs = json_array();
    CHECK_OK(video()->list(spec, &listing, &err), &err);
    for (int64_t i = 0; listing && i < 2; i++) {
        AUTO(tree_freep) json_t *work = video()->work(listing, i, 1);
        AUTO(tree_freep) json_t *record = json_pack("{s:I}", "frame", (json_int_t)i);
        struct result result = {.record = record};
        AUTO(staged_output_freep) struct staged_output *staged = new_try(&parts, i);
        struct writer *writer = NULL;
        CHECK_OK(video()->writer_open(spec, work, staged, &writer, &err), &err);
        CHECK_OK(video()->writer_add(writer, &result, &err), &err);
        CHECK_OK(video()->writer_finish(writer, &err), &err);
        CHECK_OK(place_part(&parts, i, staged, &err), &err);
        video()->writer_free(writer);
    }
    CHECK_OK(video()->join(listing, spec, &parts, 1, outputs, &err), &err);
    free(parts.places);
    CHECK_STR(json_string_value(json_array_get(outputs, 0)), "out/result/two.jsonl");
    char path[8192], *text = NULL;
    size_t size = 0;
    output_of(outputs, path, sizeof path);
    CHECK_OK(file_read(path, 1000, &text, &size, &err), &err);
    CHECK_STR(text, "{\"frame\":0}\n{\"frame\":1}\n");
    free(text);
    video()->listing_free(listing);
}

/* A writer that may not write more than 2000 bytes into a file, as on a full disk. */
static void full_disks_are_told(void) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct error err = {0};
        struct listing *listing = NULL;
        AUTO(tree_freep) json_t *spec = spec_of("bframes.mp4");
        struct store *output = open_output("out/result");
        struct parts parts = new_parts(output, 1);
        CHECK_OK(video()->list(spec, &listing, &err), &err);
        AUTO(tree_freep) json_t *work = video()->work(listing, 0, 75);
        signal(SIGXFSZ, SIG_IGN);
        struct rlimit limit = {2000, 2000};
        setrlimit(RLIMIT_FSIZE, &limit);
        CHECK_INT(write_part(&parts, 0, spec, work, 512, &err), -1);
        CHECK(strstr(err.text, "out/result/.windlass/") && strstr(err.text, "File too large"));
        video()->listing_free(listing);
        fflush(stdout);
        _exit(test_failures ? 1 : 0);
    }
    int status = -1;
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
    CHECK_INT(ask_number("find '%s/result/.windlass' -name '*tmp*' | wc -l", fixtures_out), 0);
}

/* A hash of the film that is made of it, in the decoder's process or in this one. */
static char *hash_of_film(const char *name) {
    struct error err = {0};
    AUTO(tree_freep) json_t *outputs = json_array();
    char to[8192];
    CHECK_OK(make_video(name, 7, outputs, &err), &err);
    output_of(outputs, to, sizeof to);
    AUTO(text_freep) char *hash = x_printf("%ld", ask_number("cksum < '%s' | cut -d' ' -f1", to));
    return TAKE(hash);
}

/* What the decoder's process lists and writes is what this process would, byte by byte: MP4, whose
 * index is moved to its front; sound copied, encoded again, and none; streams that were cut. */
static void apart_as_here(void) {
    static const char *const names[] = {"bframes.mp4", "cut.ts", "vfr.mkv", "mpeg2.mpg",
                                        "fragments.mp4"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (!test_samples(i, ARRAY_LEN(names), 2, test_day())) {
            continue;
        }
        AUTO(text_freep) char *apart = hash_of_film(names[i]);
        AUTO(text_freep) char *program = x_strdup(getenv(DECODER_PROGRAM));
        CHECK(decoder_is_separate());
        unsetenv(DECODER_PROGRAM);
        AUTO(text_freep) char *here = hash_of_film(names[i]);
        setenv(DECODER_PROGRAM, program, 1);
        CHECK_STR(apart, here);
    }
}

/* All of it runs with the decoder's process, which is this program. */
int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "decoder") == 0) {
        return decoder_child_media(argc, argv);
    }
    setenv(DECODER_PROGRAM, "/proc/self/exe", 1);
    fixtures_start("video-join");
    TEST(films_are_there);
    TEST(round_trips);
    TEST(times_are_exact);
    TEST(ready_for_a_browser);
    TEST(colors_survive);
    TEST(incomplete_parts_are_told);
    TEST(parts_may_have_any_size);
    TEST(records_become_lines);
    TEST(apart_as_here);
    TEST(full_disks_are_told);
    return TEST_END();
}
