// SPDX-License-Identifier: Apache-2.0
#include "agent/data/image/image.h"
#include "tests/unit/agent/data/fixtures.h"

#define HALVES "-f lavfi -i \"color=red:s=32x16[a];color=blue:s=32x16[b];[a][b]hstack\" -frames:v 1"
#define GREY "-f lavfi -i color=gray:s=40x30 -frames:v 1"

/* Pictures of all kinds and one pixel of each; written by libav, not by the libraries that we read
 * with. */
static const struct {
    const char *name, *command;
    int width, height, x, y;
    uint8_t pixel[3];
    int tolerance;
} rows[] = {
    {"rgb.png", "ff " HALVES " -pix_fmt rgb24 $OUT", 64, 16, 5, 5, {255, 0, 0}, 3},
    {"rgb16.png", "ff " HALVES " -pix_fmt rgb48be $OUT", 64, 16, 60, 9, {0, 0, 255}, 3},
    {"grey.png", "ff " GREY " -pix_fmt gray $OUT", 40, 30, 7, 7, {128, 128, 128}, 2},
    {"grey16.png", "ff " GREY " -pix_fmt gray16be $OUT", 40, 30, 7, 7, {128, 128, 128}, 2},
    {"mono.png",
     "ff " GREY " -vf eq=brightness=1 -pix_fmt monob $OUT",
     40,
     30,
     7,
     7,
     {255, 255, 255},
     0},
    {"clear.png",
     "ff -f lavfi -i color=red@0.0:s=20x20,format=rgba -frames:v 1 $OUT",
     20,
     20,
     3,
     3,
     {255, 255, 255},
     0},
    {"half.png",
     "ff -f lavfi -i color=black@0.5:s=20x20,format=rgba -frames:v 1 $OUT",
     20,
     20,
     3,
     3,
     {188, 188, 188},
     70}, /* where white shows through black: by light or by number */
    {"rgb.jpg", "ff " HALVES " -pix_fmt yuvj444p -q:v 2 $OUT", 64, 16, 5, 5, {254, 0, 0}, 4},
    {"small.jpg", "ff " HALVES " -pix_fmt yuvj420p -q:v 2 $OUT", 64, 16, 58, 5, {0, 0, 254}, 4},
    {"grey.jpg", "ff " GREY " -pix_fmt gray -q:v 2 $OUT", 40, 30, 7, 7, {128, 128, 128}, 3},
};

static int decode_file(const char *name, struct picture *picture, struct error *err) {
    AUTO(text_freep) char *path = x_printf("%s/%s", fixtures_folder, name);
    AUTO(text_freep) char *bytes = NULL;
    size_t size = 0;
    return file_read(path, IMAGE_BYTES_MAX, &bytes, &size, err) < 0
               ? -1
               : image_decode(bytes, size, picture, err);
}

static void kinds_of_pictures(void) {
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct picture picture = {0};
        if (fixture(rows[i].name, rows[i].command) < 0) {
            continue;
        }
        CHECK_OK(decode_file(rows[i].name, &picture, &err), &err);
        CHECK_INT(picture.width, rows[i].width);
        CHECK_INT(picture.height, rows[i].height);
        for (int c = 0; c < 3 && picture.pixels; c++) {
            int seen = picture.pixels[3 * (rows[i].y * picture.width + rows[i].x) + c];
            if (abs(seen - rows[i].pixel[c]) > rows[i].tolerance) {
                printf("# %s: channel %d is %d, wanted %d\n", rows[i].name, c, seen,
                       rows[i].pixel[c]);
                test_failures++;
            }
        }
        picture_release(&picture);
    }
}

static void fill(struct picture *picture) {
    for (int y = 0; y < picture->height; y++) {
        for (int x = 0; x < picture->width; x++) {
            uint8_t *pixel = picture->pixels + 3 * (y * picture->width + x);
            pixel[0] = (uint8_t)(2 * x);
            pixel[1] = (uint8_t)(3 * y);
            pixel[2] = (uint8_t)(x + y);
        }
    }
}

static void there_and_back(void) {
    static const int sizes[][2] = {{1, 1}, {3, 2}, {77, 41}, {1, 60}};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        for (enum image_format format = IMAGE_JPEG; format <= IMAGE_PNG; format++) {
            struct error err = {0};
            struct picture before, after = {0};
            uint8_t *bytes = NULL;
            size_t size = 0;
            picture_init(&before, sizes[i][0], sizes[i][1]);
            fill(&before);
            CHECK_OK(image_encode(&before, format, &bytes, &size, &err), &err);
            CHECK_INT(image_sniff(bytes, size), format);
            int64_t width = 0, height = 0;
            CHECK(image_read_size(bytes, size, &width, &height));
            CHECK_INT(width, before.width);
            CHECK_INT(height, before.height);
            CHECK(!image_read_size(bytes, IMAGE_SNIFF_BYTES, &width, &height));
            CHECK(!image_read_size("GIF89a......", 12, &width, &height));
            CHECK_OK(image_decode(bytes, size, &after, &err), &err);
            CHECK_INT(after.width, before.width);
            CHECK_INT(after.height, before.height);
            int worst = 0;
            for (int k = 0; after.pixels && k < 3 * before.width * before.height; k++) {
                worst = MAX(worst, abs(before.pixels[k] - after.pixels[k]));
            }
            CHECK(worst <= (format == IMAGE_PNG ? 0 : 24));
            free(bytes);
            picture_release(&before);
            picture_release(&after);
        }
    }
}

/* A file that is a PNG by its first bytes alone has no size. */
static void a_png_without_its_first_chunk(void) {
    static const char damaged[] = "\x89PNG\r\n\x1a\n\0\0\0\rIDAT\0\0\0\1\0\0\0\1";
    int64_t width = 0, height = 0;
    CHECK_INT(image_sniff(damaged, sizeof damaged - 1), IMAGE_PNG);
    CHECK(!image_read_size(damaged, sizeof damaged - 1, &width, &height));
}

/* A JPEG of 64x16 with an Exif segment, in both byte orders, turned upright. */
static void orientation_is_carried_out(void) {
    static const uint8_t little[] = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 0x01, 3,
                                     0,   1,   0,  0, 0, 6, 0, 0, 0, 0, 0,    0,    0};
    static const uint8_t big[] = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0,
                                  3,   0,   0, 0,  1, 0, 8, 0, 0, 0, 0,    0,    0};
    for (int is_big = 0; is_big < 2; is_big++) {
        struct error err = {0};
        struct picture flat, seen = {0};
        uint8_t *bytes = NULL;
        size_t size = 0;
        picture_init(&flat, 64, 16);
        fill(&flat);
        CHECK_OK(image_encode(&flat, IMAGE_JPEG, &bytes, &size, &err), &err);
        uint8_t file[16384] = {0xFF, 0xD8, 0xFF, 0xE1, 0, 2 + 6 + sizeof big, 'E', 'x', 'i', 'f'};
        memcpy(file + 12, is_big ? big : little, sizeof big);
        memcpy(file + 12 + sizeof big, bytes + 2, size - 2);
        CHECK_OK(image_decode(file, size + 10 + sizeof big, &seen, &err), &err);
        CHECK_INT(seen.width, 16);
        CHECK_INT(seen.height, 64);
        /* 6 turns clockwise: the old left column is the new top row; 8 turns the other way. */
        const uint8_t *top = seen.pixels, *bottom = seen.pixels + 3 * 16 * 63;
        CHECK(is_big ? top[0] > 110 && bottom[0] < 12 : top[0] < 12 && bottom[0] > 110);
        CHECK(is_big ? top[1] < 12 && top[3 * 15 + 1] > 35 : top[1] > 35 && top[3 * 15 + 1] < 12);
        free(bytes);
        picture_release(&flat);
        picture_release(&seen);
    }
}

/* All eight orientations of a 2x3 picture whose pixels are numbered. */
static void orientations(void) {
    static const char *const wanted[] = {"012345", "012345", "103254", "543210", "452301",
                                         "024135", "420531", "531420", "135024"};
    for (int orientation = 1; orientation <= 8; orientation++) {
        struct picture picture;
        picture_init(&picture, 2, 3);
        for (int i = 0; i < 6; i++) {
            picture.pixels[3 * i] = (uint8_t)('0' + i);
        }
        picture_orient(&picture, orientation);
        char seen[7] = "";
        for (int i = 0; i < 6; i++) {
            seen[i] = (char)picture.pixels[3 * i];
        }
        CHECK_STR(seen, wanted[orientation]);
        CHECK_INT(picture.width, orientation >= 5 ? 3 : 2);
        picture_release(&picture);
    }
}

static void padding(void) {
    struct picture picture, seen;
    picture_init(&picture, 3, 2);
    fill(&picture);
    picture_pad(&picture, 5, 4, &seen);
    CHECK_INT(seen.pixels[3 * (0 * 5 + 4)], 4);
    CHECK_INT(seen.pixels[3 * (3 * 5 + 1) + 1], 3);
    CHECK_INT(seen.pixels[3 * (3 * 5 + 4) + 2], 3);
    picture_release(&seen);
    picture_release(&picture);
}

/* A change of a file's bytes: from `at` on `without` ones are left out, and others are put there.
 */
struct change {
    size_t at, without;
    const char *with;
    size_t with_size;
    bool is_good;
};

/* False: the changed JPEG is refused, as corrupt. */
static bool decodes(const uint8_t *jpeg, size_t size, const struct change *change,
                    struct picture *ret) {
    size_t rest = change->at + change->without;
    uint8_t *bytes = x_malloc(size + change->with_size);
    struct error err = {0};
    memcpy(bytes, jpeg, change->at);
    memcpy(bytes + change->at, change->with, change->with_size);
    memcpy(bytes + change->at + change->with_size, jpeg + rest, size - rest);
    int result = image_decode(bytes, size - change->without + change->with_size, ret, &err);
    CHECK(result == 0 || text_starts(err.text, "corrupt JPEG: "));
    error_clear(&err);
    free(bytes);
    return result == 0;
}

static uint8_t *marker(uint8_t *jpeg, size_t size, int number) {
    const uint8_t wanted[] = {0xFF, (uint8_t)number};
    return memmem(jpeg, size, wanted, sizeof wanted);
}

/* libjpeg only warns of damage, and shows its first warning alone. What cameras add is harmless. */
static void damaged_jpegs_are_refused(void) {
    static const char zeros[20] = "", stuffed[] = "\xFF\0\xFF\0\xFF\0\xFF\0\xFF\0\xFF\0\xFF",
                      junk[] = "left over of damage";
    struct error err = {0};
    struct picture picture, seen = {0};
    uint8_t *jpeg = NULL;
    size_t size = 0;
    picture_init(&picture, 160, 120);
    srand48(1);
    for (int i = 0; i < 3 * 160 * 120; i++) {
        picture.pixels[i] = (uint8_t)lrand48();
    }
    setenv("TJ_RESTART", "1", 1); /* a marker behind each row of blocks */
    CHECK_OK(image_encode(&picture, IMAGE_JPEG, &jpeg, &size, &err), &err);
    unsetenv("TJ_RESTART");
    picture_release(&picture);
    CHECK_OK(image_decode(jpeg, size, &picture, &err), &err);
    size_t row = (size_t)(marker(jpeg, size, 0xD2) - jpeg), end = size - 2, head = 20;
    size_t rows_size = (size_t)(marker(jpeg, size, 0xD3) - jpeg) - row;
    const struct change changes[] = {
        {end, 0, zeros, sizeof zeros, true}, {end, 0, stuffed, sizeof stuffed, true},
        {head, 0, junk, sizeof junk, true},  {end, 0, junk, sizeof junk, false},
        {row, 0, junk, sizeof junk, false},  {row, rows_size, "", 0, false},
        {row - 99, 99, "", 0, false},        {row, size - row, "", 0, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        bool is_good = decodes(jpeg, size, &changes[i], &seen);
        if (is_good != changes[i].is_good) {
            printf("# change %zu\n", i);
            test_failures++;
        }
        CHECK(!is_good || memcmp(seen.pixels, picture.pixels, 3 * 160 * 120) == 0);
        picture_release(&seen);
    }
    /* Padding of a sector, before bytes 0xFF, and with what a phone puts behind the picture. */
    static const char sector[4096] = "", tail[8192] = "mpo", filled[64] = "";
    uint8_t padded[sizeof filled + 2 + 2 + sizeof tail] = {0};
    memset(padded + sizeof filled, 0xFF, 2);
    memcpy(padded + sizeof filled + 2, "\xFF\xD9", 2);
    memcpy(padded + sizeof filled + 4, tail, sizeof tail);
    const struct change padding[] = {
        {end, 0, sector, sizeof sector, true},
        {end, 2, (const char *)padded, sizeof padded, true},
        {end, 2, (const char *)padded + 2, sizeof padded - 2, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(padding); i++) {
        CHECK(decodes(jpeg, size, &padding[i], &seen));
        CHECK(seen.pixels && memcmp(seen.pixels, picture.pixels, 3 * 160 * 120) == 0);
        picture_release(&seen);
    }
    /* The harmless warning comes first. */
    uint8_t *gap = x_malloc(size + sizeof junk);
    memcpy(gap, jpeg, head);
    memcpy(gap + head, junk, sizeof junk);
    memcpy(gap + head + sizeof junk, jpeg + head, size - head);
    const struct change behind[] = {{0, 0, "", 0, true},
                                    {end + sizeof junk, 0, zeros, sizeof zeros, true},
                                    {row + sizeof junk, rows_size, "", 0, false},
                                    {row + sizeof junk, size - row, "", 0, false}};
    for (size_t i = 0; i < ARRAY_LEN(behind); i++) {
        CHECK_INT(decodes(gap, size + sizeof junk, &behind[i], &seen), behind[i].is_good);
        picture_release(&seen);
    }
    free(gap);
    free(jpeg);
    picture_release(&picture);
}

/* A file that was cut anywhere is refused: of a progressive one, where a scan's header is cut,
 * libjpeg names an error behind its warning. */
static void cut_jpegs_are_refused(void) {
    static const char *const forms[] = {"TJ_RESTART", "TJ_PROGRESSIVE"};
    for (size_t form = 0; form < ARRAY_LEN(forms); form++) {
        struct error err = {0};
        struct picture picture;
        uint8_t *jpeg = NULL;
        size_t size = 0, accepted = 0;
        picture_init(&picture, 32, 24);
        srand48(2);
        for (int i = 0; i < 3 * 32 * 24; i++) {
            picture.pixels[i] = (uint8_t)lrand48();
        }
        setenv(forms[form], "1", 1);
        CHECK_OK(image_encode(&picture, IMAGE_JPEG, &jpeg, &size, &err), &err);
        unsetenv(forms[form]);
        picture_release(&picture);
        for (size_t cut = 3; cut < size; cut++) {
            if (image_decode(jpeg, cut, &picture, &err) == 0) {
                printf(accepted++ ? "" : "# %s: %zu of %zu bytes\n", forms[form], cut, size);
                picture_release(&picture);
            }
            error_clear(&err);
        }
        CHECK_INT(accepted, 0);
        CHECK_OK(image_decode(jpeg, size, &picture, &err), &err);
        picture_release(&picture);
        free(jpeg);
    }
}

/* What libjpeg warns of in a header and goes on: the picture is complete, and damage behind is
 * seen.
 */
static void odd_headers_hide_no_damage(void) {
    static const char adobe[] = "\xFF\xEE\0\x0E"
                                "Adobe\0\x64\0\0\0\0\x07";
    struct error err = {0};
    struct picture picture, seen = {0};
    uint8_t *jpeg = NULL;
    size_t size = 0;
    picture_init(&picture, 64, 48);
    fill(&picture);
    CHECK_OK(image_encode(&picture, IMAGE_JPEG, &jpeg, &size, &err), &err);
    picture_release(&picture);
    CHECK_OK(image_decode(jpeg, size, &picture, &err), &err);
    size_t scan = (size_t)(marker(jpeg, size, 0xDA) - jpeg) + 11; /* three bytes */
    const struct change changes[] = {{scan, 3, "\0\0\0", 3, true},
                                     {scan, 3, "\1\5\x21", 3, true},
                                     {11, 1, "\2", 1, true},
                                     {20, 0, adobe, sizeof adobe - 1, true}};
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        const struct change *change = &changes[i];
        uint8_t *odd = x_malloc(size + change->with_size);
        size_t rest = change->at + change->without;
        size_t odd_size = size - change->without + change->with_size;
        memcpy(odd, jpeg, change->at);
        memcpy(odd + change->at, change->with, change->with_size);
        memcpy(odd + change->at + change->with_size, jpeg + rest, size - rest);
        const struct change cuts[] = {{0, 0, "", 0, true},
                                      {odd_size - 2, 2, "", 0, false},
                                      {odd_size - 90, 90, "", 0, false},
                                      {odd_size - 90, 40, "", 0, false}};
        for (size_t k = 0; k < ARRAY_LEN(cuts); k++) {
            bool is_good = decodes(odd, odd_size, &cuts[k], &seen);
            CHECK_INT(is_good, cuts[k].is_good);
            CHECK(!is_good || memcmp(seen.pixels, picture.pixels, 3 * 64 * 48) == 0);
            picture_release(&seen);
        }
        free(odd);
    }
    free(jpeg);
    picture_release(&picture);
}

/* Of a progressive JPEG whose scans come in a wrong order the picture may be complete, as here,
 * where the first scan comes twice; libjpeg warns of it as of damage, so it counts as that. */
static void scans_out_of_order_are_refused(void) {
    struct error err = {0};
    struct picture picture, seen = {0};
    uint8_t *jpeg = NULL;
    size_t size = 0;
    picture_init(&picture, 64, 48);
    fill(&picture);
    setenv("TJ_PROGRESSIVE", "1", 1);
    CHECK_OK(image_encode(&picture, IMAGE_JPEG, &jpeg, &size, &err), &err);
    unsetenv("TJ_PROGRESSIVE");
    picture_release(&picture);
    uint8_t *scan = marker(jpeg, size, 0xDA);
    const uint8_t *next = marker(scan, size - (size_t)(scan - jpeg), 0xC4);
    CHECK(next != NULL);
    const struct change twice = {(size_t)(next - jpeg), 0, (const char *)scan,
                                 (size_t)(next - scan), false};
    CHECK(!decodes(jpeg, size, &twice, &seen));
    const struct change same = {0, 0, "", 0, true};
    CHECK(decodes(jpeg, size, &same, &seen));
    picture_release(&seen);
    free(jpeg);
}

/* Headers that claim a huge picture are refused before memory is allocated. */
static void huge_pictures_are_refused(void) {
    struct error err = {0};
    struct picture picture = {0};
    if (fixture("wide.png", "ff -f lavfi -i color=s=16386x2 -frames:v 1 -pix_fmt gray $OUT") == 0) {
        CHECK_INT(decode_file("wide.png", &picture, &err), -1);
        CHECK(text_starts(err.text, "is 16386x2 pixels, at most 16384x16384"));
        error_clear(&err);
    }
    CHECK_INT(picture_check_size(16384, 16384, &err), -1);
    error_clear(&err);
    CHECK_OK(picture_check_size(16384, 8192, &err), &err);
}

int main(void) {
    fixtures_start("image");
    TEST(kinds_of_pictures);
    TEST(there_and_back);
    TEST(a_png_without_its_first_chunk);
    TEST(orientation_is_carried_out);
    TEST(orientations);
    TEST(padding);
    TEST(damaged_jpegs_are_refused);
    TEST(cut_jpegs_are_refused);
    TEST(odd_headers_hide_no_damage);
    TEST(scans_out_of_order_are_refused);
    TEST(huge_pictures_are_refused);
    return TEST_END();
}
