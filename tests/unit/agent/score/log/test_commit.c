// SPDX-License-Identifier: Apache-2.0
/* The commit log over a real folder, over broken_store: coordinators that end at any moment, two
 * logs at once, false answers; checked against a plain table of what was added and what was
 * reported as stored. SOAK_SEED, SOAK_ROUNDS: other seeds, more of them. */
#include "agent/score/log/commit.h"
#include "lib/digest.h"
#include "lib/file.h"
#include "lib/time/clock.h"
#include "tests/broken_store.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

enum { LEASES_MAX = 4000, CELLS = 40 };

static char *volume; /* a folder of this machine */
static int folders;

static struct commit_identity identity_of(const char *uid) {
    return (struct commit_identity){.run = "5f0c5f0c5f0c5f0c",
                                    .uid = uid,
                                    .job = "churn",
                                    .timeout_ms = 60000,
                                    .absent_ms = 300};
}

static struct store *open_folder(int number) {
    struct error err = {0};
    struct store *store = NULL;
    AUTO(text_freep) char *path = x_printf("committest/%d", number);
    CHECK_OK(store_open(path, /* writes= */ true, &store, &err), &err);
    return store;
}

/* ---- the model ------------------------------------------------------------------------------ */

struct lease {
    int64_t cell, epoch;
    bool is_acked;
    int seen; /* in the reading under way */
};

struct model {
    struct lease leases[LEASES_MAX];
    int64_t count;
    int64_t cell_seen[CELLS];
    int64_t last_epoch, last_lease; /* of the reading under way */
    bool is_bad;
    bool has_end;
};

/* All of a record follows from its lease. */
static struct commit_record record_of(int64_t lease, int64_t cell, char text[static 64]) {
    snprintf(text, 64, "row %lld \"\\\n\x01\xC3\xA4", (long long)lease);
    return (struct commit_record){.type = COMMIT_DONE,
                                  .first = cell,
                                  .cells = 1,
                                  .items = lease % 7 + 1,
                                  .lease = lease,
                                  .try = (int)(lease % 3) + 1,
                                  .worker = lease % 2 ? "w-0" : "w-1",
                                  .start_ms = lease * 3,
                                  .took_ms = lease,
                                  .place = lease % 3 ? COMMIT_TEXT : COMMIT_OBJECT,
                                  .size_bytes = lease % 3 ? 0 : lease,
                                  .crc = lease % 3 ? 0 : (uint32_t)lease * 2654435761u,
                                  .text = lease % 3 ? text : NULL,
                                  .text_size = lease % 3 ? strlen(text) : 0};
}

static int see(void *context, const struct commit_head *head, const struct commit_record *record,
               struct error *err UNUSED) {
    struct model *model = context;
    char text[64];
    if (record->type == COMMIT_END) {
        model->is_bad = model->is_bad || model->has_end || strcmp(record->text, "Succeeded") != 0;
        model->has_end = true;
        return 0;
    }
    if (record->lease >= model->count) {
        model->is_bad = true;
        return 0;
    }
    struct lease *lease = &model->leases[record->lease];
    struct commit_record wanted = record_of(record->lease, lease->cell, text);
    bool is_same = record->type == wanted.type && record->first == wanted.first &&
                   record->cells == 1 && record->items == wanted.items && !record->failed &&
                   record->try == wanted.try && strcmp(record->worker, wanted.worker) == 0 &&
                   record->start_ms == wanted.start_ms && record->took_ms == wanted.took_ms &&
                   record->place == wanted.place && record->size_bytes == wanted.size_bytes &&
                   record->crc == wanted.crc && record->text_size == wanted.text_size &&
                   (!wanted.text || memcmp(record->text, wanted.text, wanted.text_size) == 0);
    bool is_in_order = record->epoch > model->last_epoch ||
                       (record->epoch == model->last_epoch && record->lease > model->last_lease);
    if (!is_same || !is_in_order || record->epoch != lease->epoch || head->epoch != lease->epoch) {
        model->is_bad = true;
    }
    model->last_epoch = record->epoch;
    model->last_lease = record->lease;
    lease->seen++;
    model->cell_seen[lease->cell]++;
    return 0;
}

static void begin_reading(struct model *model) {
    memset(model->cell_seen, 0, sizeof model->cell_seen);
    model->last_epoch = model->last_lease = -1;
    model->has_end = false;
    for (int64_t i = 0; i < model->count; i++) {
        model->leases[i].seen = 0;
    }
}

/* All records reported as stored are there, once; of each epoch a first part; each cell once. */
static void check_reading(const struct model *model, uint64_t seed) {
    int64_t missing_epoch = -1;
    bool is_bad = model->is_bad;
    for (int64_t i = 0; i < model->count; i++) {
        const struct lease *lease = &model->leases[i];
        is_bad = is_bad || lease->seen > 1 || (lease->is_acked && lease->seen == 0);
        /* Two logs alive at once take leases in turns: only the newest one's order is checked. */
        is_bad = is_bad || (lease->seen && missing_epoch == lease->epoch);
        missing_epoch = lease->seen ? missing_epoch : lease->epoch;
    }
    for (int i = 0; i < CELLS; i++) {
        is_bad = is_bad || model->cell_seen[i] > 1;
    }
    if (is_bad) {
        printf("# seed %llu: what is read is not what was stored\n", (unsigned long long)seed);
    }
    CHECK(!is_bad);
}

/* ---- lives ---------------------------------------------------------------------------------- */

struct life {
    struct commit_log *log;
    int64_t first_lease[LEASES_MAX]; /* by position in this log */
    int64_t added, through;
    bool is_mine[CELLS]; /* restored or added here */
};

static void add_cell(struct model *model, struct life *life, int64_t cell) {
    struct error err = {0};
    char text[64];
    int64_t lease = model->count++;
    model->leases[lease] = (struct lease){.cell = cell, .epoch = commit_epoch(life->log)};
    life->first_lease[life->added++] = lease;
    life->is_mine[cell] = true;
    struct commit_record record = record_of(lease, cell, text);
    CHECK_OK(commit_add(life->log, &record, &err), &err);
}

/* Adds up to `count` cells that this life lacks, starting at a random one. */
static void add_some(struct model *model, struct life *life, uint64_t *state, int count) {
    int64_t start = (int64_t)(test_random(state) % CELLS);
    for (int64_t i = 0; i < CELLS && count > 0; i++) {
        int64_t cell = (start + i) % CELLS;
        if (!life->is_mine[cell] && model->count < LEASES_MAX) {
            add_cell(model, life, cell);
            count--;
        }
    }
}

static int turn(struct model *model, struct life *life, bool at_once, struct error *err) {
    int64_t through = 0;
    int result = commit_poll(life->log, at_once, clock_monotonic_ms(), &through, err);
    if (result > 0) {
        CHECK(through > life->through && through <= life->added);
        for (int64_t i = life->through; i < through; i++) {
            model->leases[life->first_lease[i]].is_acked = true;
        }
        life->through = through;
    }
    return result;
}

static bool start_life(struct model *model, struct life *life, struct store *store, const char *uid,
                       uint64_t seed, bool may_fail) {
    struct error err = {0};
    struct commit_identity identity = identity_of(uid);
    identity.timeout_ms = may_fail ? 60 : identity.timeout_ms;
    *life = (struct life){0};
    begin_reading(model);
    if (commit_open(store, &identity, see, model, &life->log, &err) < 0) {
        if (!may_fail || !store_error_is_machine(&err)) {
            printf("# seed %llu: %s\n", (unsigned long long)seed, err.text);
        }
        CHECK(may_fail && store_error_is_machine(&err));
        return false;
    }
    check_reading(model, seed);
    for (int i = 0; i < CELLS; i++) {
        life->is_mine[i] = model->cell_seen[i] > 0;
    }
    return true;
}

/* The old log notices it, and no record that it adds from now on is reported as stored. */
static void check_superseded(struct model *model, struct life *old, bool is_same_uid) {
    struct error err = {0};
    int64_t before = old->added, end_ms = clock_monotonic_ms() + 60000;
    if (model->count < LEASES_MAX) {
        add_cell(model, old, 0);
    }
    while (turn(model, old, true, &err) >= 0 && clock_monotonic_ms() < end_ms) {
        poll(NULL, 0, 1);
    }
    CHECK(err.kind == (is_same_uid ? ERROR_GONE : ERROR_BUSY) || store_error_is_machine(&err));
    CHECK(old->through <= before);
}

static void live(struct model *model, int number, uint64_t seed, uint64_t *state) {
    bool dies = test_random(state) % 3 == 0, is_same_uid = test_random(state) % 2;
    struct broken_options options = {
        .seed = test_random(state),
        .percent = (int)(test_random(state) % 30),
        .absent_percent = (int)(test_random(state) % 10),
        .dies_after = dies ? 1 + (int64_t)(test_random(state) % 60) : 0,
    };
    AUTO(store_freep) struct store *store = broken_store(open_folder(number), &options);
    AUTO(store_freep) struct store *other = NULL;
    struct life *life = x_calloc(1, sizeof *life), *next = x_calloc(1, sizeof *next);
    if (start_life(model, life, store, "uid-1", seed, dies)) {
        int steps = (int)(test_random(state) % 8);
        struct error err = {0};
        for (int i = 0; i < steps; i++) {
            add_some(model, life, state, (int)(test_random(state) % 4));
            if (turn(model, life, test_random(state) % 2, &err) < 0) {
                CHECK(store_error_is_machine(&err));
                break;
            }
            poll(NULL, 0, (int)(test_random(state) % 2));
        }
        if (!dies && test_random(state) % 3 == 0) {
            other = open_folder(number);
            if (start_life(model, next, other, is_same_uid ? "uid-1" : "uid-2", seed, false)) {
                check_superseded(model, life, is_same_uid);
                commit_free(next->log);
            }
        }
        commit_free(life->log);
    }
    free(life);
    free(next);
}

static void finish(struct model *model, int number, uint64_t seed, uint64_t *state) {
    struct error err = {0};
    AUTO(store_freep) struct store *store = open_folder(number);
    struct life *life = x_calloc(1, sizeof *life);
    if (start_life(model, life, store, "uid-1", seed, false)) {
        add_some(model, life, state, CELLS);
        while (life->through < life->added && turn(model, life, true, &err) >= 0) {
            poll(NULL, 0, 1);
        }
        struct commit_record end = {.type = COMMIT_END,
                                    .cells = CELLS,
                                    .text = "Succeeded",
                                    .text_size = strlen("Succeeded")};
        int64_t through = 0;
        CHECK_OK(commit_add(life->log, &end, &err), &err);
        while (through <= life->added &&
               commit_poll(life->log, true, clock_monotonic_ms(), &through, &err) >= 0) {
            poll(NULL, 0, 1);
        }
        begin_reading(model);
        CHECK_OK(commit_replay(life->log, see, model, &err), &err);
        check_reading(model, seed);
        CHECK(model->has_end);
        for (int i = 0; i < CELLS; i++) {
            CHECK_INT(model->cell_seen[i], 1);
        }
        commit_free(life->log);
    }
    free(life);
}

static void whatever_happens_nothing_is_lost_or_twice(void) {
    uint64_t first = test_seed(1);
    int64_t rounds = test_rounds(30) * 10;
    struct model *model = x_malloc(sizeof *model);
    for (int64_t round = 0; round < rounds && !test_failures; round++) {
        uint64_t seed = first + (uint64_t)round, state = seed;
        int number = folders++;
        memset(model, 0, sizeof *model);
        int lives = 1 + (int)(test_random(&state) % 5);
        for (int i = 0; i < lives; i++) {
            live(model, number, seed, &state);
        }
        finish(model, number, seed, &state);
        if (test_failures) {
            printf("# SOAK_SEED=%llu shows it\n", (unsigned long long)seed);
        }
        struct error err = {0};
        AUTO(text_freep) char *folder = x_printf("%s/%d", volume, number);
        CHECK_OK(file_remove_tree(folder, &err), &err);
    }
    free(model);
}

/* ---- changes to a log by hand --------------------------------------------------------------- */

static struct model *hand_model;
static struct store *hand_store;

static void write_commits(int count) {
    struct error err = {0};
    struct life life;
    hand_model = x_calloc(1, sizeof *hand_model);
    hand_store = open_folder(folders++);
    CHECK(start_life(hand_model, &life, hand_store, "uid-1", 0, false));
    for (int i = 0; i < count; i++) {
        add_cell(hand_model, &life, i);
        while (life.through < life.added && turn(hand_model, &life, true, &err) >= 0) {
            poll(NULL, 0, 1);
        }
    }
    commit_free(life.log);
}

static void end_hand(void) {
    store_freep(&hand_store);
    free(TAKE(hand_model));
}

static char *path_of(int number) {
    return x_printf("%s/%d/.windlass/5f0c5f0c5f0c5f0c/commit/%012d", volume, folders - 1, number);
}

static int open_log(struct commit_log **ret_log, struct error *err) {
    struct commit_identity identity = identity_of("uid-1");
    *ret_log = NULL;
    begin_reading(hand_model);
    error_clear(err);
    return commit_open(hand_store, &identity, see, hand_model, ret_log, err);
}

static int64_t seen_cells(void) {
    int64_t seen = 0;
    for (int i = 0; i < CELLS; i++) {
        seen += hand_model->cell_seen[i];
    }
    return seen;
}

static void a_torn_last_commit_is_void_for_ever(void) {
    struct error err = {0};
    struct commit_log *log = NULL;
    write_commits(3); /* claim 0, commits 1, 2, 3 */
    AUTO(text_freep) char *path = path_of(3);
    char *whole = NULL;
    size_t size = 0;
    CHECK_OK(file_read(path, 1 << 20, &whole, &size, &err), &err);
    for (size_t cut = 0; cut < size; cut += 17) {
        CHECK_INT(truncate(path, 0), 0);
        FILE *file = fopen(path, "w");
        CHECK(file && fwrite(whole, 1, cut, file) == cut && fclose(file) == 0);
        CHECK_OK(open_log(&log, &err), &err);
        CHECK_INT(seen_cells(), 2);
        CHECK_INT(commit_epoch(log), 4);
        commit_free(log);
        AUTO(text_freep) char *claim = path_of(4);
        if (cut + 17 < size) {
            CHECK_INT(unlink(claim), 0);
        }
    }
    CHECK_OK(file_write(path, whole, size, &err), &err);
    CHECK_OK(open_log(&log, &err), &err);
    CHECK_INT(seen_cells(), 2);
    CHECK_INT(commit_epoch(log), 5);
    commit_free(log);
    free(whole);
    end_hand();
}

static void torn_or_missing_in_the_middle_is_refused(void) {
    struct error err = {0};
    struct commit_log *log = NULL;
    write_commits(4);
    AUTO(text_freep) char *path = path_of(2);
    CHECK_INT(truncate(path, 60), 0);
    CHECK(open_log(&log, &err) < 0 && err.kind == ERROR_INVALID);
    CHECK(strstr(err.text, "commit/000000000002 is truncated") != NULL);
    CHECK_INT(unlink(path), 0);
    CHECK(open_log(&log, &err) < 0 && err.kind == ERROR_INVALID);
    CHECK(strstr(err.text, "commit/000000000002 is missing, ") != NULL);
    end_hand();
}

/* Its time limit ends before it is known to be gone: a machine's error, without an answer. */
static void missing_for_a_while_is_the_stores_trouble(void) {
    struct error err = {0};
    struct commit_log *log = NULL;
    write_commits(4);
    AUTO(text_freep) char *path = path_of(2);
    CHECK_INT(unlink(path), 0);
    struct commit_identity identity = identity_of("uid-1");
    identity.timeout_ms = 50;
    identity.absent_ms = 60000;
    begin_reading(hand_model);
    CHECK(commit_open(hand_store, &identity, see, hand_model, &log, &err) < 0);
    CHECK_INT(err.kind, ERROR_UNAVAILABLE);
    end_hand();
}

static void another_run_is_refused_by_name(void) {
    struct error err = {0};
    struct commit_log *log = NULL;
    write_commits(1);
    struct commit_identity identity = identity_of("uid-1");
    identity.run = "0000000000000001";
    CHECK(commit_open(hand_store, &identity, see, hand_model, &log, &err) < 0);
    CHECK_INT(err.kind, ERROR_CONFLICT);
    CHECK(strstr(err.text, "job churn (run 5f0c5f0c5f0c5f0c)") != NULL);
    end_hand();
}

/* Lines of the same form may have another meaning there. */
static void of_another_release_is_refused_by_name(void) {
    for (const char *version = "13"; *version; version++) {
        struct error err = {0};
        struct commit_log *log = NULL;
        char *text = NULL;
        size_t size = 0;
        write_commits(1);
        AUTO(text_freep) char *path = path_of(1);
        CHECK_OK(file_read(path, 1 << 20, &text, &size, &err), &err);
        CHECK(text_starts(text, "{\"windlass\":2,"));
        text[12] = *version;
        size_t end = (size_t)(strstr(text, "\n{\"end\"") + 1 - text);
        AUTO(text_freep)
        char *sealed = x_printf("%.*s{\"end\":1,\"crc\":\"%08x\"}\n", (int)end, text,
                                digest_crc32c(0, text, end));
        CHECK_OK(file_write(path, sealed, strlen(sealed), &err), &err);
        CHECK(open_log(&log, &err) < 0);
        CHECK_INT(err.kind, ERROR_UNSUPPORTED);
        CHECK(strstr(err.text, "commit/000000000001: it was written by another release"));
        free(text);
        end_hand();
    }
}

static void replace_in(const char *path, const char *old, const char *new, bool is_sealed) {
    struct error err = {0};
    char *text = NULL;
    size_t size = 0;
    CHECK_OK(file_read(path, 1 << 20, &text, &size, &err), &err);
    char *at = strstr(text, old);
    CHECK(at && strlen(old) == strlen(new));
    memcpy(at, new, strlen(new));
    CHECK(!commit_is_whole(text, size)); /* the checksum detects it */
    if (is_sealed) {
        struct commit_writer none;
        commit_writer_init(&none);
        struct commit_head head = {.run = "5f0c5f0c5f0c5f0c",
                                   .uid = "u",
                                   .job = "j",
                                   .nonce = "n",
                                   .number = 1,
                                   .epoch = 1,
                                   .void_from = 0};
        free(text);
        text = commit_writer_text(&none, &head, &size);
    }
    CHECK_OK(file_write(path, text, size, &err), &err);
    free(text);
}

static void changed_commits_do_not_count(void) {
    struct error err = {0};
    struct commit_log *log = NULL;
    write_commits(2);
    AUTO(text_freep) char *path = path_of(1);
    replace_in(path, "[\"d\",0", "[\"d\",9", false);
    CHECK(open_log(&log, &err) < 0 && strstr(err.text, "000000000001 is truncated"));
    replace_in(path, "\"epoch\":0", "\"epoch\":0", true); /* a claim that voids the first one */
    CHECK(open_log(&log, &err) < 0 && strstr(err.text, "000000000002 was not written by"));
    end_hand();
}

/* A full, refusing or missing store is a machine's error: another coordinator may succeed. */
static void give_to_a_store_that_dies(uint64_t seed) {
    struct error err = {0};
    struct broken_options options = {.seed = seed, .dies_after = 12};
    hand_model = x_calloc(1, sizeof *hand_model);
    AUTO(store_freep) struct store *store = broken_store(open_folder(folders++), &options);
    struct commit_identity identity = identity_of("uid-1");
    identity.timeout_ms = 50;
    struct commit_log *log = NULL;
    CHECK_OK(commit_open(store, &identity, see, hand_model, &log, &err), &err);
    char text[64];
    int64_t through = 0, end_ms = clock_monotonic_ms() + 60000;
    int result = 0;
    for (int64_t i = 0; result >= 0 && clock_monotonic_ms() < end_ms; i++) {
        struct commit_record record = record_of(i, 0, text);
        if (!commit_is_full(log)) {
            CHECK_OK(commit_add(log, &record, &err), &err);
        }
        result = commit_poll(log, true, clock_monotonic_ms(), &through, &err);
        poll(NULL, 0, 1);
    }
    CHECK(result < 0);
    CHECK_INT(err.kind, ERROR_UNAVAILABLE);
    CHECK(commit_poll(log, true, clock_monotonic_ms(), &through, &(struct error){0}) < 0);
    commit_free(log);
    free(TAKE(hand_model));
}

static void a_store_that_takes_nothing_ends_it(void) {
    for (uint64_t seed = 0; seed < 6; seed++) {
        give_to_a_store_that_dies(seed);
    }
}

/* Full objects are cut, and the log reports that it is full before memory is exhausted. */
static int count_records(void *context, const struct commit_head *head UNUSED,
                         const struct commit_record *record, struct error *err UNUSED) {
    *(int64_t *)context += record->text_size == 1 << 20;
    return 0;
}

static void much_at_once(void) {
    struct error err = {0};
    atomic_bool is_held = false;
    struct broken_options options = {.is_held = &is_held};
    AUTO(store_freep) struct store *store = broken_store(open_folder(folders++), &options);
    AUTO(text_freep) char *text = x_malloc(1 << 20);
    memset(text, 'x', 1 << 20);
    struct commit_identity identity = identity_of("uid-1");
    struct commit_log *log = NULL;
    int64_t through = 0, count = 0, seen = 0;
    bool was_full = false;
    CHECK_OK(commit_open(store, &identity, count_records, &seen, &log, &err), &err);
    atomic_store(&is_held, true); /* the storage is slower than what comes in */
    while (count < 40) {
        if (!commit_is_full(log)) {
            struct commit_record record = record_of(1, count++, (char[64]){0});
            record.text = text;
            record.text_size = 1 << 20;
            CHECK_OK(commit_add(log, &record, &err), &err);
        } else {
            was_full = true;
            atomic_store(&is_held, false);
            poll(NULL, 0, 1);
        }
        CHECK(commit_poll(log, false, clock_monotonic_ms(), &through, &err) >= 0);
    }
    atomic_store(&is_held, false);
    while (through < count && commit_poll(log, true, clock_monotonic_ms(), &through, &err) >= 0) {
        poll(NULL, 0, 1);
    }
    CHECK(was_full);
    CHECK_OK(commit_replay(log, count_records, &seen, &err), &err);
    CHECK_INT(seen, 40);
    struct commit_record record = record_of(1, 0, (char[64]){0});
    AUTO(text_freep) char *large = x_calloc(1, (4 << 20) + 1);
    memset(large, 'x', 4 << 20);
    record.text = large;
    record.text_size = 4 << 20;
    CHECK(commit_add(log, &record, &err) < 0 && err.kind == ERROR_INVALID);
    commit_free(log);
}

int main(void) {
    volume =
        x_printf("%s/windlass-commit-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(volume)) {
        return 1;
    }
    setenv("committest", volume, 1);
    TEST(a_torn_last_commit_is_void_for_ever);
    TEST(torn_or_missing_in_the_middle_is_refused);
    TEST(missing_for_a_while_is_the_stores_trouble);
    TEST(another_run_is_refused_by_name);
    TEST(of_another_release_is_refused_by_name);
    TEST(changed_commits_do_not_count);
    TEST(a_store_that_takes_nothing_ends_it);
    TEST(much_at_once);
    TEST(whatever_happens_nothing_is_lost_or_twice);
    struct error err = {0};
    CHECK_OK(file_remove_tree(volume, &err), &err);
    free(volume);
    return TEST_END();
}
