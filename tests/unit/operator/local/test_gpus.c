// SPDX-License-Identifier: Apache-2.0
/* GPUs of this machine, divided among holders, and among pods as real processes. */
#include "operator/local/gpus.h"

#include "tests/unit/operator/local/local_fixture.h"

#include <stdlib.h>
#include <time.h>

static void test_they_are_taken_and_given_back(void) {
    int a, b, c;
    setenv("CUDA_VISIBLE_DEVICES", "3,GPU-1f,0", 1);
    struct local_gpus *gpus = local_gpus_find();
    CHECK_INT(local_gpus_count(gpus), 3);
    AUTO(text_freep)
    char *first = local_gpus_take(gpus, 2, &a), *second = local_gpus_take(gpus, 1, &b);
    CHECK_STR(first, "3,GPU-1f");
    CHECK_STR(second, "0");
    CHECK(!local_gpus_take(gpus, 1, &c) && !local_gpus_take(gpus, 0, &c));
    local_gpus_give(gpus, &a);
    local_gpus_give(gpus, &c);
    CHECK(!local_gpus_take(gpus, 3, &c));
    AUTO(text_freep)
    char *third = local_gpus_take(gpus, 1, &c), *fourth = local_gpus_take(gpus, 1, &a);
    CHECK_STR(third, "3");
    CHECK_STR(fourth, "GPU-1f");
    local_gpus_free(gpus);
    local_gpus_free(NULL);
    CHECK_INT(local_gpus_count(NULL), 0);
}

/* Indices after a negative one are ignored, as in CUDA. */
static void test_the_list_is_read_as_cuda_reads_it(void) {
    static const struct {
        const char *list;
        size_t count;
    } rows[] = {{"", 0}, {"-1", 0}, {"0,-1,1", 1}, {"7", 1}, {",,", 0}, {"0,1,2,3", 4}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        setenv("CUDA_VISIBLE_DEVICES", rows[i].list, 1);
        struct local_gpus *gpus = local_gpus_find();
        CHECK_INT(local_gpus_count(gpus), (int64_t)rows[i].count);
        local_gpus_free(gpus);
    }
}

static json_t *pod_with_gpus(const char *name, const char *count) {
    json_t *pod = fixture_pod(name, "echo sees $CUDA_VISIBLE_DEVICES; sleep 600");
    json_object_set_new(tree_get(pod, "spec.containers[0]"), "resources",
                        json_pack("{s:{s:s}}", "limits", "nvidia.com/gpu", count));
    return pod;
}

/* Whether the pod's log has the text within a minute. */
static bool sees(struct fixture *fixture, const char *name, const char *wanted) {
    AUTO(text_freep) char *key = x_printf("Pod %s", name);
    if (!fixture_wait(fixture, key, "status.phase", "Running")) {
        return false;
    }
    AUTO(text_freep) char *path = local_log_path(fixture->cluster, name);
    AUTO(text_freep) char *line = x_printf("sees %s\n", wanted);
    for (int i = 0; i < 6000; i++) {
        AUTO(text_freep) char *text = NULL;
        struct error err = {0};
        size_t size;
        if (file_read(path, 4096, &text, &size, &err) == 0 && strchr(text, '\n')) {
            return strcmp(text, line) == 0;
        }
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return false;
}

static void test_pods_have_their_own(void) {
    struct fixture fixture;
    struct error err = {0};
    setenv("CUDA_VISIBLE_DEVICES", "5,6,7", 1);
    struct local_gpus *gpus = local_gpus_find();
    fixture_open_with_gpus(&fixture, gpus, &err);
    fixture_apply(&fixture, pod_with_gpus("one", "1"));
    fixture_apply(&fixture, pod_with_gpus("two", "2"));
    CHECK(sees(&fixture, "one", "5"));
    CHECK(sees(&fixture, "two", "6,7"));
    fixture_apply(&fixture, pod_with_gpus("late", "1")); /* no GPU is left: it sees all */
    CHECK(sees(&fixture, "late", "5,6,7"));
    fixture_apply(&fixture, fixture_pod("plain", "echo sees $CUDA_VISIBLE_DEVICES; sleep 600"));
    CHECK(sees(&fixture, "plain", "5,6,7"));
    fixture_close(&fixture);
    AUTO(text_freep)
    char *all = local_gpus_take(gpus, 3, &err); /* ended pods have returned theirs */
    CHECK_STR(all, "5,6,7");
    local_gpus_free(gpus);
}

int main(void) {
    TEST(test_they_are_taken_and_given_back);
    TEST(test_the_list_is_read_as_cuda_reads_it);
    TEST(test_pods_have_their_own);
    return TEST_END();
}
