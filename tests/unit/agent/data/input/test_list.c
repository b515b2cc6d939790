// SPDX-License-Identifier: Apache-2.0
/* Lists of inputs over a real folder, behind broken_store: listings that break anywhere and
 * continue, two coordinators at once, torn pages; and the memory of a million names. SOAK_SEED,
 * SOAK_ROUNDS: other seeds, more of them. */
#include "agent/data/input/list.h"
#include "agent/data/input/list_page.h"
#include "agent/data/source/sorter.h"
#include "lib/file.h"
#include "lib/time/clock.h"
#include "tests/broken_store.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUN "5f0c5f0c5f0c5f0c"

static char *volume; /* a folder of this machine */
static int folders;

static struct store *open_folder(int number) {
    struct error err = {0};
    struct store *store = NULL;
    AUTO(text_freep) char *path = x_printf("listtest/%d", number);
    CHECK_OK(store_open(path, /* writes= */ true, &store, &err), &err);
    return store;
}

/* ---- a made-up input ------------------------------------------------------------------------ */

/* spec: {"count", "breaks": after this many lines of one listing, "cursors", "step": of the
 * numbers, "delay": ms every 100 lines, "hidden": before each line this many names are left out,
 * and as many at the end}. Line i is the number i * step. */
static void leave_out(const struct input_listing *listing, int64_t count) {
    if (listing->left_out) { /* list_compare does not ask */
        *listing->left_out += count;
    }
}

static int numbers_list(const struct input_listing *listing, input_line *line, void *context,
                        struct error *err) {
    int64_t count = tree_integer(listing->spec, "count", 0);
    int64_t breaks = tree_integer(listing->spec, "breaks", INT64_MAX);
    int64_t step = tree_integer(listing->spec, "step", 1),
            delay = tree_integer(listing->spec, "delay", 0);
    int64_t hidden = tree_integer(listing->spec, "hidden", 0);
    bool has_cursors = tree_bool(listing->spec, "cursors", true);
    int64_t first = listing->after ? strtoll(listing->after, NULL, 10) / step + 1 : 0;
    for (int64_t i = first; i < count; i++) {
        char text[32];
        if (i - first == breaks) {
            return error_set(err, ERROR_UNAVAILABLE, "the mount is gone");
        }
        if (delay && i % 100 == 0) {
            poll(NULL, 0, (int)delay);
        }
        int size = snprintf(text, sizeof text, "%lld", (long long)(i * step));
        leave_out(listing, hidden);
        if (line(context, text, (size_t)size, has_cursors ? text : NULL, err) < 0) {
            return -1;
        }
    }
    leave_out(listing, hidden);
    return 0;
}

static const struct input_kind numbers = {.name = "numbers", .list = numbers_list};

static struct list *open_list(struct store *store, const json_t *spec, struct error *err) {
    struct list_options options = {
        .output = store, .run = RUN, .scratch = "7", .spec = spec, .kind = &numbers};
    struct list *list = NULL;
    return list_open(&options, &list, err) < 0 ? NULL : list;
}

/* Waits until the list is complete or has failed; returns the known lines. */
static int64_t await(struct list *list, struct error *err) {
    int64_t lines = 0;
    for (int result = 0; result >= 0 && !list_is_complete(list);) {
        result = list_turn(list, &lines, err);
        if (result == 0) {
            poll(NULL, 0, 1);
        }
    }
    return lines;
}

/* Lines [first, first + count) are the expected numbers. */
static void check_lines(struct list *list, int64_t first, int64_t count, int64_t step) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, 64 << 20);
    CHECK_OK(list_lines(list, first, count, &text, &err), &err);
    AUTO(tree_freep) json_t *lines = NULL;
    CHECK_OK(tree_parse(text.data, text.size, text.size, &lines, &err), &err);
    CHECK_INT(json_array_size(lines), count);
    for (int64_t i = 0; i < count && !test_failures; i++) {
        CHECK_INT(json_integer_value(json_array_get(lines, (size_t)i)), (first + i) * step);
    }
}

/* ---- pages ---------------------------------------------------------------------------------- */

static void test_an_input_is_listed_once(void) {
    struct error err = {0};
    int folder = folders++;
    struct store *store = open_folder(folder);
    AUTO(tree_freep) json_t *spec = json_pack("{s:i}", "count", 250001);
    struct list *list = open_list(store, spec, &err);
    CHECK(list);
    CHECK_INT(await(list, &err), 250001);
    check_lines(list, 0, 250001, 1);
    check_lines(list, 999, 2, 1); /* over the end of the first page */
    check_lines(list, 250000, 1, 1);
    check_lines(list, 5, 0, 1);
    struct list_comparison comparison = {0};
    static const struct list_base no_results = {0};
    int64_t lines = 0;
    CHECK_OK(list_compare(list, &no_results, &comparison, &err), &err);
    CHECK(comparison.is_same);
    json_object_set_new(spec, "count", json_integer(250000));
    CHECK_OK(list_compare(list, &no_results, &comparison, &err), &err);
    CHECK(!comparison.is_same);
    CHECK_INT(comparison.now, 250000);
    list_free(list);
    /* Another coordinator: nothing is listed again (the input to list does not exist). */
    json_object_set_new(spec, "count", json_integer(7));
    list = open_list(store, spec, &err);
    CHECK(list);
    CHECK_INT(list_turn(list, &lines, &err), 1);
    CHECK_INT(lines, 250001);
    CHECK(list_is_complete(list));
    check_lines(list, 123456, 1000, 1);
    list_free(list);
    store_free(store);
}

static void test_an_empty_list_is_complete(void) {
    struct error err = {0};
    struct store *store = open_folder(folders++);
    AUTO(tree_freep) json_t *spec = json_pack("{s:i}", "count", 0);
    struct list *list = open_list(store, spec, &err);
    CHECK(list);
    CHECK_INT(await(list, &err), 0);
    CHECK(list_is_complete(list));
    check_lines(list, 0, 0, 1);
    list_free(list);
    store_free(store);
}

/* The first lines are available while the listing continues. */
static void test_pages_come_while_listing_goes_on(void) {
    struct error err = {0};
    struct store *store = open_folder(folders++);
    AUTO(tree_freep) json_t *spec = json_pack("{s:i,s:i}", "count", 100000, "delay", 100);
    struct list *list = open_list(store, spec, &err);
    int64_t lines = 0, start_ms = clock_monotonic_ms();
    while (list_turn(list, &lines, &err) == 0) {
        poll(NULL, 0, 5);
    }
    CHECK(lines >= 100 && lines <= 50000 && !list_is_complete(list));
    CHECK(clock_monotonic_ms() - start_ms < 50000); /* all take 100 s */
    check_lines(list, 0, lines, 1);
    list_free(list); /* does not wait for the rest */
    CHECK(clock_monotonic_ms() - start_ms < 60000);
    store_free(store);
}

/* Breaks after each number of lines; with cursors and without. */
static void test_a_broken_listing_goes_on(void) {
    for (int has_cursors = 0; has_cursors < 2; has_cursors++) {
        struct store *store = open_folder(folders++);
        int64_t known = 0;
        for (int round = 0;; round++) {
            struct error err = {0};
            AUTO(tree_freep)
            json_t *spec = json_pack("{s:i,s:b,s:i}", "count", 40000, "cursors", has_cursors,
                                     "breaks", has_cursors ? 9001 : 9001 * (round + 1));
            struct list *list = open_list(store, spec, &err);
            int64_t lines = await(list, &err);
            CHECK(lines > known || list_is_complete(list));
            known = lines;
            bool is_complete = list_is_complete(list);
            check_lines(list, 0, lines, 1);
            CHECK_INT(err.kind, is_complete ? ERROR_NONE : ERROR_UNAVAILABLE);
            list_free(list);
            if (is_complete || test_failures) {
                break;
            }
        }
        CHECK_INT(known, 40000);
        store_free(store);
    }
}

static void write_page(struct store *store, int64_t number, const char *text, size_t size) {
    struct error err = {0};
    AUTO(text_freep) char *name = x_printf(".windlass/" RUN "/list/%08lld", (long long)number);
    CHECK_OK(store_put(store, name, text, size, STORE_REPLACE, &err), &err);
}

static void test_pages_that_are_not_ours_are_refused(void) {
    struct list_writer writer;
    list_writer_init(&writer);
    struct error err = {0};
    CHECK_INT(list_writer_add(&writer, "\"a\"", 3, LIST_PLAIN, "a", &err), 1);
    size_t size = 0;
    static const struct {
        const char *run;
        int64_t number, first;
        const char *words;
    } rows[] = {{"0123456789abcdef", 0, 0, "/list/00000000: is a page of run 0123456789abcdef"},
                {RUN, 1, 0, "/list/00000000: is not page 0"},
                {RUN, 0, 5, "/list/00000000: does not continue the page before it"}};
    AUTO(tree_freep) json_t *spec = json_pack("{s:i}", "count", 10);
    struct store *store = open_folder(folders++);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep)
        char *text =
            list_writer_text(&writer, rows[i].run, rows[i].number, rows[i].first, false, &size);
        write_page(store, 0, text, size);
        error_clear(&err);
        CHECK(!open_list(store, spec, &err));
        CHECK_INT(err.kind, ERROR_INVALID);
        CHECK(strstr(err.text, rows[i].words));
    }
    AUTO(text_freep) char *whole = list_writer_text(&writer, RUN, 0, 0, false, &size);
    for (size_t cut = 0; cut < size; cut++) { /* torn anywhere, or a bit turned */
        for (int turned = 0; turned < 2; turned++) {
            AUTO(text_freep) char *text = x_strndup(whole, turned ? size : cut);
            text[cut] = (char)(turned ? text[cut] ^ 1 : 0);
            struct list_page page;
            error_clear(&err);
            CHECK_INT(list_page_read(RUN, 0, TAKE(text), turned ? size : cut, &page, &err), -1);
            CHECK_STR(err.text, "is truncated");
        }
    }
    list_writer_release(&writer);
    store_free(store);
}

static void test_lines_that_no_page_may_hold_are_refused(void) {
    struct list_writer writer;
    list_writer_init(&writer);
    AUTO(text_freep) char *large = x_malloc(INPUT_LINE_MAX + 2);
    memset(large, '1', INPUT_LINE_MAX + 1);
    const struct {
        const char *line;
        size_t size;
        const char *cursor;
    } rows[] = {{"a", 1, ""},
                {"", 0, ""},
                {"1\n2", 3, ""},
                {"\"\xff\"", 3, ""},
                {large, INPUT_LINE_MAX + 1, ""},
                {"1", 1, "\xff"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        CHECK_INT(
            list_writer_add(&writer, rows[i].line, rows[i].size, LIST_PLAIN, rows[i].cursor, &err),
            -1);
        CHECK_INT(err.kind, ERROR_INVALID);
    }
    struct error err = {0};
    int added = 0;
    while (list_writer_add(&writer, large, INPUT_LINE_MAX, LIST_PLAIN, NULL, &err) == 1) {
        added++;
    }
    CHECK_INT(added, LIST_PAGE_TEXT_MAX / (INPUT_LINE_MAX + 1));
    CHECK_INT(err.kind, ERROR_NONE);
    list_writer_release(&writer);
}

/* ---- faults --------------------------------------------------------------------------------- */

struct pod {
    struct store *store;
    json_t *spec;
    struct list *list;
};

/* A list that cannot be opened means that the pod is replaced; so does one that breaks. */
static void open_again(struct pod *pod) {
    list_free(TAKE(pod->list));
    for (int tries = 0; !pod->list && tries < 50; tries++) {
        struct error err = {0};
        pod->list = open_list(pod->store, pod->spec, &err);
    }
    CHECK(pod->list);
}

static int64_t await_pods(struct pod *pod) {
    int64_t lines = -1;
    for (int tries = 0; tries < 50 && pod->list && !list_is_complete(pod->list); tries++) {
        struct error err = {0};
        lines = await(pod->list, &err);
        if (err.kind) {
            open_again(pod);
        }
    }
    CHECK(pod->list && list_is_complete(pod->list));
    return lines;
}

/* Two coordinators list an input of which one sees more, over a broken store; both end with the
 * same lines, and so does a third. */
static void list_side_by_side(uint64_t seed) {
    struct pod pods[2] = {{NULL}};
    int folder = folders++;
    uint64_t random = seed;
    int64_t count = (int64_t)(test_random(&random) % 9000);
    for (int i = 0; i < 2; i++) {
        struct broken_options options = {.seed = test_random(&random),
                                         .percent = (int)(test_random(&random) % 15),
                                         .absent_percent = (int)(test_random(&random) % 8)};
        pods[i].store = broken_store(open_folder(folder), &options);
        pods[i].spec =
            json_pack("{s:I,s:b,s:i}", "count", (json_int_t)(count + 50 * i), "cursors",
                      (int)(test_random(&random) % 2), "delay", (int)(test_random(&random) % 2));
        open_again(&pods[i]);
    }
    int64_t lines = await_pods(&pods[0]);
    /* A page that was written because of its age may have ended where one sees no more. */
    CHECK(lines >= count && lines <= count + 50);
    CHECK_INT(await_pods(&pods[1]), lines);
    struct error err = {0};
    struct store *store = open_folder(folder);
    struct list *list = open_list(store, pods[0].spec, &err);
    CHECK(list);
    CHECK_INT(list ? await(list, &err) : -1, lines);
    if (list && !test_failures) {
        check_lines(list, 0, lines, 1);
    }
    list_free(list);
    store_free(store);
    for (int i = 0; i < 2; i++) {
        list_free(pods[i].list);
        store_free(pods[i].store);
        json_decref(pods[i].spec);
    }
}

static void test_two_coordinators_have_one_list(void) {
    int64_t rounds = test_rounds(40);
    uint64_t seed = test_seed(1);
    for (int64_t i = 0; i < rounds && !test_failures; i++) {
        list_side_by_side(seed + (uint64_t)i);
        if (test_failures) {
            printf("# SOAK_SEED=%llu SOAK_ROUNDS=1 shows it\n",
                   (unsigned long long)(seed + (uint64_t)i));
        }
    }
}

/* ---- sorting, memory ------------------------------------------------------------------------ */

struct sorted {
    char last[64];
    size_t last_size;
    int64_t count;
    uint64_t sum;
    bool is_bad;
};

static int see_key(void *context, const char *key, size_t size, struct error *err UNUSED) {
    struct sorted *sorted = context;
    int order = memcmp(sorted->last, key, MIN(sorted->last_size, size));
    sorted->is_bad = sorted->is_bad || order > 0 || (order == 0 && sorted->last_size > size);
    memcpy(sorted->last, key, size);
    sorted->last_size = size;
    sorted->count++;
    for (size_t i = 0; i < size; i++) {
        sorted->sum += (unsigned char)key[i];
    }
    return 0;
}

static void test_sorting_outside_memory_loses_nothing(void) {
    struct store *store = open_folder(folders++);
    uint64_t random = 5;
    for (int round = 0; round < 20; round++) {
        struct error err = {0};
        struct sorted sorted = {0};
        struct sorter *sorter = sorter_new(store, "sort/run-", 1 + test_random(&random) % 4000);
        int64_t count = (int64_t)(test_random(&random) % 3000);
        uint64_t sum = 0;
        for (int64_t i = 0; i < count; i++) {
            char key[60];
            size_t size = 1 + test_random(&random) % sizeof key;
            for (size_t at = 0; at < size; at++) {
                key[at] = (char)(test_random(&random) % (round % 2 ? 3 : 256));
                sum += (unsigned char)key[at];
            }
            CHECK_OK(sorter_add(sorter, key, size, &err), &err);
        }
        CHECK_OK(sorter_run(sorter, see_key, &sorted, &err), &err);
        CHECK(!sorted.is_bad);
        CHECK_INT(sorted.count, count);
        CHECK(sorted.sum == sum);
        sorter_free(sorter);
    }
    AUTO(text_freep) char *path = x_printf("%s/%d/sort/run-0000", volume, folders - 1);
    CHECK(access(path, F_OK) < 0); /* nothing remains */
    store_free(store);
}

struct feed {
    input_line *line;
    void *context;
};

static int feed_key(void *context, const char *key, size_t size, struct error *err) {
    struct feed *feed = context;
    char text[80];
    int length = snprintf(text, sizeof text, "\"%.*s\"", (int)size, key);
    return feed->line(feed->context, text, (size_t)length, NULL, err);
}

/* Names of some 40 bytes in no order, as in a folder. */
static int names_list(const struct input_listing *listing, input_line *line, void *context,
                      struct error *err) {
    int64_t count = tree_integer(listing->spec, "count", 0);
    AUTO(sorter_freep)
    struct sorter *sorter = sorter_new(listing->scratch, listing->scratch_name, 0);
    struct feed feed = {line, context};
    for (int64_t i = 0; i < count; i++) {
        char name[64];
        int size = snprintf(name, sizeof name, "2019/%016llx/photo-%08lld.jpg",
                            (unsigned long long)i * 0x9E3779B97F4A7C15u, (long long)i);
        if (sorter_add(sorter, name, (size_t)size, err) < 0) {
            return -1;
        }
    }
    return sorter_run(sorter, feed_key, &feed, err);
}

static const struct input_kind names = {.name = "names", .list = names_list};

/* In a separate process, whose memory is measured when it ends. Exit code 0: success. */
static int list_names(int64_t count) {
    struct error err = {0};
    AUTO(tree_freep) json_t *spec = json_pack("{s:I}", "count", (json_int_t)count);
    struct store *store = open_folder(folders);
    struct list_options options = {
        .output = store, .run = RUN, .scratch = "7", .spec = spec, .kind = &names};
    struct list *list = NULL;
    if (list_open(&options, &list, &err) < 0 || await(list, &err) != count) {
        printf("# %s\n", err.text);
        return 1;
    }
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, 1 << 20);
    char last[80] = "";
    for (int64_t first = 0; first < count; first += 100) {
        buffer_clear(&text);
        if (list_lines(list, first, MIN((int64_t)100, count - first), &text, &err) < 0 ||
            strncmp(last, text.data + 1, 40) >= 0) {
            return 1;
        }
        snprintf(last, sizeof last, "%.60s", text.data + 1);
    }
    list_free(list);
    store_free(store);
    return 0;
}

/* However often the listing breaks and is continued, each name that is left out counts once. */
static void test_what_is_left_out_counts_once(void) {
    for (int variant = 0; variant < 4; variant++) {
        struct error err = {0};
        bool has_cursors = variant % 2 == 0, breaks = variant >= 2;
        struct store *store = open_folder(folders++);
        AUTO(tree_freep)
        json_t *spec =
            json_pack("{s:i,s:i,s:b}", "count", 5000, "hidden", 3, "cursors", has_cursors);
        struct list *list = NULL;
        int tries = 0;
        for (int64_t at = breaks ? 700 : 5001; !list || !list_is_complete(list); at += 700) {
            list_free(TAKE(list));
            error_clear(&err);
            json_object_set_new(spec, "breaks", json_integer(has_cursors && breaks ? 700 : at));
            list = open_list(store, spec, &err);
            CHECK(list && ++tries < 20);
            (void)await(list, &err);
        }
        CHECK(breaks ? tries > 3 : tries == 1);
        CHECK_INT(list_found(list).left_out, 3 * 5001);
        list_free(list);
        list = open_list(store, spec, &err); /* from the pages */
        CHECK_INT(await(list, &err), 5000);
        CHECK_INT(list_found(list).left_out, 3 * 5001);
        list_free(list);
        store_free(store);
    }
}

static void test_many_names_take_little_memory(void) {
    int64_t count = getenv("SOAK_ROUNDS") ? 1000000 : 200000, start_ms = clock_monotonic_ms();
    struct rusage before, usage;
    fflush(stdout);
    getrusage(RUSAGE_SELF, &before);
    pid_t child = fork();
    if (child == 0) {
        exit(list_names(count));
    }
    int status = -1;
    CHECK(wait4(child, &status, 0, &usage) == child);
    folders++;
    CHECK_INT(status, 0);
    printf("# %lld names: %lld ms, %ld MiB at most\n", (long long)count,
           (long long)(clock_monotonic_ms() - start_ms), usage.ru_maxrss / 1024);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    CHECK(usage.ru_maxrss < 40 * 1024); /* for any count */
#endif
}

int main(void) {
    volume = realpath("build/tests", NULL);
    AUTO(text_freep) char *folder = x_printf("%s/list-%ld", volume, (long)getpid());
    struct error err = {0};
    free(volume);
    volume = x_strdup(folder);
    CHECK_OK(file_make_folders(volume, &err), &err);
    setenv("listtest", volume, 1);
    TEST(test_many_names_take_little_memory); /* before other tests have used memory */
    TEST(test_an_input_is_listed_once);
    TEST(test_an_empty_list_is_complete);
    TEST(test_pages_come_while_listing_goes_on);
    TEST(test_a_broken_listing_goes_on);
    TEST(test_pages_that_are_not_ours_are_refused);
    TEST(test_lines_that_no_page_may_hold_are_refused);
    TEST(test_what_is_left_out_counts_once);
    TEST(test_two_coordinators_have_one_list);
    TEST(test_sorting_outside_memory_loses_nothing);
    CHECK_OK(file_remove_tree(volume, &err), &err);
    free(volume);
    return TEST_END();
}
