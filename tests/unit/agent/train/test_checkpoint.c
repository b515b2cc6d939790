// SPDX-License-Identifier: Apache-2.0
/* Checkpoints over a store that fails by a seed, with processes that die and processes that live on
 * too long: a loaded checkpoint is complete, and never older than the last one reported as stored.
 * Then every byte is changed, and the object cut at every length. SOAK_SEED, SOAK_ROUNDS. */
#include "agent/store/checkpoint_name.h"
#include "agent/train/checkpoint.h"
#include "lib/digest.h"
#include "lib/file.h"
#include "tests/broken_store.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { WEIGHTS = 700, KEEP = 2 };

static char *volume;
static int folders;

static struct store *open_folder(int number) {
    struct error err = {0};
    struct store *store = NULL;
    AUTO(text_freep) char *path = x_printf("checkpoints/%d", number);
    CHECK_OK(store_open(path, /* writes= */ true, &store, &err), &err);
    return store;
}

/* The state after a number of steps: here training is a function of the step. */
struct state {
    float weights[WEIGHTS], momentum[WEIGHTS], scalar;
    struct checkpoint_tensor tensors[4];
    struct checkpoint checkpoint;
};

static void make_state(struct state *state, int64_t generation, int64_t step) {
    uint64_t random = (uint64_t)step;
    for (int i = 0; i < WEIGHTS; i++) {
        state->weights[i] = (float)test_random(&random);
        state->momentum[i] = -state->weights[i];
    }
    state->scalar = (float)step;
    state->tensors[0] = (struct checkpoint_tensor){"conv.weight", {2, {7, 100}}, state->weights};
    state->tensors[1] =
        (struct checkpoint_tensor){"conv.weight/momentum", {1, {WEIGHTS}}, state->momentum};
    state->tensors[2] = (struct checkpoint_tensor){"scalar \"\xC3\xA9\"", {0, {0}}, &state->scalar};
    state->tensors[3] = (struct checkpoint_tensor){"none", {1, {0}}, &state->scalar};
    state->checkpoint = (struct checkpoint){.generation = generation,
                                            .step = step,
                                            .seed = 0xFEDCBA9876543210u,
                                            .digest = "d1",
                                            .count = 4,
                                            .tensors = state->tensors};
}

static bool is_state(const struct checkpoint *loaded) {
    struct state wanted;
    make_state(&wanted, loaded->generation, loaded->step);
    bool is_same = loaded->seed == wanted.checkpoint.seed && loaded->count == 4 &&
                   strcmp(loaded->digest, "d1") == 0;
    for (size_t i = 0; is_same && i < 4; i++) {
        const struct checkpoint_tensor *a = &loaded->tensors[i], *b = &wanted.tensors[i];
        is_same = strcmp(a->name, b->name) == 0 && shape_equal(&a->shape, &b->shape) &&
                  memcmp(a->data, b->data, (size_t)shape_count(&b->shape) * sizeof(float)) == 0;
    }
    return is_same;
}

/* The whole object's bytes, in a copy of that size. */
static char *bytes_of(const struct checkpoint_location *place, const char *name, size_t *ret_size) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer bytes;
    buffer_init(&bytes, 1 << 20);
    CHECK_OK(store_get(place->store, name, &bytes, NULL, &err), &err);
    return buffer_take(&bytes, ret_size);
}

/* ---- the format ----------------------------------------------------------------------------- */

static void expect_refused(const char *bytes, size_t size) {
    struct error err = {0};
    struct checkpoint_loaded loaded = {0};
    char *copy = aligned_alloc(64, (size / 64 + 1) * 64), *own = x_malloc(MAX(size, (size_t)1));
    memcpy(own, bytes, size);
    memcpy(copy, bytes, size);
    CHECK_INT(checkpoint_parse(size % 2 ? own : copy, size, &loaded, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    free(copy);
    free(own);
}

static void test_no_byte_may_differ(void) {
    struct error err = {0};
    struct state state;
    AUTO(store_freep) struct store *store = open_folder(folders++);
    struct checkpoint_location place = {store, "r/"};
    make_state(&state, 3, 77);
    _Atomic int64_t written = 0;
    CHECK_OK(checkpoint_write(&place, &state.checkpoint, &written, &err), &err);
    size_t size;
    AUTO(text_freep)
    char *bytes = bytes_of(&place, "r/checkpoint/000000000003-000000000077", &size);
    CHECK_INT(written, (int64_t)size);
    struct checkpoint_loaded loaded = {0};
    char *good = x_malloc(size);
    memcpy(good, bytes, size);
    CHECK_OK(checkpoint_parse(good, size, &loaded, &err), &err);
    CHECK(is_state(&loaded.checkpoint) && loaded.checkpoint.step == 77);
    checkpoint_release(&loaded);
    uint64_t random = 5;
    for (size_t at = 0; at < size && !test_failures; at++) {
        char was = bytes[at];
        bytes[at] = (char)((uint64_t)was ^ (1 + test_random(&random) % 255));
        expect_refused(bytes, size);
        bytes[at] = was;
        expect_refused(bytes, at);
    }
    AUTO(text_freep) char *more = x_calloc(1, size + 64);
    memcpy(more, bytes, size);
    expect_refused(more, size + 1);
    expect_refused(more, size + 64);
}

/* Its sums are right, but it ends without the zeros after its first tensor. */
static void test_tensors_end_before_the_object(void) {
    struct error err = {0};
    const float values[2] = {1, 2};
    struct checkpoint_tensor tensors[] = {{"a", {1, {1}}, values}, {"b", {1, {1}}, values + 1}};
    struct checkpoint checkpoint = {1, 5, 0, "d", 2, tensors};
    struct checkpoint_loaded loaded = {0};
    char *head = NULL, tail[CHECKPOINT_TAIL_BYTES];
    size_t size;
    CHECK_OK(checkpoint_head(&checkpoint, &head, &size, &err), &err);
    char *bytes = aligned_alloc(64, size + 128);
    memset(bytes, 0, size + 128);
    memcpy(bytes, head, size);
    memcpy(bytes + size, values, sizeof *values);
    size += sizeof *values;
    checkpoint_tail(digest_crc32c(0, bytes, size), (int64_t)size, tail);
    memcpy(bytes + size, tail, sizeof tail);
    CHECK_INT(checkpoint_parse(bytes, size + sizeof tail, &loaded, &err), -1);
    CHECK_STR(err.text, "it is shorter than its tensors");
    free(bytes);
    free(head);
}

/* Its sums are right, but its header is millions of lists, which take more than a GiB. */
static void test_a_header_of_lists_is_refused(void) {
    enum { LISTS = 8 << 20, HEAD = 3 * LISTS + 3, ALL = (16 + HEAD + 63) / 64 * 64 };
    struct error err = {0};
    struct checkpoint checkpoint = {1, 5, 0, "d", 0, NULL};
    struct checkpoint_loaded loaded = {0};
    char *head = NULL, *bytes = aligned_alloc(64, ALL + 64);
    size_t size;
    CHECK_OK(checkpoint_head(&checkpoint, &head, &size, &err), &err);
    memset(bytes, 0, ALL + 64);
    memcpy(bytes, head, 8); /* the magic */
    bytes[16] = '[';
    for (size_t i = 0; i < LISTS; i++) {
        memcpy(bytes + 17 + 3 * i, "[],", 3);
    }
    memcpy(bytes + 16 + HEAD - 2, "0]", 2);
    memcpy(bytes + 8, (uint32_t[]){HEAD, digest_crc32c(0, bytes + 16, HEAD)}, 8);
    checkpoint_tail(digest_crc32c(0, bytes, ALL), ALL, bytes + ALL);
    CHECK_INT(checkpoint_parse(bytes, ALL + CHECKPOINT_TAIL_BYTES, &loaded, &err), -1);
    CHECK(strstr(err.text, "its header: its lists, objects and values take ") != NULL);
    free(bytes);
    free(head);
}

static void test_large_ones_come_back(void) {
    enum { FLOATS = 5 << 20 }; /* 20 MiB: several pieces */
    struct error err = {0};
    AUTO(store_freep) struct store *store = open_folder(folders++);
    struct checkpoint_location place = {store, ""};
    float *values = x_calloc(FLOATS, sizeof *values);
    for (int i = 0; i < FLOATS; i++) {
        values[i] = (float)i;
    }
    struct checkpoint_tensor tensor = {"w", {1, {FLOATS}}, values};
    struct checkpoint checkpoint = {1, 5, 0, "d", 1, &tensor};
    CHECK_OK(checkpoint_write(&place, &checkpoint, NULL, &err), &err);
    AUTO(checkpoint_release) struct checkpoint_loaded loaded = {0};
    bool found = false;
    CHECK_OK(checkpoint_load(&place, &(struct checkpoint_wanted){2, "d", NULL, NULL}, &found,
                             &loaded, &err),
             &err);
    CHECK(found && memcmp(loaded.tensors[0].data, values, FLOATS * sizeof *values) == 0);
    free(values);
}

static void expect_too_large(const struct checkpoint *checkpoint, const char *why) {
    struct error err = {0};
    char *head = NULL;
    size_t size;
    CHECK_INT(checkpoint_head(checkpoint, &head, &size, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK(strstr(err.text, why) != NULL);
    free(head);
}

/* That is seen by their sizes: the data, which is not there, is not looked at. */
static void test_what_is_too_large_is_refused_by_its_sizes(void) {
    static const struct {
        int64_t dims[2];
        size_t count;
        const char *why;
    } rows[] = {{{1 << 17, (1 << 17) + 1}, 1, "it has 68720001024 bytes, at most 68719476736 are"},
                {{1 << 16, 1 << 17}, 3, "it has 103079215104 bytes, at most 68719476736 are"},
                {{1 << 20, 1 << 19}, 2, "it has 4398046511104 bytes, at most 68719476736 are"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct state state;
        struct checkpoint_tensor tensors[3];
        make_state(&state, 1, 2);
        for (size_t k = 0; k < ARRAY_LEN(tensors); k++) {
            tensors[k] =
                (struct checkpoint_tensor){"t", {2, {rows[i].dims[0], rows[i].dims[1]}}, NULL};
        }
        state.checkpoint.tensors = tensors;
        state.checkpoint.count = rows[i].count;
        expect_too_large(&state.checkpoint, rows[i].why);
    }
}

static void test_what_could_not_be_read_is_not_written(void) {
    struct state state;
    make_state(&state, 1, 2);
    char name[CHECKPOINT_NAME_MAX + 2] = "";
    memset(name, 'n', CHECKPOINT_NAME_MAX + 1);
    state.tensors[3].name = name;
    expect_too_large(&state.checkpoint, "has 1025 bytes, at most 1024 are supported");
    size_t count = CHECKPOINT_TENSORS_MAX + 1;
    struct checkpoint_tensor *tensors = x_calloc(count, sizeof *tensors);
    for (size_t i = 0; i < count; i++) {
        tensors[i] = (struct checkpoint_tensor){"t", {1, {0}}, &state.scalar};
    }
    state.checkpoint.tensors = tensors;
    state.checkpoint.count = count;
    expect_too_large(&state.checkpoint, "it has 65537 tensors, at most 65536 are supported");
    free(tensors);
}

/* The newest of one's own generation and older ones stay, and all of newer generations. */
static void test_old_ones_go(void) {
    struct error err = {0};
    int64_t highest = -1;
    AUTO(store_freep) struct store *store = open_folder(folders++);
    struct checkpoint_location place = {store, "r/"};
    static const struct {
        int64_t generation, step;
        bool stays;
    } rows[] = {{1, 900, false}, {2, 100, false}, {2, 200, true}, {2, 300, true}, {3, 50, true}};
    struct state state;
    CHECK_OK(checkpoint_name_highest_step(store, "r/", &highest, &err), &err);
    CHECK_INT(highest, 0); /* there is none */
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        make_state(&state, rows[i].generation, rows[i].step);
        CHECK_OK(checkpoint_write(&place, &state.checkpoint, NULL, &err), &err);
    }
    CHECK_OK(store_put(store, "r/checkpoint/000000000009-9000", "x", 1, STORE_CREATE, &err), &err);
    CHECK_OK(checkpoint_name_highest_step(store, "r/", &highest, &err), &err);
    CHECK_INT(highest, 900); /* of all generations, by names that they write */
    CHECK_OK(store_remove(store, "r/checkpoint/000000000009-9000", &err), &err);
    CHECK_OK(checkpoint_tidy(&place, 2, KEEP, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error ignored = {0};
        struct store_info info;
        AUTO(text_freep)
        char *name =
            x_printf("r/checkpoint/%012d-%012d", (int)rows[i].generation, (int)rows[i].step);
        CHECK_INT(store_stat(store, name, &info, &ignored) == 0, rows[i].stays);
    }
}

/* ---- which one is loaded -------------------------------------------------------------------- */

struct told {
    char text[4096];
};

static void tell(void *context, const char *name, const char *why) {
    struct told *told = context;
    size_t used = strlen(told->text);
    snprintf(told->text + used, sizeof told->text - used, "%s: %s\n", name, why);
}

static void test_what_cannot_be_used_is_named(void) {
    struct error err = {0};
    struct state state;
    struct told told = {""};
    bool found = false;
    AUTO(store_freep) struct store *store = open_folder(folders++);
    struct checkpoint_location place = {store, "r/"};
    static const int64_t numbers[][2] = {{1, 900}, {2, 100}, {2, 200}, {2, 300}, {4, 250}, {9, 1}};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        make_state(&state, numbers[i][0], numbers[i][1]);
        state.checkpoint.digest = numbers[i][0] == 4 ? "d2" : "d1";
        CHECK_OK(checkpoint_write(&place, &state.checkpoint, NULL, &err), &err);
    }
    CHECK_OK(store_put(store, "r/checkpoint/notes.txt", "x", 1, STORE_REPLACE, &err), &err);
    CHECK_OK(
        store_put(store, "r/checkpoint/000000000003-000000000001", "short", 5, STORE_REPLACE, &err),
        &err);
    size_t size;
    AUTO(text_freep)
    char *bytes = bytes_of(&place, "r/checkpoint/000000000002-000000000300", &size);
    CHECK_OK(store_put(store, "r/checkpoint/000000000002-000000000400", bytes, size, STORE_REPLACE,
                       &err),
             &err);
    bytes[size / 2] ^= 1;
    CHECK_OK(store_put(store, "r/checkpoint/000000000002-000000000300", bytes, size, STORE_REPLACE,
                       &err),
             &err);
    AUTO(checkpoint_release) struct checkpoint_loaded loaded = {0};
    CHECK_OK(checkpoint_load(&place, &(struct checkpoint_wanted){9, "d1", tell, &told}, &found,
                             &loaded, &err),
             &err);
    CHECK(found && loaded.checkpoint.generation == 2 && loaded.checkpoint.step == 200);
    CHECK(is_state(&loaded.checkpoint));
    CHECK_STR(
        told.text,
        "r/checkpoint/000000000004-000000000250: it belongs to another model, data or "
        "settings\n"
        "r/checkpoint/000000000003-000000000001: 5 bytes are too few or too many for a checkpoint\n"
        "r/checkpoint/000000000002-000000000400: its generation or step differs from its "
        "name\n"
        "r/checkpoint/000000000002-000000000300: its checksum is wrong\n");
    CHECK_OK(checkpoint_load(&place, &(struct checkpoint_wanted){1, "d1", tell, &told}, &found,
                             &loaded, &err),
             &err);
    CHECK(!found);
    /* The next claim is greater than all that was written. */
    int64_t generation = 0;
    CHECK_OK(checkpoint_claim(&place, "test", &generation, &err), &err);
    CHECK_INT(generation, 10);
}

/* ---- courses -------------------------------------------------------------------------------- */

struct course {
    int folder;
    uint64_t random;
    int64_t claimed;                        /* the highest reported as ours */
    int64_t stored_generation, stored_step; /* the newest reported as stored */
    int64_t faults;
};

struct life {
    struct store *store;
    struct checkpoint_location place;
    int64_t generation, step;
};

static bool is_newer(int64_t generation, int64_t step, int64_t than, int64_t than_step) {
    return generation > than || (generation == than && step > than_step);
}

/* Steps, checkpoints, tidying; the store may die in the middle. */
static void live(struct course *course, struct life *life) {
    struct state state;
    for (int i = (int)(test_random(&course->random) % 5); i > 0; i--) {
        struct error err = {0};
        life->step += 1 + (int64_t)(test_random(&course->random) % 50);
        make_state(&state, life->generation, life->step);
        if (checkpoint_write(&life->place, &state.checkpoint, NULL, &err) < 0) {
            continue;
        }
        if (is_newer(life->generation, life->step, course->stored_generation,
                     course->stored_step)) {
            course->stored_generation = life->generation;
            course->stored_step = life->step;
        }
        if (checkpoint_tidy(&life->place, life->generation, KEEP, &err) < 0) {
            continue;
        }
    }
}

/* A new rank 0: returns false if its store dies before it has begun. */
static bool begin(struct course *course, struct life *life) {
    struct broken_options options = {.seed = test_random(&course->random), .percent = 10};
    options.dies_after =
        test_random(&course->random) % 2 ? 20 + (int64_t)(test_random(&course->random) % 200) : 0;
    *life = (struct life){.store = broken_store(open_folder(course->folder), &options)};
    life->place = (struct checkpoint_location){life->store, "run/"};
    AUTO(checkpoint_release) struct checkpoint_loaded loaded = {0};
    bool found = false;
    int state = 0; /* 1: claimed; 2: loaded */
    for (int i = 0; i < 50 && state < 2; i++) {
        struct error err = {0};
        if (state == 0 && checkpoint_claim(&life->place, "test", &life->generation, &err) == 0) {
            CHECK(life->generation > course->claimed);
            course->claimed = life->generation;
            state = 1;
        }
        const struct checkpoint_wanted wanted = {life->generation, "d1", NULL, NULL};
        if (state == 1 && checkpoint_load(&life->place, &wanted, &found, &loaded, &err) == 0) {
            state = 2;
        }
    }
    if (state < 2) {
        return false;
    }
    if (course->stored_generation) {
        CHECK(found && !is_newer(course->stored_generation, course->stored_step,
                                 loaded.checkpoint.generation, loaded.checkpoint.step));
    }
    if (found) {
        CHECK(is_state(&loaded.checkpoint));
        life->step = loaded.checkpoint.step;
    }
    return true;
}

static void run_course(struct course *course) {
    enum { LIVES = 6 };
    struct life lives[LIVES] = {{0}};
    bool begun[LIVES] = {false};
    for (int i = 0; i < LIVES && !test_failures; i++) {
        begun[i] = begin(course, &lives[i]);
        /* A rank 0 that lives on although it was replaced, and the new one. */
        int old = (int)(test_random(&course->random) % (unsigned)(i + 1));
        if (begun[old]) {
            live(course, &lives[old]);
        }
        if (begun[i]) {
            live(course, &lives[i]);
        }
        bool is_newest = true;
        struct error err = {0};
        if (begun[old] && lives[old].generation < course->claimed &&
            checkpoint_is_newest(&lives[old].place, lives[old].generation, &is_newest, &err) == 0) {
            CHECK(!is_newest);
        }
    }
    for (int i = 0; i < LIVES; i++) {
        course->faults += lives[i].store ? broken_store_faults(lives[i].store) : 0;
        store_free(lives[i].store);
    }
}

static void test_what_is_loaded_is_whole_and_not_too_old(void) {
    uint64_t first = test_seed(1);
    int64_t rounds = test_rounds(20) * 10, faults = 0;
    for (int64_t round = 0; round < rounds && !test_failures; round++) {
        struct course course = {.folder = folders++, .random = first + (uint64_t)round};
        run_course(&course);
        faults += course.faults;
        if (test_failures) {
            printf("# SOAK_SEED=%llu\n", (unsigned long long)(first + (uint64_t)round));
        }
        struct error err = {0};
        AUTO(text_freep) char *folder = x_printf("%s/%d", volume, course.folder);
        CHECK_OK(file_remove_tree(folder, &err), &err);
    }
    CHECK(faults >= rounds); /* the store did fail */
}

/* ---- claims at once ------------------------------------------------------------------------- */

struct claimer {
    pthread_t thread;
    uint64_t seed;
    int folder;
    bool is_healthy; /* its store does not fail: a race alone costs no claim */
    int64_t claims[10];
    int count, tries;
};

static void *claim(void *context) {
    struct claimer *claimer = context;
    struct broken_options options = {
        .seed = claimer->seed, .percent = claimer->is_healthy ? 0 : 10, .delay_ms_max = 1};
    struct store *store = broken_store(open_folder(claimer->folder), &options);
    struct checkpoint_location place = {store, "run/"};
    for (; claimer->tries < 40 && claimer->count < 10; claimer->tries++) {
        struct error err = {0};
        if (checkpoint_claim(&place, "test", &claimer->claims[claimer->count], &err) == 0) {
            claimer->count++;
        }
    }
    store_free(store);
    return NULL;
}

static int by_number(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static void test_no_two_claim_the_same(void) {
    enum { CLAIMERS = 6 };
    struct claimer claimers[CLAIMERS];
    int64_t all[CLAIMERS * 10];
    size_t count = 0;
    int folder = folders++;
    for (int i = 0; i < CLAIMERS; i++) {
        claimers[i] =
            (struct claimer){.seed = (uint64_t)i + 1, .folder = folder, .is_healthy = i % 2};
        CHECK_INT(pthread_create(&claimers[i].thread, NULL, claim, &claimers[i]), 0);
    }
    for (int i = 0; i < CLAIMERS; i++) {
        pthread_join(claimers[i].thread, NULL);
        CHECK(claimers[i].count >= 1);
        CHECK(!claimers[i].is_healthy || claimers[i].tries == claimers[i].count);
        memcpy(all + count, claimers[i].claims, (size_t)claimers[i].count * sizeof *all);
        count += (size_t)claimers[i].count;
    }
    qsort(all, count, sizeof *all, by_number);
    for (size_t i = 1; i < count; i++) {
        CHECK(all[i] > all[i - 1]);
    }
}

int main(void) {
    struct error err = {0};
    /* In memory if such a folder exists: thousands of objects, each flushed. */
    char memory[] = "/dev/shm/windlass-checkpoints-XXXXXX", disk[] = "/tmp/windlass-XXXXXX";
    volume = mkdtemp(memory);
    volume = volume ? volume : mkdtemp(disk);
    setenv("checkpoints", volume, 1);
    TEST(test_no_byte_may_differ);
    TEST(test_tensors_end_before_the_object);
    TEST(test_a_header_of_lists_is_refused);
    TEST(test_large_ones_come_back);
    TEST(test_what_is_too_large_is_refused_by_its_sizes);
    TEST(test_what_could_not_be_read_is_not_written);
    TEST(test_old_ones_go);
    TEST(test_what_cannot_be_used_is_named);
    TEST(test_what_is_loaded_is_whole_and_not_too_old);
    TEST(test_no_two_claim_the_same);
    CHECK_OK(file_remove_tree(volume, &err), &err);
    return TEST_END();
}
