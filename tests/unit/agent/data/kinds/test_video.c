// SPDX-License-Identifier: Apache-2.0
#include "agent/data/decoder/decoder.h"
#include "agent/data/decoder/decoder_child.h"
#include "agent/data/video/video_index.h"
#include "lib/digest.h"
#include "tests/seed.h"
#include "tests/unit/agent/data/video/films.h"

/* Reads a lease; appends one digest per frame. `reader` is kept between calls. */
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
        if (result != READER_ITEM) {
            if (result != READER_END) {
                printf("# %s\n", result == READER_FAULT ? name : err.text);
            }
            return result == READER_END ? i : -1;
        }
        digest_sha256(picture.pixels, (size_t)picture.width * (size_t)picture.height * 3,
                      digests[i]);
        picture_release(&picture);
    }
}

/* Every frame is the same picture whether it is read at once, in small leases from fresh readers in
 * any order, or in small leases by one reader in order. */
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
    uint64_t seed = films_seed();
    for (size_t i = 0; i < ARRAY_LEN(films); i++) {
        struct error err = {0};
        struct listing *listing = NULL;
        AUTO(tree_freep) json_t *spec = spec_of(films[i].name);
        int before = test_failures;
        if (!test_samples(i, ARRAY_LEN(films), 5, seed) || film_make(&films[i]) < 0) {
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

/* That the other tests need, whatever the sample has. */
static void films_are_there(void) {
    for (size_t i = 0; i < ARRAY_LEN(films); i++) {
        if (strcmp(films[i].name, "turned.mp4") == 0 || strcmp(films[i].name, "two.mp4") == 0) {
            CHECK_INT(film_make(&films[i]), 0);
        }
    }
}

static void turned_films_stand_upright(void) {
    struct error err = {0};
    struct listing *listing = NULL;
    AUTO(tree_freep) json_t *spec = spec_of("turned.mp4");
    CHECK_OK(video()->list(spec, &listing, &err), &err);
    AUTO(tree_freep) json_t *work = listing ? video()->work(listing, 0, 1) : NULL;
    CHECK_INT(tree_integer(work, "width", 0), 120);
    CHECK_INT(tree_integer(work, "height", 0), 160);
    struct reader *reader = NULL;
    CHECK_OK(video()->reader_open(spec, work, &reader, &err), &err);
    struct picture picture = {0};
    const char *name = NULL;
    CHECK_OK(video()->reader_next(reader, &picture, &name, &err), &err);
    CHECK_STR(name, "frame 0");
    CHECK_INT(picture.width, 120);
    CHECK_INT(picture.height, 160);
    /* The upper left corner is where ffmpeg, which rotates pictures itself, puts it. */
    char path[8192];
    snprintf(path, sizeof path, "%s/turned.mp4", fixtures_folder);
    for (int channel = 0; channel < 3 && picture.pixels; channel++) {
        int at = 3 * (40 * 120 + 17) + channel;
        long wanted = ask_number("ffmpeg -v quiet -i '%s' -frames:v 1 -vf format=rgb24 -f rawvideo "
                                 "- | od -An -tu1 -j%d -N1 | tr -d ' '",
                                 path, at);
        CHECK(labs(wanted - picture.pixels[at]) <= 6);
    }
    picture_release(&picture);
    video()->reader_free(reader);
    video()->listing_free(listing);
}

/* A film of one colour, coded with every matrix and range, comes out as that colour. */
static void colors_are_exact(void) {
    static const struct {
        const char *matrix, *tag, *range;
    } rows[] = {{"bt709", "bt709", "tv"},
                {"bt709", "bt709", "pc"},
                {"bt601", "smpte170m", "tv"},
                {"bt601", "smpte170m", "pc"},
                {"bt2020", "bt2020nc", "tv"}};
    static const uint8_t color[3] = {0xC0, 0x40, 0x20};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char name[64], command[1024];
        snprintf(name, sizeof name, "color-%s-%s.mp4", rows[i].matrix, rows[i].range);
        snprintf(command, sizeof command,
                 "ff -f lavfi -i color=0xC04020:s=64x64:r=5:d=1,format=rgb24,"
                 "scale=out_color_matrix=%s:out_range=%s,format=yuv444p -c:v libx264 -qp 1 "
                 "-colorspace %s -color_range %s $OUT",
                 rows[i].matrix, rows[i].range, rows[i].tag, rows[i].range);
        if (fixture(name, command) < 0) {
            continue;
        }
        struct error err = {0};
        struct listing *listing = NULL;
        struct reader *reader = NULL;
        struct picture picture = {0};
        const char *item = NULL;
        AUTO(tree_freep) json_t *spec = spec_of(name);
        CHECK_OK(video()->list(spec, &listing, &err), &err);
        AUTO(tree_freep) json_t *work = listing ? video()->work(listing, 2, 1) : NULL;
        CHECK_OK(video()->reader_open(spec, work, &reader, &err), &err);
        CHECK_INT(video()->reader_next(reader, &picture, &item, &err), 1);
        for (int c = 0; c < 3 && picture.pixels; c++) {
            int seen = picture.pixels[3 * (30 * 64 + 30) + c];
            if (abs(seen - color[c]) > 2) {
                printf("# %s: channel %d is %d, wanted %d\n", name, c, seen, color[c]);
                test_failures++;
            }
        }
        picture_release(&picture);
        video()->reader_free(reader);
        video()->listing_free(listing);
    }
}

/* In place, before a lease is begun and after its frames are read. */
static void a_film_that_changes_is_told(void) {
    struct error err = {0};
    struct listing *listing = NULL;
    struct reader *reader = NULL;
    struct picture picture = {0};
    const char *name = NULL;
    char command[3 * 4200];
    snprintf(command, sizeof command, "cp '%s/two.mp4' '%s/changes.mp4'", fixtures_folder,
             fixtures_out);
    CHECK_INT(system(command), 0);
    AUTO(tree_freep)
    json_t *spec = json_pack("{s:{s:{s:s}},s:{s:s}}", "input", "video", "path", "out/changes.mp4",
                             "output", "path", "out/films");
    CHECK_OK(video()->list(spec, &listing, &err), &err);
    AUTO(tree_freep) json_t *work = listing ? video()->work(listing, 0, 1) : NULL;
    CHECK(*tree_text(work, "state", ""));
    CHECK_OK(video()->reader_open(spec, work, &reader, &err), &err);
    CHECK_INT(video()->reader_next(reader, &picture, &name, &err), 1);
    picture_release(&picture);
    CHECK_INT(video()->reader_next(reader, &picture, &name, &err), 0);
    CHECK_OK(video()->reader_open(spec, work, &reader, &err), &err);
    CHECK_INT(video()->reader_next(reader, &picture, &name, &err), 1);
    picture_release(&picture);
    snprintf(command, sizeof command, "touch -d 2001-02-03 '%s/changes.mp4'", fixtures_out);
    CHECK_INT(system(command), 0);
    CHECK_INT(video()->reader_next(reader, &picture, &name, &err), -1);
    CHECK_INT(err.kind, ERROR_CONFLICT);
    CHECK_STR(err.text, "out/changes.mp4: has changed since it was listed");
    error_clear(&err);
    CHECK_INT(video()->reader_open(spec, work, &reader, &err), -1);
    CHECK_INT(err.kind, ERROR_CONFLICT);
    video()->reader_free(reader);
    video()->listing_free(listing);
}

/* All of it runs with the decoder's process, which is this program. */
int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "decoder") == 0) {
        return decoder_child_media(argc, argv);
    }
    setenv(DECODER_PROGRAM, "/proc/self/exe", 1);
    fixtures_start("video");
    TEST(counts_and_leases);
    TEST(films_are_there);
    TEST(turned_films_stand_upright);
    TEST(colors_are_exact);
    TEST(a_film_that_changes_is_told);
    return TEST_END();
}
