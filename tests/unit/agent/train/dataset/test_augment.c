// SPDX-License-Identifier: Apache-2.0
/* The effect of each field on a sample whose elements encode their position. */
#include "agent/train/dataset/augment.h"
#include "tests/agent_defaults.h"
#include "tests/unit/agent/train/dataset/sets.h"

#include <math.h>

static struct augment read_augment(const char *augment, const char *normalize,
                                   const struct dataset *dataset) {
    struct augment result = {0};
    struct error err = {0};
    json_t *object = json_loads(augment, 0, NULL), *numbers = json_loads(normalize, 0, NULL);
    fill_part("crds/disttrain.yaml", "spec.trainer.data.augment", object);
    CHECK_OK(augment_read(object, *normalize ? numbers : NULL, dataset, &result, &err), &err);
    json_decref(object);
    json_decref(numbers);
    return result;
}

static struct dataset pictures(int64_t channels, int64_t height, int64_t width) {
    return (struct dataset){
        .count = 1, .classes = 2, .type = TENSOR_UINT8, .shape = {3, {channels, height, width}}};
}

/* Planes of bytes: channel 0 is x, channel 1 is y, channel 2 is x + y. */
static void make_sample(struct sample *sample, int64_t height, int64_t width, bool is_interleaved) {
    uint8_t *to = sample_room(sample, (size_t)(3 * height * width));
    sample->shape = (struct shape){3, {3, height, width}};
    sample->is_interleaved = is_interleaved;
    for (int64_t c = 0; c < 3; c++) {
        for (int64_t y = 0; y < height; y++) {
            for (int64_t x = 0; x < width; x++) {
                int64_t at =
                    is_interleaved ? (y * width + x) * 3 + c : (c * height + y) * width + x;
                to[at] = (uint8_t)(c == 0 ? x : c == 1 ? y : x + y);
            }
        }
    }
}

static void test_plain_samples_are_normalized(void) {
    struct dataset dataset = pictures(3, 4, 5);
    struct augment plain = read_augment("{}", "", &dataset);
    struct augment one =
        read_augment("{}", "{\"mean\": [\"0.5\"], \"deviation\": [0.25]}", &dataset);
    struct augment each =
        read_augment("{}", "{\"mean\": [0, \"0.1\", 1], \"deviation\": [1, 2, \"0.5\"]}", &dataset);
    struct augment_draw draw = {.is_training = true};
    AUTO(sample_release) struct sample sample = {0}, interleaved = {0};
    float a[60], b[60], c[60], d[60];
    make_sample(&sample, 4, 5, false);
    make_sample(&interleaved, 4, 5, true);
    augment_fill(&plain, &sample, &draw, a);
    augment_fill(&plain, &interleaved, &draw, d);
    augment_fill(&one, &sample, &draw, b);
    augment_fill(&each, &sample, &draw, c);
    CHECK(memcmp(a, d, sizeof a) == 0);
    static const double mean[] = {0, 0.1, 1}, deviation[] = {1, 2, 0.5};
    for (int i = 0; i < 60; i++) {
        double value = ((uint8_t *)sample.data)[i] / 255.0;
        CHECK(fabs(a[i] - value) < 1e-6 && fabs(b[i] - (value - 0.5) / 0.25) < 1e-6);
        CHECK(fabs(c[i] - (value - mean[i / 20]) / deviation[i / 20]) < 1e-6);
    }
    struct dataset floats = {.count = 1, .target_count = 1, .type = TENSOR_FLOAT32};
    floats.shape = (struct shape){1, {2}};
    struct augment of_floats = read_augment("{}", "{\"mean\": [1], \"deviation\": [2]}", &floats);
    struct sample pair = {.shape = floats.shape, .data = (float[]){3, -5}};
    augment_fill(&of_floats, &pair, &draw, a);
    CHECK(a[0] == 1 && a[1] == -3); /* not divided by 255 */
}

static void test_flip_and_pad_move_every_pixel_alike(void) {
    enum { HIGH = 5, WIDE = 6, PAD = 2, SAMPLES = 4000, PLANE = HIGH * WIDE };
    struct dataset dataset = pictures(3, HIGH, WIDE);
    struct augment augment =
        read_augment("{\"crop\": \"Random\", \"flip\": true, \"pad\": 2}", "", &dataset);
    AUTO(sample_release) struct sample sample = {0};
    int flips = 0, seen[2 * PAD + 1][2 * PAD + 1] = {{0}};
    make_sample(&sample, HIGH, WIDE, false);
    for (int64_t i = 0; i < SAMPLES; i++) {
        float result[3 * PLANE];
        struct augment_draw draw = {.is_training = true, .seed = 5, .epoch = 1, .sample = i};
        augment_fill(&augment, &sample, &draw, result);
        /* The middle always stays: it shows the shift and the flip. */
        long x = lround(result[2 * WIDE + 2] * 255), y = lround(result[PLANE + 2 * WIDE + 2] * 255);
        long next = lround(result[2 * WIDE + 3] * 255);
        bool is_flipped = next < x || (next == 0 && x != 0 && x != WIDE - 1);
        long shift_x = is_flipped ? x - (WIDE - 1 - 2) : x - 2, shift_y = y - 2;
        flips += is_flipped;
        CHECK(labs(shift_x) <= PAD && labs(shift_y) <= PAD);
        seen[shift_y + PAD][shift_x + PAD]++;
        for (int at = 0; at < PLANE && !test_failures; at++) {
            long from_y = at / WIDE + shift_y, column = at % WIDE;
            long from_x = (is_flipped ? WIDE - 1 - column : column) + shift_x;
            bool is_inside = from_y >= 0 && from_y < HIGH && from_x >= 0 && from_x < WIDE;
            CHECK_INT(lround(result[at] * 255), is_inside ? from_x : 0);
            CHECK_INT(lround(result[PLANE + at] * 255), is_inside ? from_y : 0);
            CHECK_INT(lround(result[2 * PLANE + at] * 255), is_inside ? from_x + from_y : 0);
        }
        draw.is_training = false;
        augment_fill(&augment, &sample, &draw, result);
        CHECK(lround(result[WIDE - 1] * 255) == WIDE - 1 && result[0] == 0);
    }
    CHECK(labs(flips - SAMPLES / 2) < 6 * sqrt(SAMPLES) / 2);
    for (int i = 0; i < 25; i++) {
        CHECK(abs(seen[i / 5][i % 5] - SAMPLES / 25) < 6 * sqrt(SAMPLES / 25.0));
    }
}

static void test_random_resized_cuts_what_it_says(void) {
    enum { HIGH = 120, WIDE = 160, SIZE = 16, PLANE = SIZE * SIZE, SAMPLES = 1000 };
    struct dataset dataset = pictures(3, -1, -1);
    struct augment augment =
        read_augment("{\"crop\": \"RandomResized\", \"size\": 16}", "", &dataset);
    AUTO(sample_release) struct sample sample = {0}, planes = {0};
    double area_low = 1, area_high = 0, area_sum = 0;
    make_sample(&sample, HIGH, WIDE, true);
    make_sample(&planes, HIGH, WIDE, false);
    CHECK(shape_equal(&augment.shape, &(struct shape){3, {3, SIZE, SIZE}}));
    for (int64_t i = 0; i < SAMPLES; i++) {
        float result[3 * PLANE], again[3 * PLANE];
        struct augment_draw draw = {.is_training = true, .seed = 7, .epoch = 2, .sample = i};
        augment_fill(&augment, &sample, &draw, result);
        augment_fill(&augment, &planes, &draw, again);
        CHECK(memcmp(result, again, sizeof result) == 0);
        /* A scaled slope is a slope: between two inner pixels it shows the scale. */
        double wide = (result[SIZE * 8 + 13] - result[SIZE * 8 + 2]) * 255 / 11 * SIZE;
        double high =
            (result[PLANE + SIZE * 13 + 8] - result[PLANE + SIZE * 2 + 8]) * 255 / 11 * SIZE;
        double left = result[SIZE * 8 + 8] * 255 + 0.5 - wide * 8.5 / SIZE;
        double top = result[PLANE + SIZE * 8 + 8] * 255 + 0.5 - high * 8.5 / SIZE;
        double area = wide * high / (HIGH * WIDE), ratio = wide / high;
        CHECK(left > -2 && left + wide < WIDE + 2 && top > -2 && top + high < HIGH + 2);
        CHECK(area > 0.06 && area < 1.05 && ratio > 0.68 && ratio < 1.47);
        area_low = MIN(area_low, area);
        area_high = MAX(area_high, area);
        area_sum += area;
    }
    CHECK(area_low < 0.12 && area_high > 0.85);
    CHECK(fabs(area_sum / SAMPLES - 0.435) < 0.05); /* a crop that does not fit is drawn again */
    float result[3 * PLANE];
    augment_fill(&augment, &sample, &(struct augment_draw){0}, result);
    double wide = (result[SIZE * 8 + 13] - result[SIZE * 8 + 2]) * 255 / 11 * SIZE;
    CHECK(fabs(wide - 105) < 3); /* 7/8 of 120, in the middle */
    CHECK(fabs((result[SIZE * 8 + 7] + result[SIZE * 8 + 8]) * 255 / 2 - 79.5) < 1);
}

static void test_size_alone_cuts_the_middle(void) {
    struct dataset dataset = pictures(1, 8, 12);
    struct augment augment = read_augment("{\"size\": 8}", "", &dataset);
    uint8_t bytes[96];
    for (int i = 0; i < 96; i++) {
        bytes[i] = (uint8_t)i;
    }
    struct sample sample = {.shape = {3, {1, 8, 12}}, .data = bytes};
    float result[64];
    augment_fill(&augment, &sample, &(struct augment_draw){.is_training = true}, result);
    for (int i = 0; i < 64; i++) {
        CHECK_INT(lround(result[i] * 255), i / 8 * 12 + 2 + i % 8);
    }
}

static void test_what_does_not_fit_is_named(void) {
    struct dataset sets[] = {pictures(3, 8, 8),
                             pictures(3, -1, -1),
                             pictures(4, 8, 8),
                             {.count = 1, .classes = 2, .type = TENSOR_FLOAT32, .shape = {1, {9}}}};
    static const struct {
        int set;
        const char *augment, *normalize, *says;
    } rows[] = {
        {0, "{\"crop\": \"Middle\"}", "",
         "augment: crop: one of None, Random, RandomResized is expected"},
        {0, "{\"crop\": \"RandomResized\"}", "",
         "augment.size is missing: crop RandomResized needs it"},
        {0, "{\"size\": 5000}", "", "augment: size: an integer from 1 to 4096"},
        {0, "{\"flip\": 1}", "", "augment: flip: true or false is expected"},
        {1, "{}", "", "augment.size: pictures in a folder have many sizes"},
        {2, "{\"size\": 4}", "", "augment.size: the samples are not pictures with 1 or 3 channels"},
        {3, "{\"flip\": true}", "", "augment: pad and flip need pictures [c, h, w]"},
        {0, "{}", "{\"mean\": [0, 0]}", "normalize.mean: a list of 1 or 3 numbers"},
        {0, "{}", "{\"mean\": [\"x\"], \"deviation\": [1]}",
         "normalize: mean: a number is expected"},
        {0, "{}", "{\"mean\": [0], \"deviation\": [null]}", "normalize: deviation: a number is"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct augment augment;
        struct error err = {0};
        json_t *object = json_loads(rows[i].augment, 0, NULL);
        json_t *normalize = json_loads(rows[i].normalize, 0, NULL);
        fill_part("crds/disttrain.yaml", "spec.trainer.data.augment", object);
        CHECK_INT(augment_read(object, normalize, &sets[rows[i].set], &augment, &err), -1);
        CHECK(strstr(err.text, rows[i].says) || (printf("# %s\n", err.text), 0));
        json_decref(object);
        json_decref(normalize);
    }
}

/* Labels say from which pixel they are. */
static void check_labels(const char *fields, int64_t slack) {
    enum { HIGH = 14, WIDE = 20, DRAWS = 200, IGNORED = -7 };
    struct dataset dataset = pictures(3, HIGH, WIDE);
    dataset.places = (struct shape){2, {HIGH, WIDE}};
    dataset.ignored = IGNORED;
    struct augment augment = read_augment(fields, "", &dataset);
    int64_t height = augment.places.dims[0], width = augment.places.dims[1], outside = 0;
    static float pixels[3 * HIGH * WIDE];
    static int64_t labels[HIGH * WIDE];
    AUTO(sample_release) struct sample sample = {0};
    make_sample(&sample, HIGH, WIDE, true);
    for (int64_t i = 0, *to = sample_labels_room(&sample, HIGH * WIDE); i < HIGH * WIDE; i++) {
        to[i] = i;
    }
    CHECK(augment.moves_places && height == augment.shape.dims[1]);
    for (int k = 0; k < 2 * DRAWS; k++) {
        struct augment_draw draw = {k < DRAWS, 5, 2, k};
        augment_fill(&augment, &sample, &draw, pixels);
        augment_labels(&augment, &sample, &draw, labels);
        for (int64_t i = 0; i < height * width; i++) {
            int64_t x = llroundf(pixels[i] * 255), y = llroundf(pixels[height * width + i] * 255);
            if (labels[i] == IGNORED) {
                CHECK(x == 0 && y == 0 && k < DRAWS);
                outside++;
                continue;
            }
            CHECK(llabs(labels[i] % WIDE - x) <= slack && llabs(labels[i] / WIDE - y) <= slack);
        }
    }
    CHECK((outside > 0) == (strstr(fields, "pad") != NULL));
}

static void test_labels_of_pixels_move_with_them(void) {
    check_labels("{\"flip\": true}", 0);
    check_labels("{\"flip\": true, \"pad\": 3}", 0);
    check_labels("{\"size\": 14}", 0);
    check_labels("{\"size\": 7, \"flip\": true, \"pad\": 1}", 1);
    check_labels("{\"size\": 9, \"crop\": \"RandomResized\", \"flip\": true}", 1);
}

/* Labels that are none of pixels: a sequence stays as it is, a smaller mask is refused. */
static void test_other_labels(void) {
    struct dataset dataset = pictures(3, 4, 4);
    struct augment augment;
    struct error err = {0};
    int64_t labels[3] = {4, 5, 6}, seen[3] = {0};
    struct sample sample = {.shape = dataset.shape, .labels = labels};
    dataset.places = (struct shape){1, {3}};
    augment = read_augment("{\"flip\": true}", "", &dataset);
    augment_labels(&augment, &sample, &(struct augment_draw){.is_training = true}, seen);
    CHECK(!augment.moves_places && memcmp(labels, seen, sizeof seen) == 0);
    dataset.places = (struct shape){2, {2, 2}};
    json_t *fields = json_pack("{s:b}", "flip", 1);
    fill_part("crds/disttrain.yaml", "spec.trainer.data.augment", fields);
    CHECK_INT(augment_read(fields, NULL, &dataset, &augment, &err), -1);
    CHECK(strstr(err.text, "augment: crop, size, pad and flip would have to move the labels"));
    json_decref(fields);
}

int main(void) {
    TEST(test_labels_of_pixels_move_with_them);
    TEST(test_other_labels);
    TEST(test_plain_samples_are_normalized);
    TEST(test_flip_and_pad_move_every_pixel_alike);
    TEST(test_random_resized_cuts_what_it_says);
    TEST(test_size_alone_cuts_the_middle);
    TEST(test_what_does_not_fit_is_named);
    return TEST_END();
}
