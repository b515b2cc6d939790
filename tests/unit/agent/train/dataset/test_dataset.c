// SPDX-License-Identifier: Apache-2.0
/* Each kind of data set: the written samples are read, from memory or from files; the real
 * Fashion-MNIST; refusals, with the name in the message. */
#include "agent/data/image/image.h"
#include "tests/unit/agent/data/fixtures.h"
#include "tests/unit/agent/train/dataset/sets.h"

#include <math.h>

static void write_file(const char *name, const void *data, size_t size) {
    struct error err = {0};
    AUTO(text_freep) char *path = x_printf("%s/%s", fixtures_out, name);
    AUTO(text_freep) char *folder = x_strndup(path, (size_t)(strrchr(path, '/') - path));
    CHECK_OK(file_make_folders(folder, &err), &err);
    CHECK_OK(file_write(path, data, size, &err), &err);
}

static void run(const char *command) {
    AUTO(text_freep) char *line = x_printf("cd %s && { %s; }", fixtures_out, command);
    CHECK_INT(system(line), 0);
}

/* Both give the same for every sample. */
static void check_same(struct dataset *a, struct dataset *b) {
    AUTO(sample_release) struct sample left = {0}, right = {0};
    struct error err = {0};
    CHECK(a->count == b->count && a->classes == b->classes && a->type == b->type);
    for (int64_t i = 0; i < a->count; i++) {
        CHECK_OK(dataset_read(a, i, &left, &err), &err);
        CHECK_OK(dataset_read(b, i, &right, &err), &err);
        size_t bytes = (size_t)shape_count(&left.shape) * tensor_type_size(a->type);
        CHECK(shape_equal(&left.shape, &right.shape) && left.label == right.label);
        CHECK(memcmp(left.data, right.data, bytes) == 0);
        CHECK(a->target_count == 0 ||
              memcmp(left.target, right.target, (size_t)a->target_count * sizeof(float)) == 0);
    }
}

/* ---- idx ------------------------------------------------------------------------------------ */

enum { COUNT = 7, HIGH = 3, WIDE = 5, IDX_BYTES = 16 + COUNT * HIGH * WIDE };

static void make_idx(uint8_t images[IDX_BYTES], uint8_t labels[8 + COUNT]) {
    memcpy(images, (uint8_t[16]){0, 0, 8, 3, 0, 0, 0, COUNT, 0, 0, 0, HIGH, 0, 0, 0, WIDE}, 16);
    memcpy(labels, (uint8_t[8]){0, 0, 8, 1, 0, 0, 0, COUNT}, 8);
    for (int i = 0; i < COUNT * HIGH * WIDE; i++) {
        images[16 + i] = (uint8_t)(i * 37);
    }
    for (int i = 0; i < COUNT; i++) {
        labels[8 + i] = (uint8_t)(i % 4);
    }
}

static const char idx_plain[] = "{\"idx\": {\"images\": \"out/i.idx\", \"labels\": \"out/l.idx\"}}";

static void test_idx_is_read_packed_and_plain(void) {
    uint8_t images[IDX_BYTES], labels[8 + COUNT];
    make_idx(images, labels);
    write_file("i.idx", images, sizeof images);
    write_file("l.idx", labels, sizeof labels);
    run("gzip -kf i.idx l.idx");
    AUTO(dataset_closep) struct dataset *plain = must_open(idx_plain, NULL);
    AUTO(dataset_closep)
    struct dataset *packed =
        must_open("{\"idx\": {\"images\": \"out/i.idx.gz\", \"labels\": \"out/l.idx.gz\"}}", NULL);
    check_same(plain, packed);
    CHECK_INT(plain->digest, packed->digest);
    CHECK(plain->count == COUNT && plain->classes == 4);
    CHECK(shape_equal(&plain->shape, &(struct shape){3, {1, HIGH, WIDE}}));
    AUTO(sample_release) struct sample sample = {0};
    struct error err = {0};
    CHECK_OK(dataset_read(plain, 5, &sample, &err), &err);
    CHECK(memcmp(sample.data, images + 16 + 5 * HIGH * WIDE, HIGH * WIDE) == 0);
    CHECK_INT(sample.label, 1);
}

static void test_idx_that_is_wrong_is_refused(void) {
    static const struct {
        int at, value, cut; /* of images; at < 0: nothing is changed */
        const char *says;
    } rows[] = {
        {0, 1, 0, "i.idx: is not an IDX file"},
        {2, 13, 0, "i.idx: its elements are of type 0x0d"},
        {3, 0, 0, "i.idx: has 0 axes"},
        {3, 9, 0, "i.idx: has 9 axes"},
        {7, 0, 0, "i.idx: has no elements"},
        {4, 255, 0, "i.idx: is shorter than its header says"},
        {-1, 0, 1, "i.idx: is shorter than its header says"},
        {-1, 0, IDX_BYTES - 10, "i.idx: is truncated within its header"},
        {-1, 0, IDX_BYTES, "i.idx: is not an IDX file"},
        {-1, 0, -1, "i.idx: has 1 bytes after its elements"},
        {7, COUNT - 1, HIGH * WIDE, "6 images, but 7 labels"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint8_t images[IDX_BYTES + 1] = {0}, labels[8 + COUNT];
        struct error err = {0};
        make_idx(images, labels);
        if (rows[i].at >= 0) {
            images[rows[i].at] = (uint8_t)rows[i].value;
        }
        write_file("i.idx", images, (size_t)(IDX_BYTES - rows[i].cut));
        CHECK(!open_set(idx_plain, NULL, &err));
        CHECK(strstr(err.text, rows[i].says) || (printf("# %s\n", err.text), 0));
    }
    struct error err = {0};
    struct dataset_options small = {.memory_bytes = 50};
    CHECK(!open_set("{\"idx\": {\"images\": \"out/i.idx.gz\", \"labels\": \"out/l.idx.gz\"}}",
                    &small, &err));
    CHECK(strstr(err.text, "idx: out/i.idx.gz"));
}

/* A small file may become a very large one. */
static void test_idx_is_unpacked_as_its_header_says(void) {
    static const char set[] =
        "{\"idx\": {\"images\": \"out/m.idx.gz\", \"labels\": \"out/l.idx\"}}";
    uint8_t images[IDX_BYTES], labels[8 + COUNT];
    struct error err = {0};
    AUTO(text_freep) char *wanted = x_printf("has more than %d bytes unpacked", IDX_BYTES);
    make_idx(images, labels);
    write_file("m.idx", images, sizeof images);
    write_file("l.idx", labels, sizeof labels);
    run("{ cat m.idx; head -c 20000000 /dev/zero; } | gzip >m.idx.gz");
    CHECK(!open_set(set, NULL, &err));
    CHECK(strstr(err.text, wanted) || (printf("# %s\n", err.text), 0));
    err = (struct error){0};
    run("printf 'no idx, but longer than a header' | gzip >m.idx.gz");
    CHECK(!open_set(set, NULL, &err));
    CHECK(strstr(err.text, "m.idx.gz: is not an IDX file"));
    error_clear(&err);
    run("printf '\\0\\0\\r\\1\\0\\0\\0\\1\\0\\0\\0\\0' | gzip >m.idx.gz"); /* a float */
    CHECK(!open_set(set, NULL, &err));
    CHECK(strstr(err.text, "m.idx.gz: its elements are of type 0x0d"));
}

/* Of members that were joined by cat, each is unpacked by itself: the header comes in pieces. */
static void test_idx_header_in_several_members(void) {
    static const char set[] =
        "{\"idx\": {\"images\": \"out/m.idx.gz\", \"labels\": \"out/l.idx.gz\"}}";
    uint8_t images[IDX_BYTES], labels[8 + COUNT];
    struct error err = {0};
    make_idx(images, labels);
    write_file("m.idx", images, sizeof images);
    write_file("l.idx", labels, sizeof labels);
    run("{ head -c 6 m.idx | gzip; tail -c +7 m.idx | head -c 1 | gzip; tail -c +8 m.idx | gzip; } "
        ">m.idx.gz");
    run("{ : | gzip; head -c 5 l.idx | gzip; tail -c +6 l.idx | gzip; } >l.idx.gz");
    AUTO(dataset_closep) struct dataset *dataset = must_open(set, NULL);
    CHECK_INT(dataset->count, COUNT);
    run("printf 'no idx, but longer than a header' >n; { head -c 3 n | gzip; tail -c +4 n | gzip; "
        "} "
        ">m.idx.gz");
    CHECK(!open_set(set, NULL, &err));
    CHECK(strstr(err.text, "m.idx.gz: is not an IDX file"));
    error_clear(&err);
    run("{ head -c 6 l.idx | gzip; { tail -c +7 l.idx; head -c 20000000 /dev/zero; } | gzip; } "
        ">l.idx.gz");
    run("gzip <m.idx >m.idx.gz");
    CHECK(!open_set(set, NULL, &err));
    AUTO(text_freep) char *wanted = x_printf("has more than %d bytes unpacked", 8 + COUNT);
    CHECK(strstr(err.text, wanted) || (printf("# %s\n", err.text), 0));
}

static void test_fashion_mnist(void) {
    enum { SAMPLES = 60000, PIXELS = 28 * 28 };
    if (setenv("fashion", "/usr/share/datasets/fashion-mnist", 1) < 0 ||
        access("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz", R_OK) < 0) {
        SKIP("Debian's dataset-fashion-mnist is not installed");
    }
    AUTO(dataset_closep)
    struct dataset *train =
        must_open("{\"idx\": {\"images\": \"fashion/train-images-idx3-ubyte.gz\", "
                  "\"labels\": \"fashion/train-labels-idx1-ubyte.gz\"}}",
                  NULL);
    struct dataset_options like = {.like = train};
    AUTO(dataset_closep)
    struct dataset *test =
        must_open("{\"idx\": {\"images\": \"fashion/t10k-images-idx3-ubyte.gz\", "
                  "\"labels\": \"fashion/t10k-labels-idx1-ubyte.gz\"}}",
                  &like);
    CHECK(train->count == SAMPLES && train->classes == 10 && test->count == 10000);
    int64_t counts[10] = {0};
    double sum = 0, squares = 0;
    AUTO(sample_release) struct sample sample = {0};
    struct error err = {0};
    for (int64_t i = 0; i < train->count; i++) {
        CHECK_OK(dataset_read(train, i, &sample, &err), &err);
        counts[sample.label]++;
        for (int k = 0; k < PIXELS; k++) {
            double value = ((uint8_t *)sample.data)[k] / 255.0;
            sum += value;
            squares += value * value;
        }
    }
    for (int i = 0; i < 10; i++) {
        CHECK_INT(counts[i], 6000);
    }
    /* The usual numbers for normalizing it. */
    double mean = sum / SAMPLES / PIXELS;
    CHECK(fabs(mean - 0.2860) < 5e-5);
    CHECK(fabs(sqrt(squares / SAMPLES / PIXELS - mean * mean) - 0.3530) < 5e-5);
    CHECK_OK(dataset_read(train, 0, &sample, &err), &err);
    CHECK_INT(sample.label, 9); /* an ankle boot */
}

/* ---- cifar ---------------------------------------------------------------------------------- */

static void make_cifar(const char *name, size_t labels, int count, int first) {
    size_t record = labels + 3072;
    AUTO(text_freep) char *bytes = x_calloc((size_t)count, record);
    for (int i = 0; i < count; i++) {
        char *at = bytes + (size_t)i * record;
        at[0] = 7; /* in CIFAR-100: the coarse label */
        at[labels - 1] = (char)((first + i) % 10);
        for (size_t k = labels; k < record; k++) {
            at[k] = (char)(k * 11 + (size_t)(first + i) * 3);
        }
    }
    write_file(name, bytes, (size_t)count * record);
}

static void test_cifar_is_read_from_several_files(void) {
    static const char ten[] = "{\"cifar\": {\"path\": \"out/c\"}}";
    static const char hundred[] = "{\"cifar\": {\"path\": \"out/c2.bin\", \"classes\": 100}}";
    struct dataset_options none = {.memory_bytes = 1}, one = {.memory_bytes = 4 * 3073};
    struct error err = {0};
    make_cifar("c/data_0.bin", 1, 4, 0);
    make_cifar("c/data_1.bin", 1, 9, 4);
    make_cifar("c/test_batch.bin", 1, 3, 5);
    make_cifar("c2.bin", 2, 5, 0);
    AUTO(dataset_closep) struct dataset *held = must_open(ten, NULL);
    AUTO(dataset_closep) struct dataset *read = must_open(ten, &none);
    AUTO(dataset_closep) struct dataset *half = must_open(ten, &one);
    AUTO(dataset_closep) struct dataset *fine = must_open(hundred, NULL);
    check_same(held, read);
    check_same(held, half);
    CHECK(held->count == 13 && held->classes == 10 && fine->classes == 100);
    struct dataset_options like = {.like = held};
    AUTO(dataset_closep) struct dataset *test = must_open(ten, &like);
    CHECK_INT(test->count, 3);
    AUTO(sample_release) struct sample sample = {0};
    for (int64_t i = 0; i < held->count; i++) {
        CHECK_OK(dataset_read(held, i, &sample, &err), &err);
        CHECK_INT(sample.label, i % 10);
        CHECK_INT(((uint8_t *)sample.data)[100], (uint8_t)(101 * 11 + i * 3));
    }
    CHECK_OK(dataset_read(fine, 3, &sample, &err), &err);
    CHECK_INT(sample.label, 3);
    CHECK(!open_set("{\"cifar\": {\"path\": \"out/c2.bin\"}}", NULL, &err));
    CHECK(strstr(err.text, "cifar: out/c2.bin: 15370 bytes are not a multiple of a record's 3073"));
    write_file("c3.bin", (char[3073]){10}, 3073);
    AUTO(dataset_closep)
    struct dataset *wrong = must_open("{\"cifar\": {\"path\": \"out/c3.bin\"}}", NULL);
    err = (struct error){0};
    CHECK_INT(dataset_read(wrong, 0, &sample, &err), -1);
    CHECK_STR(err.text, "out/c3.bin: record 0 has a label that is not a class");
}

/* ---- folder --------------------------------------------------------------------------------- */

static void make_picture(const char *name, int width, int height, int shade) {
    AUTO(picture_release) struct picture picture;
    struct error err = {0};
    uint8_t *bytes = NULL;
    size_t size = 0;
    picture_init(&picture, width, height);
    memset(picture.pixels, shade, 3 * (size_t)width * (size_t)height);
    CHECK_OK(
        image_encode(&picture, strstr(name, "png") ? IMAGE_PNG : IMAGE_JPEG, &bytes, &size, &err),
        &err);
    write_file(name, bytes, size);
    free(bytes);
}

static void test_a_folder_of_pictures(void) {
    static const char spec[] = "{\"folder\": {\"path\": \"out/f\"}}";
    struct dataset_options none = {.memory_bytes = 1};
    struct error err = {0};
    /* By bytes of the whole names "a-b/" comes before "a/"; the class a is before a-b. */
    make_picture("f/a/x.png", 4, 6, 10);
    make_picture("f/a/deep/er/y.JPG", 8, 8, 20);
    make_picture("f/a-b/z.jpeg", 16, 8, 30);
    make_picture("f/B/1.png", 3, 3, 40);
    write_file("f/B/readme.txt", "no", 2);
    make_picture("f/B/.1.png", 3, 3, 40);
    make_picture("f/.c/x.png", 3, 3, 40);
    AUTO(dataset_closep) struct dataset *held = must_open(spec, NULL);
    AUTO(dataset_closep) struct dataset *read = must_open(spec, &none);
    check_same(held, read);
    check_same(held, read); /* now from memory */
    struct dataset_options first = {.memory_bytes = 1,
                                    .sees_files = true}; /* the rank that reports */
    AUTO(dataset_closep) struct dataset *seen = must_open(spec, &first);
    AUTO(text_freep) char *strays = strays_text(&seen->strays);
    CHECK_STR(strays,
              "3 files are left out: 2 hidden by a dot, or not a file (such as .c/); 1 .txt "
              "(such as B/readme.txt)");
    CHECK(held->count == 4 && held->classes == 3);
    CHECK_STR(held->class_names[0], "B");
    CHECK_STR(held->class_names[1], "a");
    CHECK_STR(held->class_names[2], "a-b");
    AUTO(sample_release) struct sample sample = {0};
    for (int64_t i = 0; i < held->count; i++) {
        CHECK_OK(dataset_read(held, i, &sample, &err), &err);
        int shade = ((uint8_t *)sample.data)[0];
        CHECK(abs(shade - (int[]){40, 20, 30}[sample.label]) <= 2 ||
              (shade == 10 && sample.label == 1));
        CHECK(shade != 10 || shape_equal(&sample.shape, &(struct shape){3, {3, 6, 4}}));
    }
    /* Another folder's classes are numbered by the names of the first. */
    make_picture("g/a-b/q.png", 2, 2, 1);
    struct dataset_options like = {.like = held};
    AUTO(dataset_closep)
    struct dataset *test = must_open("{\"folder\": {\"path\": \"out/g\"}}", &like);
    CHECK_OK(dataset_read(test, 0, &sample, &err), &err);
    CHECK(sample.label == 2 && test->classes == 3);
    CHECK_STR(test->class_names[0], "B");
    make_picture("g/c/q.png", 2, 2, 1);
    CHECK(!open_set("{\"folder\": {\"path\": \"out/g\"}}", &like, &err));
    CHECK(strstr(err.text, "out/g/c: a class of the test data that the training data lacks"));
    write_file("f/a/bad.jpg", "\xFF\xD8\xFF no", 6);
    AUTO(dataset_closep) struct dataset *broken = must_open(spec, NULL);
    err = (struct error){0};
    int failed = 0;
    for (int64_t i = 0; i < broken->count; i++) {
        failed += dataset_read(broken, i, &sample, &err) < 0;
    }
    CHECK_INT(failed, 1);
    CHECK(strstr(err.text, "out/f/a/bad.jpg: corrupt JPEG"));
    write_file("f/top.jpg", "x", 1);
    err = (struct error){0};
    CHECK(!open_set(spec, NULL, &err));
    CHECK(strstr(err.text, "out/f/top.jpg: it is not in the folder of a class"));
}

/* ---- tensors, synthetic --------------------------------------------------------------------- */

static void test_tensors_from_numpy(void) {
    run("/usr/bin/python3 -c \"\n"
        "import os, numpy as n\n"
        "for k in 'u1 f2 f4 f8'.split():\n"
        "    for s, c in enumerate([3, 4]):\n"
        "        v = (n.arange(c * 6) * 5 + s * 100).reshape(c, 2, 3)\n"
        "        os.makedirs('x' + k, exist_ok=True)\n"
        "        n.save('x%s/%d.npy' % (k, s), (v if k == 'u1' else v / 8).astype(k))\n"
        "os.makedirs('l', exist_ok=True); os.makedirs('t', exist_ok=True)\n"
        "n.save('l/0.npy', n.array([2, 0, 1])); n.save('l/1.npy', n.array([5, 0, 1, 1], 'u1'))\n"
        "n.save('t/0.npy', n.arange(6).reshape(3, 2) / 4); n.save('t/1.npy', n.ones((4, 2)))\n"
        "n.save('neg.npy', n.array([0, -1, 2])); n.save('i4.npy', n.zeros((3, 2), 'i4'))\n"
        "n.save('none.npy', n.zeros((0, 6)))\n"
        "n.lib.format.open_memmap('many.npy', 'w+', 'u1', ((1 << 28) + 1, 1))\n" /* sparse */
        "\"");
    struct error err = {0};
    static const char *const kinds[] = {"u1", "f2", "f4", "f8"};
    static const int labels[] = {2, 0, 1, 5, 0, 1, 1};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        bool is_byte = i == 0;
        AUTO(text_freep)
        char *spec =
            x_printf("{\"tensors\": {\"samples\": \"out/x%s\", \"labels\": \"out/l\"}}", kinds[i]);
        struct dataset_options none = {.memory_bytes = 1};
        AUTO(dataset_closep) struct dataset *held = must_open(spec, NULL);
        AUTO(dataset_closep) struct dataset *read = must_open(spec, &none);
        check_same(held, read);
        CHECK(held->count == 7 && held->classes == 6 && held->target_count == 0);
        CHECK_INT(held->type, is_byte ? TENSOR_UINT8 : TENSOR_FLOAT32);
        AUTO(sample_release) struct sample sample = {0};
        for (int64_t s = 0; s < 7; s++) {
            CHECK_OK(dataset_read(held, s, &sample, &err), &err);
            CHECK_INT(sample.label, labels[s]);
            int64_t first = s < 3 ? s * 30 : 100 + (s - 3) * 30;
            for (int k = 0; k < 6; k++) {
                float seen = is_byte ? ((uint8_t *)sample.data)[k] : ((float *)sample.data)[k] * 8;
                CHECK(seen == (float)(is_byte ? (uint8_t)(first + k * 5) : first + k * 5));
            }
        }
    }
    static const char numbers[] =
        "{\"tensors\": {\"samples\": \"out/xf4\", \"labels\": \"out/t\"}}";
    struct dataset_options none = {.memory_bytes = 1};
    AUTO(dataset_closep) struct dataset *held = must_open(numbers, NULL);
    AUTO(dataset_closep) struct dataset *read = must_open(numbers, &none);
    check_same(held, read);
    AUTO(sample_release) struct sample sample = {0};
    CHECK_OK(dataset_read(held, 2, &sample, &err), &err);
    CHECK(held->target_count == 2 && sample.target[0] == 1.0f && sample.target[1] == 1.25f);
    static const char *const rows[][3] = {
        {"xf4/0.npy", "l/1.npy",
         "out/xf4/0.npy: 3 samples, and 4 targets in out/l/1.npy: expected as many"},
        {"none.npy", "none.npy", "out/none.npy: 0 samples, expected at least 1, and at most"},
        {"many.npy", "neg.npy",
         "out/many.npy: 268435457 samples, expected at least 1, and at most"},
        {"xf4/0.npy", "neg.npy", "out/neg.npy: label -1 of sample 1 is not a class"},
        {"xf4", "l/0.npy", "tensors: 2 files of samples, but 1 of labels"},
        {"absent.npy", "l/0.npy", "absent.npy"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep)
        char *spec = x_printf("{\"tensors\": {\"samples\": \"out/%s\", \"labels\": \"out/%s\"}}",
                              rows[i][0], rows[i][1]);
        err = (struct error){0};
        CHECK(!open_set(spec, NULL, &err));
        CHECK(strstr(err.text, rows[i][2]) || (printf("# %s\n", err.text), 0));
    }
}

/* Tokens of every integer type, and a label for each of them, of which some do not count; held in
 * memory and read from the file. */
static void test_tokens_and_places(void) {
    run("/usr/bin/python3 -c \"\n"
        "import numpy as n\n"
        "for k in 'i1 i2 i4 i8'.split(): n.save('tok%s.npy' % k, n.arange(12).reshape(3, "
        "4).astype(k))\n"
        "n.save('tag.npy', n.array([[0, 4, -100, 1], [-100] * 4, [2, 2, 2, 2]], 'i2'))\n"
        "n.save('none.npy', n.full((3, 4), -100)); n.save('bad.npy', n.array([[0] * 4, [0, 1, 0, "
        "-7], [0] * 4]))\n"
        "\"");
    static const char *const kinds[] = {"i1", "i2", "i4", "i8"};
    static const int64_t tags[] = {0, 4, -100, 1, -100, -100, -100, -100, 2, 2, 2, 2};
    static const int64_t counted[] = {3, 0, 4};
    struct error err = {0};
    for (size_t i = 0; i < 2 * ARRAY_LEN(kinds); i++) {
        struct dataset_options options = {
            .memory_bytes = i % 2 ? 1 : 0, .has_ignored = true, .ignored = -100};
        AUTO(text_freep)
        char *spec = x_printf("{\"tensors\": {\"samples\": \"out/tok%s.npy\", \"labels\": "
                              "\"out/tag.npy\"}}",
                              kinds[i / 2]);
        AUTO(dataset_closep) struct dataset *set = must_open(spec, &options);
        AUTO(sample_release) struct sample sample = {0};
        CHECK_INT(set->type, TENSOR_INT64);
        CHECK_INT(set->classes, 5);
        CHECK_INT(dataset_places(set), 4);
        for (int64_t s = 0; s < 3; s++) {
            CHECK_OK(dataset_read(set, s, &sample, &err), &err);
            CHECK_INT(dataset_counted(set, s), counted[s]);
            for (int k = 0; k < 4; k++) {
                CHECK_INT(((const int64_t *)sample.data)[k], 4 * s + k);
                CHECK_INT(sample.labels[k], tags[4 * s + k]);
            }
        }
    }
    static const char *const rows[][2] = {
        {"bad", "out/bad.npy: label -7 of sample 1 is not a class"},
        {"none", "every label is -100, which does not count"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct dataset_options options = {.has_ignored = true, .ignored = -100};
        AUTO(text_freep)
        char *spec = x_printf("{\"tensors\": {\"samples\": \"out/toki4.npy\", \"labels\": "
                              "\"out/%s.npy\"}}",
                              rows[i][0]);
        err = (struct error){0};
        CHECK(!open_set(spec, &options, &err));
        CHECK(strstr(err.text, rows[i][1]) || (printf("# %s\n", err.text), 0));
    }
}

/* The files are those of the test before. */
static void test_targets_have_the_names_of_outputs(void) {
    const char *spec = "{\"tensors\": {\"samples\": \"out/toki4.npy\", \"outputs\": ["
                       "{\"name\": \"tag\", \"path\": \"out/tag.npy\"}, "
                       "{\"name\": \"next\", \"path\": \"out/toki1.npy\"}]}}";
    struct dataset_options options = {.has_ignored = true, .ignored = -100};
    struct error err = {0};
    AUTO(dataset_closep) struct dataset *set = must_open(spec, &options);
    AUTO(sample_release) struct sample sample = {0};
    CHECK_INT(dataset_find_target(set, "tag"), 0);
    CHECK_INT(dataset_find_target(set, "next"), 1);
    CHECK_INT(dataset_find_target(set, "samples"), -1);
    CHECK_INT(dataset_find(set, "next"), -1); /* no input takes it */
    CHECK_INT((long long)dataset_input_extras(set), 0);
    CHECK(set->extras[0].is_target && set->extras[0].type == TENSOR_INT64);
    CHECK_OK(dataset_read(set, 2, &sample, &err), &err);
    CHECK(sample.labels[1] == 2 && ((const int64_t *)sample.extras[0])[1] == 9);
    static const char *const rows[][2] = {
        {"\"labels\": \"out/tag.npy\", \"outputs\": []",
         "tensors: exactly one of labels and outputs must be given"},
        {"\"outputs\": [{\"name\": \"a\"}]", "tensors: outputs[0]: path: a string is expected"},
        {"\"outputs\": [{\"name\": \"a\", \"path\": \"out/tag.npy\"}, "
         "{\"name\": \"a\", \"path\": \"out/tag.npy\"}]",
         "tensors: outputs[1].name: \"a\" is a duplicate"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep)
        char *bad = x_printf("{\"tensors\": {\"samples\": \"out/toki4.npy\", %s}}", rows[i][0]);
        err = (struct error){0};
        CHECK(!open_set(bad, &options, &err));
        CHECK(strstr(err.text, rows[i][1]) || (printf("# %s\n", err.text), 0));
    }
    struct dataset_options like = options;
    like.like = set;
    err = (struct error){0};
    CHECK(!open_set("{\"tensors\": {\"samples\": \"out/toki4.npy\", \"labels\": "
                    "\"out/tag.npy\"}}",
                    &like, &err));
    CHECK(strstr(err.text, "its inputs and outputs must have the names") != NULL);
}

static void test_synthetic_can_be_learned(void) {
    enum { SAMPLES = 400, CLASSES = 5, ELEMENTS = 3 * 16 * 20 };
    static double means[CLASSES][ELEMENTS];
    static uint8_t seen[SAMPLES][ELEMENTS];
    int64_t labels[SAMPLES], counts[CLASSES] = {0};
    struct error err = {0};
    AUTO(sample_release) struct sample sample = {0};
    AUTO(dataset_closep)
    struct dataset *set = must_open("{\"synthetic\": {\"count\": 400, \"classes\": 5, "
                                    "\"shape\": [3, 16, 20], \"seed\": 3}}",
                                    NULL);
    check_same(set, set);
    for (int64_t i = 0; i < SAMPLES; i++) {
        CHECK_OK(dataset_read(set, i, &sample, &err), &err);
        labels[i] = sample.label;
        counts[sample.label]++;
        memcpy(seen[i], sample.data, ELEMENTS);
        for (int k = 0; k < ELEMENTS && i < SAMPLES / 2; k++) {
            means[sample.label][k] += seen[i][k];
        }
    }
    /* Each of the second half is nearest to the mean of its class in the first. */
    int64_t first_counts[CLASSES] = {0};
    for (int i = 0; i < SAMPLES / 2; i++) {
        first_counts[labels[i]]++;
    }
    for (int i = SAMPLES / 2; i < SAMPLES; i++) {
        double best = INFINITY;
        int found = -1;
        for (int c = 0; c < CLASSES; c++) {
            double distance = 0;
            for (int k = 0; k < ELEMENTS; k++) {
                distance += pow(means[c][k] / (double)first_counts[c] - seen[i][k], 2);
            }
            found = distance < best ? c : found;
            best = MIN(best, distance);
        }
        CHECK_INT(found, labels[i]);
    }
    for (int c = 0; c < CLASSES; c++) {
        CHECK(counts[c] > 40);
    }
}

static void test_fields_are_named(void) {
    static const char *const rows[][2] = {
        {"{}", "one of idx, cifar, folder, masks, tensors, webdataset, table, text, synthetic is "
               "expected"},
        {"{\"mnist\": {}}", "one of idx"},
        {"{\"idx\": {}, \"cifar\": {}}", "one of idx"},
        {"{\"idx\": {\"images\": 3}}", "idx: images: a string is expected"},
        {"{\"cifar\": {\"path\": 1}}", "cifar: path: a string is expected"},
        {"{\"cifar\": {\"path\": \"out/f\"}}", "cifar: out/f: no file matches *.bin"},
        {"{\"cifar\": {\"path\": \"out/x\", \"classes\": 11}}", "cifar: classes: 10 or 100"},
        {"{\"folder\": {\"path\": \"out/nowhere\"}}", "folder: out/nowhere"},
        {"{\"tensors\": {}}", "tensors: exactly one of samples and inputs must be given"},
        {"{\"synthetic\": {\"count\": 0}}", "synthetic: count: an integer from 1"},
        {"{\"synthetic\": {\"count\": 5, \"shape\": [1, 2]}}", "synthetic: shape: three sizes"},
        {"{\"synthetic\": {\"count\": 5, \"shape\": [16384, 16384, 2]}}", "of at most 256 MiB"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        CHECK(!open_set(rows[i][0], NULL, &err));
        CHECK(strstr(err.text, rows[i][1]) || (printf("# %s\n", err.text), 0));
    }
    struct error err = {0};
    AUTO(dataset_closep)
    struct dataset *train =
        must_open("{\"synthetic\": {\"count\": 4, \"classes\": 3, \"shape\": [1, 2, 2]}}", NULL);
    struct dataset_options like = {.like = train};
    CHECK(!open_set("{\"synthetic\": {\"count\": 4, \"classes\": 3, \"shape\": [1, 2, 3]}}", &like,
                    &err));
    CHECK_STR(err.text, "synthetic: its samples are uint8 1x2x3, the training data's uint8 1x2x2");
    err = (struct error){0};
    CHECK(!open_set("{\"synthetic\": {\"count\": 4, \"classes\": 4, \"shape\": [1, 2, 2]}}", &like,
                    &err));
    CHECK(strstr(err.text, "it has 4 classes"));
}

int main(void) {
    fixtures_start("dataset");
    TEST(test_idx_is_read_packed_and_plain);
    TEST(test_idx_that_is_wrong_is_refused);
    TEST(test_idx_is_unpacked_as_its_header_says);
    TEST(test_idx_header_in_several_members);
    TEST(test_fashion_mnist);
    TEST(test_cifar_is_read_from_several_files);
    TEST(test_a_folder_of_pictures);
    TEST(test_tensors_from_numpy);
    TEST(test_tokens_and_places);
    TEST(test_targets_have_the_names_of_outputs);
    TEST(test_synthetic_can_be_learned);
    TEST(test_fields_are_named);
    return TEST_END();
}
