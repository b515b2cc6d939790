// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/graph/resident.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/test.h"

enum { COUNT = 1 << 16 };

static const char path[] = "build/test_resident.bin";

static float *numbers(float first) {
    float *numbers = aligned_alloc(4096, COUNT * 4);
    for (int i = 0; i < COUNT; i++) {
        numbers[i] = (float)i + first;
    }
    return numbers;
}

/* The file: a byte, so that all else is at odd addresses, and the numbers. */
static void write_file(const char *name, float first, size_t count) {
    float *content = numbers(first);
    FILE *file = fopen(name, "wb");
    CHECK(file && fputc(0, file) == 0 && fwrite(content, 4, count, file) == count);
    CHECK(file && fclose(file) == 0);
    free(content);
}

/* The file, and the copy of its numbers that a reader has made. */
static struct resident_file *fill(struct graph *graph, struct value *value) {
    struct error err = {0};
    struct resident_file *file = NULL;
    write_file(path, 1, COUNT);
    AUTO(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK_OK(resident_file_open(path, fd, COUNT * 4 + 1, &file, &err), &err);
    *value = (struct value){.name = "w", .is_constant = true, .shape = {1, {COUNT}}};
    value->origin = file->bytes + 1;
    value->constant = (struct tensor){TENSOR_FLOAT32, value->shape, numbers(1), false};
    *graph = (struct graph){.value_count = 1, .values = value, .may_evict = true};
    return file;
}

static void done(struct resident_file *file, struct value *value) {
    free(value->constant.data);
    resident_file_free(file);
    unlink(path);
}

static int count_right(const struct value *value) {
    int right = 0;
    for (int i = 0; i < COUNT; i++) {
        float number; /* at an odd address if they are in the file */
        memcpy(&number, (char *)value->constant.data + (size_t)i * 4, 4);
        right += number == (float)i + 1;
    }
    return right;
}

static void test_what_is_let_go_comes_back(void) {
    struct graph graph;
    struct value value;
    struct error err = {0};
    struct resident_file *file = fill(&graph, &value);
    graph_evict(&graph, 0);
    CHECK_INT(count_right(&value), 0); /* it consists of whole pages */
    CHECK(value.is_evicted);
    CHECK_OK(graph_reload(&graph, file, &err), &err);
    CHECK(!value.is_evicted);
    CHECK_INT(count_right(&value), COUNT);
    graph_evict(&graph, 0);
    unlink(path); /* like a copy that only its reader has open */
    CHECK_OK(graph_reload(&graph, file, &err), &err);
    CHECK_INT(count_right(&value), COUNT);
    graph_pin(&graph, 0, value.constant.data);
    graph_evict(&graph, 0);
    CHECK_INT(count_right(&value), COUNT);
    done(file, &value);
}

/* A constant at an even address is used directly in the file's mapping. */
static void test_the_file_s_own_bytes_come_back(void) {
    struct graph graph;
    struct value value;
    struct error err = {0};
    struct resident_file *file = fill(&graph, &value);
    void *copy = value.constant.data;
    value.constant.data = file->bytes + 1;
    graph_evict(&graph, 0);
    CHECK(value.is_evicted && count_right(&value) < COUNT);
    CHECK_OK(graph_reload(&graph, file, &err), &err);
    CHECK_INT(count_right(&value), COUNT);
    value.constant.data = copy;
    done(file, &value);
}

static void test_a_file_that_was_changed_is_an_error(void) {
    static const struct {
        float first;
        size_t count;
        const char *wanted;
    } changes[] = {
        {1, COUNT / 2, "ends after 131073 bytes, it had 262145 when it was opened"},
        {1, 0, "ends after 1 bytes, it had 262145"},
        {2, COUNT, "has other bytes at 1 than when it was opened"},
    };
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        struct graph graph;
        struct value value;
        struct error err = {0};
        struct resident_file *file = fill(&graph, &value);
        graph_evict(&graph, 0);
        write_file(path, changes[i].first, changes[i].count); /* the very file: no other inode */
        CHECK_INT(graph_reload(&graph, file, &err), -1);
        CHECK_INT(err.kind, ERROR_UNAVAILABLE);
        CHECK_INT(error_exit_code(&err), 3);
        CHECK(strstr(err.text, path) && strstr(err.text, "\"w\"") &&
              strstr(err.text, changes[i].wanted));
        CHECK(value.is_evicted);
        error_clear(&err);
        write_file(path, 1, COUNT); /* the mount is back */
        CHECK_OK(graph_reload(&graph, file, &err), &err);
        CHECK_INT(count_right(&value), COUNT);
        done(file, &value);
    }
}

/* A model's weights may be in several files. */
static void test_another_file_of_the_model(void) {
    struct graph graph;
    struct value value;
    struct error err = {0};
    struct resident_file *file = fill(&graph, &value), *other = NULL;
    float *copy = value.constant.data;
    AUTO(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK_OK(resident_file_reserve("weights.bin", fd, COUNT * 4 + 1, &other, &err), &err);
    CHECK_INT(other->bytes[1], 0); /* nothing is read */
    value.origin = value.constant.data = other->bytes + 1;
    CHECK_OK(resident_file_read(other, 1, value.constant.data, COUNT * 4, &err), &err);
    file->next = other;
    graph_evict(&graph, 0);
    CHECK_OK(graph_reload(&graph, file, &err), &err);
    CHECK_INT(count_right(&value), COUNT);
    graph_evict(&graph, 0);
    write_file(path, 2, COUNT);
    CHECK_INT(graph_reload(&graph, file, &err), -1);
    CHECK(strstr(err.text, "weights.bin: weights \"w\": has other bytes"));
    error_clear(&err);
    resident_file_free(other);
    value.constant.data = copy;
    done(file, &value);
}

static void test_views_hold_what_they_show(void) {
    struct graph graph;
    struct value values[2];
    struct resident_file *file = fill(&graph, &values[0]);
    values[1] = (struct value){.name = "made in a run"};
    graph.values = values;
    graph.value_count = 2;
    graph_pin(&graph, 1, values[0].constant.data);
    graph_evict(&graph, 0);
    CHECK_INT(count_right(&values[0]), COUNT);
    done(file, &values[0]);
}

static void test_what_may_not_go_stays(void) {
    struct graph graph;
    struct value value;
    struct resident_file *file = fill(&graph, &value);
    const void *origin = value.origin;
    graph.may_evict = false;
    graph_evict(&graph, 0);
    graph.may_evict = true;
    value.origin = NULL;
    graph_evict(&graph, 0);
    value.origin = origin;
    value.shape.dims[0] = RESIDENT_BYTES_MIN / 4 - 1;
    graph_evict(&graph, 0);
    CHECK_INT(count_right(&value), COUNT);
    done(file, &value);
}

/* Data beside a model is read in parts: what was written since is known by the file's time. */
/* Only sizes count; such a constant is never touched. */
static void test_how_much_is_kept(void) {
    struct value values[2] = {{.shape = {1, {RESIDENT_KEPT_MAX / 4}}, .is_evicted = true},
                              {.shape = {1, {COUNT}}}};
    struct graph graph = {.value_count = 2, .values = values};
    values[0].type = values[1].type = TENSOR_FLOAT32;
    CHECK(graph_keeps_evicted(&graph));
    values[1].is_evicted = true;
    CHECK(!graph_keeps_evicted(&graph));
}

static void test_a_file_that_was_written_over_is_known(void) {
    struct error err = {0};
    struct resident_file *file = NULL;
    write_file(path, 1, COUNT);
    AUTO(fd_closep) int fd = open(path, O_RDWR | O_CLOEXEC);
    CHECK_OK(resident_file_reserve(path, fd, COUNT * 4 + 1, &file, &err), &err);
    CHECK_OK(resident_file_check(file, &err), &err);
    nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL); /* times have steps of 10 ms */
    CHECK_INT(pwrite(fd, "x", 1, COUNT), 1);
    CHECK_INT(resident_file_check(file, &err), -1);
    CHECK_INT(err.kind, ERROR_UNAVAILABLE);
    resident_file_free(file);
    unlink(path);
}

/* In pieces of whole words it is the same. */
static void test_the_sum_of_pieces(void) {
    char bytes[43] = "a model's weights, and what is behind them";
    uint64_t whole = resident_sum(0, bytes, sizeof bytes);
    CHECK(resident_sum(resident_sum(0, bytes, 16), bytes + 16, sizeof bytes - 16) == whole);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] ^= 4;
        CHECK(resident_sum(0, bytes, sizeof bytes) != whole);
        bytes[i] ^= 4;
    }
}

int main(void) {
    TEST(test_what_is_let_go_comes_back);
    TEST(test_the_file_s_own_bytes_come_back);
    TEST(test_a_file_that_was_changed_is_an_error);
    TEST(test_another_file_of_the_model);
    TEST(test_views_hold_what_they_show);
    TEST(test_what_may_not_go_stays);
    TEST(test_a_file_that_was_written_over_is_known);
    TEST(test_how_much_is_kept);
    TEST(test_the_sum_of_pieces);
    return TEST_END();
}
