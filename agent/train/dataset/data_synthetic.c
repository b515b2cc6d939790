// SPDX-License-Identifier: Apache-2.0
/* A class is a pattern of 4x4 fields per channel; a sample is the pattern of its class plus noise.
 * So it can be learned, and no files are needed: for benchmarks and tests. */
#include "agent/train/dataset/dataset.h"

#include "agent/train/dataset/fields.h"
#include "agent/train/dataset/order.h"
#include "lib/digest.h"

#include <stdlib.h>

enum { CLASSES_UNKNOWN = 10 }; /* of a network that is a file */
enum { FIELDS = 4, LEVEL_LOW = 64, LEVELS = 128, NOISE = 48 };
enum stream { STREAM_LABEL, STREAM_NOISE, STREAM_PATTERN }; /* used as epochs in chance() */

struct synthetic_set {
    struct dataset base;
    uint64_t seed;
    uint8_t *patterns; /* [classes, c, FIELDS, FIELDS] */
};

static void synthetic_close(struct dataset *dataset) {
    free(((struct synthetic_set *)dataset)->patterns);
    free(dataset);
}

static int read_shape(const json_t *sides, struct shape *ret_shape, struct error *err) {
    struct shape shape = {.rank = 3};
    int64_t elements = 1;
    for (size_t i = 0; i < 3; i++) {
        int64_t side = json_integer_value(json_array_get(sides, i));
        if (json_array_size(sides) != 3 || side < 1 || side > DATASET_SIDE_MAX ||
            (elements *= side) > DATASET_SAMPLE_BYTES) {
            return error_set(err, ERROR_INVALID,
                             "shape: three sizes [channels, height, width] of at most %d MiB are "
                             "expected",
                             DATASET_SAMPLE_BYTES >> 20);
        }
        shape.dims[i] = side;
    }
    *ret_shape = shape;
    return 0;
}

/* An optional field: dataset.h says what it is without. */
static int read_classes(const json_t *fields, int64_t of_model, int64_t *ret_classes,
                        struct error *err) {
    *ret_classes = of_model ? of_model : CLASSES_UNKNOWN;
    return json_object_get(fields, "classes")
               ? fields_integer(fields, "classes", (int64_t[]){2, DATASET_CLASSES_MAX}, ret_classes,
                                err)
               : 0;
}

static int synthetic_open(const json_t *fields, const struct dataset_options *options,
                          struct dataset **ret_dataset, struct error *err) {
    AUTO(dataset_closep) struct dataset *base = x_calloc(1, sizeof(struct synthetic_set));
    struct synthetic_set *set = (struct synthetic_set *)base;
    const json_t *shape = json_object_get(fields, "shape");
    int64_t seed;
    base->ops = &dataset_synthetic;
    if (fields_integer(fields, "count", (int64_t[]){1, DATASET_COUNT_MAX}, &base->count, err) < 0 ||
        read_classes(fields, options->classes, &base->classes, err) < 0 ||
        fields_integer(fields, "seed", (int64_t[]){0, INT64_MAX}, &seed, err) < 0 ||
        read_shape(shape ? shape : options->shape, &base->shape, err) < 0) {
        return -1;
    }
    set->seed = (uint64_t)seed;
    base->type = TENSOR_UINT8;
    size_t count = (size_t)(base->classes * base->shape.dims[0] * FIELDS * FIELDS);
    set->patterns = x_calloc(count, 1);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = philox_bits(set->seed, STREAM_PATTERN, (int64_t)i, 0);
        set->patterns[i] = (uint8_t)(LEVEL_LOW + philox_below(bits, LEVELS));
    }
    base->digest = digest_crc32c(0, set->patterns, count);
    base->digest = digest_crc32c(base->digest, &base->count, sizeof base->count);
    *ret_dataset = TAKE(base);
    return 0;
}

static int synthetic_read(struct dataset *dataset, int64_t index, struct sample *sample,
                          struct error *err UNUSED) {
    const struct synthetic_set *set = (struct synthetic_set *)dataset;
    int64_t channels = dataset->shape.dims[0], height = dataset->shape.dims[1];
    int64_t width = dataset->shape.dims[2];
    uint64_t state = philox_bits(set->seed, STREAM_NOISE, index, 0) | 1;
    sample->shape = dataset->shape;
    sample->is_interleaved = false;
    sample->label = philox_below(philox_bits(set->seed, STREAM_LABEL, index, 0), dataset->classes);
    uint8_t *to = sample_room(sample, (size_t)(channels * height * width));
    const uint8_t *pattern = set->patterns + sample->label * channels * FIELDS * FIELDS;
    for (int64_t c = 0; c < channels; c++, pattern += FIELDS * FIELDS) {
        for (int64_t y = 0; y < height; y++) {
            const uint8_t *row = pattern + y * FIELDS / height * FIELDS;
            for (int64_t x = 0; x < width; x++) {
                state ^= state << 13; /* xorshift64 (Marsaglia): noise need not be better */
                state ^= state >> 7;
                state ^= state << 17;
                int noise = (int)((state >> 32) * (2 * NOISE + 1) >> 32) - NOISE;
                *to++ = (uint8_t)(row[x * FIELDS / width] + noise);
            }
        }
    }
    return 0;
}

const struct dataset_ops dataset_synthetic = {
    .name = "synthetic", .open = synthetic_open, .read = synthetic_read, .close = synthetic_close};
