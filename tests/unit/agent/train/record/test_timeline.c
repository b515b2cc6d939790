// SPDX-License-Identifier: Apache-2.0
/* The file as a reader of JSON sees it: which steps are in it, how slices nest, that it is valid at
 * every moment, however much is added and whatever the names of nodes are. */
#include "agent/train/record/timeline.h"

#include "lib/file.h"
#include "lib/time/clock.h"
#include "lib/tree.h"
#include "tests/test.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static char *volume;

static struct store *open_out(void) {
    struct error err = {0};
    struct store *store = NULL;
    CHECK_OK(store_open("volume/out", true, &store, &err), &err);
    return store;
}

/* The file of a rank; NULL: it does not exist. An existing file must be JSON. */
static json_t *read_trace(int rank, size_t *ret_size) {
    struct error err = {0};
    json_error_t where;
    AUTO(text_freep) char *path = x_printf("%s/out/rank.%d.json", volume, rank);
    AUTO(text_freep) char *text = NULL;
    size_t size = 0;
    if (access(path, F_OK) != 0) {
        return NULL;
    }
    CHECK_OK(file_read(path, 2 * TIMELINE_BYTES_MAX, &text, &size, &err), &err);
    json_t *tree = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    CHECK(tree != NULL);
    if (ret_size) {
        *ret_size = size;
    }
    return tree;
}

static double number(const json_t *event, const char *field) {
    return json_number_value(json_object_get(event, field));
}

static bool is_slice(const json_t *event) {
    return strcmp(tree_text(event, "ph", ""), "X") == 0;
}

/* Slices of one lane must be disjoint or nested: viewers drop others. O(n^2), for small files. */
static int count_crossing(const json_t *events) {
    size_t i, k;
    const json_t *a, *b;
    int crossing = 0;
    json_array_foreach(events, i, a) {
        json_array_foreach(events, k, b) {
            if (!is_slice(a) || !is_slice(b) || number(a, "tid") != number(b, "tid")) {
                continue;
            }
            double end_a = number(a, "ts") + number(a, "dur");
            double end_b = number(b, "ts") + number(b, "dur");
            crossing += number(a, "ts") < number(b, "ts") && number(b, "ts") < end_a - 1e-6 &&
                        end_a + 1e-6 < end_b;
        }
    }
    return crossing;
}

/* A step as the trainer records it, at a time in microseconds. */
static void add_step(struct timeline *timeline, int64_t step, int64_t zero_ns, int64_t at_us,
                     const char *node) {
    int64_t at_ns = zero_ns + at_us * 1000;
    if (timeline_begin(timeline, step)) {
        timeline_add(timeline, TIMELINE_COMPUTE, "wait for a batch", at_ns + 1, at_ns + 1000);
        timeline_add(timeline, TIMELINE_COMPUTE, node, at_ns + 1000, at_ns + 5001);
        timeline_add(timeline, TIMELINE_SUMS, "bucket 1, 0.1 MB", at_ns + 4000, at_ns + 7000);
    }
    timeline_end(timeline, at_ns, at_ns + 9999, 0.5);
}

static void the_first_steps_and_each_hundredth(void) {
    struct error err = {0};
    AUTO(store_freep) struct store *store = open_out();
    int64_t zero_ns = clock_monotonic_ns();
    struct timeline_options options = {store, "node\"1\"\n", 2, 4, zero_ns, 0};
    AUTO(timeline_freep) struct timeline *timeline = timeline_new(&options);
    for (int64_t step = 1001; step <= 1300; step++) { /* a training that continues */
        add_step(timeline, step, zero_ns, 10 * step, "Conv \"conv1\"\\\t\xff");
    }
    CHECK_OK(timeline_finish(timeline, &err), &err);
    AUTO(tree_freep) json_t *trace = read_trace(2, NULL);
    const json_t *events = json_object_get(trace, "traceEvents"), *event;
    int64_t next = 1001, slices = 0, losses = 0;
    size_t i;
    json_array_foreach(events, i, event) {
        const char *name = tree_text(event, "name", "");
        CHECK_INT(number(event, "pid"), 2);
        slices += is_slice(event);
        losses += strcmp(tree_text(event, "ph", ""), "C") == 0;
        if (strcmp(name, "process_name") == 0) {
            CHECK_STR(tree_text(event, "args.name", ""), "rank 2 of 4 on node?1??");
        }
        if (text_starts(name, "Conv")) {
            CHECK_STR(name, "Conv ?conv1????");
            CHECK(fabs(number(event, "dur") - 4.001) < 1e-9);
        }
        if (text_starts(name, "step ")) {
            AUTO(text_freep) char *wanted = x_printf("step %lld", (long long)next);
            CHECK_STR(name, wanted);
            CHECK(fabs(number(event, "ts") - 10 * (double)next) < 1e-9);
            next = next < 1020 ? next + 1 : next / 100 * 100 + 100;
        }
    }
    CHECK_INT(next, 1400);
    CHECK_INT(slices, 4 * (20 + 3));
    CHECK_INT(losses, 20 + 3);
    CHECK_INT(count_crossing(events), 0);
}

/* A step that does not fit is left out completely, and so are all later ones. */
static void what_is_full_is_whole(void) {
    for (size_t max = 1500; max < 3000; max += 37) {
        struct error err = {0};
        AUTO(store_freep) struct store *store = open_out();
        struct timeline_options options = {store, "node", 1, 2, 0, max};
        AUTO(timeline_freep) struct timeline *timeline = timeline_new(&options);
        size_t size = 0;
        for (int64_t step = 1; step <= 20; step++) {
            add_step(timeline, step, 0, 10 * step, "Gemm fc1");
            timeline_add(timeline, TIMELINE_COMPUTE, "evaluation", 0, 1);
        }
        CHECK_OK(timeline_finish(timeline, &err), &err);
        AUTO(tree_freep) json_t *trace = read_trace(1, &size);
        const json_t *events = json_object_get(trace, "traceEvents"), *event;
        int steps = 0, waits = 0, sums = 0, losses = 0;
        size_t i;
        json_array_foreach(events, i, event) {
            const char *name = tree_text(event, "name", "");
            steps += text_starts(name, "step ");
            waits += text_starts(name, "wait ");
            sums += text_starts(name, "bucket ");
            losses += strcmp(name, "loss") == 0;
        }
        CHECK(size <= max);
        CHECK(steps >= 1 && steps < 20);
        CHECK(waits == steps && sums == steps && losses == steps);
    }
}

/* A step that fails is never ended: the file then does not have it. */
static void a_step_that_broke_off_is_not_there(void) {
    struct error err = {0};
    AUTO(store_freep) struct store *store = open_out();
    struct timeline_options options = {store, "node", 4, 5, 0, 0};
    AUTO(timeline_freep) struct timeline *timeline = timeline_new(&options);
    add_step(timeline, 1, 0, 10, "Gemm fc1");
    CHECK(timeline_begin(timeline, 2));
    timeline_add(timeline, TIMELINE_COMPUTE, "half", 30, 40);
    CHECK_OK(timeline_finish(timeline, &err), &err);
    AUTO(tree_freep) json_t *trace = read_trace(4, NULL);
    AUTO(text_freep) char *text = json_dumps(trace, JSON_COMPACT);
    CHECK(text && strstr(text, "step 1") && !strstr(text, "half"));
}

static atomic_bool is_over;
static atomic_int looked;

static void *look(void *context) {
    while (!atomic_load(&is_over)) {
        AUTO(tree_freep) json_t *trace = read_trace(*(int *)context, NULL);
        atomic_fetch_add(&looked, trace != NULL);
    }
    return NULL;
}

static void it_is_whole_at_every_moment(void) {
    struct error err = {0};
    int rank = 3;
    pthread_t thread;
    AUTO(store_freep) struct store *store = open_out();
    struct timeline_options options = {store, "node", rank, 4, 0, 0};
    AUTO(timeline_freep) struct timeline *timeline = timeline_new(&options);
    CHECK_INT(pthread_create(&thread, NULL, look, &rank), 0);
    for (int i = 0; i < 100 || (atomic_load(&looked) < 20 && i < 10000); i++) {
        add_step(timeline, 100 * (i + 1), 0, 10 * i, "Relu");
        CHECK_OK(timeline_finish(timeline, &err), &err);
    }
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    CHECK(atomic_load(&looked) >= 20);
}

static void who_did_nothing_writes_nothing(void) {
    struct error err = {0};
    AUTO(store_freep) struct store *store = open_out();
    struct timeline_options options = {store, "node", 77, 78, 0, 0};
    AUTO(timeline_freep) struct timeline *timeline = timeline_new(&options);
    CHECK_OK(timeline_finish(timeline, &err), &err);
    CHECK(read_trace(77, NULL) == NULL);
    CHECK(!timeline_begin(NULL, 1));
    timeline_end(NULL, 0, 1, 1);
    CHECK_OK(timeline_finish(NULL, &err), &err);
}

int main(void) {
    struct error err = {0};
    char folder[] = "/tmp/windlass-timeline-XXXXXX";
    volume = mkdtemp(folder);
    setenv("volume", volume, 1);
    TEST(the_first_steps_and_each_hundredth);
    TEST(what_is_full_is_whole);
    TEST(a_step_that_broke_off_is_not_there);
    TEST(it_is_whole_at_every_moment);
    TEST(who_did_nothing_writes_nothing);
    CHECK_OK(file_remove_tree(volume, &err), &err);
    return TEST_END();
}
