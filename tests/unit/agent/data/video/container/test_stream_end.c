// SPDX-License-Identifier: Apache-2.0
/* Films of streams as ffmpeg writes them are complete; wherever they are cut, it is found, unless
 * the cut is exactly between two of their units. */
#include "agent/data/video/container/asf.h"
#include "agent/data/video/container/container.h"
#include "agent/data/video/container/stream_end.h"
#include "tests/seed.h"
#include "tests/unit/agent/data/fixtures.h"

#define SMALL "-f lavfi -i testsrc2=s=64x48:r=25:d=2 -f lavfi -i sine=440:d=2:r=44100 "
#define LIVE_WMV "ff " SMALL "-c:v wmv2 -c:a wmav2 -f asf - | cat >$OUT"
#define SILENT_OGG "e-silent.ogv", "ff -f lavfi -i testsrc2=s=64x48:r=25:d=2 -c:v libtheora $OUT"
#define LIVE "ff " SMALL "-c:v mpeg2video -c:a mp2 -f "

static const struct kind {
    const char *name, *command;
    const char *format; /* libav's demuxer */
    int64_t unit;       /* cuts at multiples of it are not found; 1: all are; 0: it is complete */
} kinds[] = {
    {"e-plain.ts", LIVE "mpegts $OUT", "mpegts", 188},
    {"e-disc.m2ts", LIVE "mpegts -mpegts_m2ts_mode 1 $OUT", "mpegts", 192},
    /* As it is received: begins in the middle of everything. */
    {"e-live.ts", LIVE "mpegts whole-$OUT && tail -c +25381 whole-$OUT >$OUT && rm whole-$OUT",
     "mpegts", 188},
    {"e-mpeg2.mpg", LIVE "vob $OUT", "mpeg", 2048},
    {"e-mpeg1.mpg", "ff " SMALL "-c:v mpeg1video -c:a mp2 -f mpeg $OUT", "mpeg", 2048},
    {"e-theora.ogv", "ff " SMALL "-c:v libtheora -c:a libvorbis $OUT", "ogg", 1},
    {SILENT_OGG, "ogg", 1},
    {"e-h264.flv",
     "ff -f lavfi -i testsrc2=s=64x48:r=25:d=6 -f lavfi -i sine=440:d=6 -c:v libx264 -c:a aac $OUT",
     "flv", 1},
    {"e-slow.flv", "ff -f lavfi -i testsrc2=s=64x48:r=0.2:d=30 -c:v flv $OUT", "flv", 0},
    {"e-h264.nut", "ff " SMALL "-c:v libx264 -c:a flac $OUT", "nut", 1},
    {"e-bare.nut", "ff " SMALL "-c:v mpeg4 -c:a mp2 -write_index 0 $OUT", "nut", 1},
    {"e-raw.nut",
     "ff -f lavfi -i testsrc2=s=320x240:r=25:d=0.6 -c:v rawvideo -pix_fmt yuv444p -write_index 0 "
     "$OUT",
     "nut", 1},
    {"e-live.wmv", LIVE_WMV, "asf", 1},
};

/* A file of which only the first bytes are there. */
struct file {
    char *bytes;
    size_t size, cut;
};

static int64_t read_cut(void *context, int64_t offset, void *data, size_t size) {
    const struct file *file = context;
    size_t at = MIN((size_t)offset, file->cut), got = MIN(size, file->cut - at);
    memcpy(data, file->bytes + at, got);
    return (int64_t)got;
}

static struct file load(const struct kind *kind) {
    char path[8192];
    struct file file = {0};
    struct error err = {0};
    CHECK_INT(fixture(kind->name, kind->command), 0);
    snprintf(path, sizeof path, "%s/%s", fixtures_folder, kind->name);
    CHECK_OK(file_read(path, 1 << 24, &file.bytes, &file.size, &err), &err);
    file.cut = file.size;
    return file;
}

static const char *end_of(struct file *file, const char *format) {
    struct error err = {0};
    struct video_source *source = NULL;
    struct video_origin origin = {file, (int64_t)file->cut, read_cut};
    CHECK_OK(video_source_open("media/x", &origin, &source, &err), &err);
    const char *end = stream_end_find(source, format);
    video_source_free(source);
    return end;
}

static void whole_ones_are_whole(void) {
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct file file = load(&kinds[i]);
        const char *end = end_of(&file, kinds[i].format);
        if (end) {
            printf("# %s ends %s\n", kinds[i].name, end);
            test_failures++;
        }
        free(file.bytes);
    }
}

/* Percent of all cuts: those between two packets, of which no size is known. */
static int64_t seldom(const char *format) {
    return strcmp(format, "nut") == 0 ? 5 : strcmp(format, "asf") == 0;
}

static void cuts_are_found(void) {
    uint64_t seed = test_seed(test_day());
    printf("# SOAK_SEED=%llu\n", (unsigned long long)seed);
    srand48((long)seed);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct file file = load(&kinds[i]);
        int64_t missed = 0;
        /* Behind the headers, and more than a second before the end, which FLV declares in time. */
        for (int64_t round = 0; kinds[i].unit && round < test_rounds(200); round++) {
            file.cut = (size_t)((0.2 + 0.4 * drand48()) * (double)file.size);
            bool is_between = kinds[i].unit > 1 && (int64_t)file.cut % kinds[i].unit == 0;
            if (!is_between && !end_of(&file, kinds[i].format)) {
                printf("# %s: cut at byte %zu of %zu\n", kinds[i].name, file.cut, file.size);
                missed++;
            }
        }
        CHECK(missed <= seldom(kinds[i].format) * MAX(test_rounds(200), (int64_t)100) / 100);
        free(file.bytes);
    }
}

/* Ogg: also between two pages, for the last one of a stream is marked. */
static void pages_that_lack_are_found(void) {
    static const struct kind film = {SILENT_OGG, "ogg", 1};
    struct file file = load(&film);
    int pages = 0;
    for (size_t at = file.size - 5; at > file.size / 2; at--) {
        if (memcmp(file.bytes + at, "OggS", 5) == 0) {
            file.cut = at;
            pages++;
            CHECK_STR(end_of(&file, film.format), "without the page that marks its end");
        }
    }
    CHECK(pages > 0);
    free(file.bytes);
}

/* Other formats, empty files and noise show nothing. */
static void nothing_is_made_up(void) {
    static const char *const formats[] = {"mpegts", "mpeg", "ogg", "flv", "nut", "asf", "mov", ""};
    struct file noise = {.bytes = x_malloc(300000), .size = 300000};
    srand48((long)test_seed(test_day()));
    for (size_t i = 0; i < noise.size; i++) {
        noise.bytes[i] = (char)lrand48();
    }
    for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
        for (noise.cut = 1; noise.cut <= noise.size; noise.cut = noise.cut * 3 + 1) {
            const char *end = end_of(&noise, formats[i]);
            CHECK(!end);
        }
    }
    free(noise.bytes);
}

/* WMV declares the bytes of its packets. */
static void windows_media(void) {
    static const struct kind film = {"e-wma.wmv", "ff " SMALL "-c:v wmv2 -c:a wmav2 $OUT", "", 1};
    struct file file = load(&film);
    for (int i = 0; i < 20; i++) {
        struct error err = {0};
        struct video_source *source = NULL;
        int64_t missing = 0;
        file.cut = i ? file.size / 2 + (size_t)i * (file.size / 50) : file.size;
        struct video_origin origin = {&file, (int64_t)file.cut, read_cut};
        CHECK_OK(video_source_open("media/x", &origin, &source, &err), &err);
        CHECK_INT(container_check(source, &missing), i ? CONTAINER_CUT : CONTAINER_UNKNOWN);
        CHECK(!i || (missing > 0 && missing <= (int64_t)(file.size - file.cut)));
        video_source_free(source);
    }
    free(file.bytes);
}

/* A live one that is not cut inside of a packet is neither refused nor called cut, whether it has
 * an index or not; one whose header declares another kind is refused. */
static void windows_media_live(void) {
    static const struct kind film = {"e-live.wmv", LIVE_WMV, "asf", 1};
    enum { FLAGS_AT = 30 + 88, SIZE_AT = 16 };
    struct error err = {0};
    struct file file = load(&film);
    struct video_source *source = NULL;
    struct video_origin origin = {&file, (int64_t)file.size, read_cut};
    struct asf asf;
    int64_t missing = 0;
    CHECK_OK(video_source_open("media/x", &origin, &source, &err), &err);
    CHECK(asf_read(source, &asf) && asf.is_live && asf.packet_bytes > 0);
    video_source_free(source);
    file.bytes[asf.packets_at - 50 + SIZE_AT + 3] = 1; /* its size means nothing */
    for (int i = 1; i < 10; i++) {
        file.cut = (size_t)(asf.packets_at + i * asf.packet_bytes);
        CHECK(!end_of(&file, "asf"));
        origin.size_bytes = (int64_t)file.cut;
        for (int is_live = 0; is_live < 2; is_live++) {
            file.bytes[FLAGS_AT] = (char)is_live;
            CHECK_OK(video_source_open("media/x", &origin, &source, &err), &err);
            CHECK_INT(container_check(source, &missing),
                      is_live ? CONTAINER_UNKNOWN : CONTAINER_CUT);
            video_source_free(source);
        }
    }
    free(file.bytes);
}

int main(void) {
    fixtures_start("stream-end");
    TEST(whole_ones_are_whole);
    TEST(cuts_are_found);
    TEST(pages_that_lack_are_found);
    TEST(nothing_is_made_up);
    TEST(windows_media);
    TEST(windows_media_live);
    return TEST_END();
}
