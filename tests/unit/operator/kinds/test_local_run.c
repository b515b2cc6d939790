// SPDX-License-Identifier: Apache-2.0
/* Messages of `windlass run` about a machine's GPUs, on standard error. */
#include "operator/kinds/batchscore/local_run.h"
#include "operator/kinds/sweep/local_run.h"

#include "lib/file.h"
#include "tests/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static const char path[] = "build/test_run_fit.stderr";

/* The messages for a number of workers and of GPUs that each requests, on a machine with some;
 * whether each has its own GPUs is checked. The caller frees. */
static char *said_of(int workers, int64_t gpus, size_t there) {
    AUTO(tree_freep)
    json_t *spec = json_pack("{s:{s:i,s:i}, s:{s:{}}}", "workers", "max", workers, "gpus", 0,
                             "scorer", "onnx");
    struct error err = {0};
    char *text = NULL;
    size_t size = 0;
    fflush(stderr);
    int kept = dup(STDERR_FILENO), fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    CHECK(kept >= 0 && fd >= 0 && dup2(fd, STDERR_FILENO) >= 0);
    CHECK(batchscore_fit_gpus(spec, gpus, there, "job") ==
          (gpus > 0 && workers * gpus <= (int64_t)there));
    fflush(stderr);
    CHECK(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
    close(fd);
    CHECK_INT(tree_integer(spec, "workers.gpus", -1), gpus);
    CHECK_OK(file_read(path, 4096, &text, &size, &err), &err);
    unlink(path);
    return text;
}

static void test_workers_that_share_gpus_are_told(void) {
    AUTO(text_freep) char *several = said_of(4, 2, 0), *one = said_of(1, 2, 0);
    AUTO(text_freep)
    char *few = said_of(4, 2, 7), *own = said_of(4, 2, 8), *none = said_of(4, 0, 8);
    CHECK(strstr(several, "job: its 4 workers use the same GPUs of this machine, 2 of them "
                          "(--workers 1: each has its own)"));
    CHECK(strstr(few, "2 of them (it has 7; --workers 3: each has its own)"));
    CHECK_STR(own, "");
    CHECK_STR(one, "");
    CHECK_STR(none, "");
}

static int64_t at_once(int64_t asked, const char *trial, int64_t most) {
    json_error_t why;
    AUTO(tree_freep)
    json_t *spec = json_pack("{s:o, s:I}", "trial", json_loads(trial, 0, &why),
                             "maxConcurrentTrials", (json_int_t)most);
    int64_t processes = sweep_fit(spec, asked, 8);
    int64_t trials = tree_integer(spec, "maxConcurrentTrials", -1);
    CHECK_INT(processes % trials, 0);
    CHECK_INT(tree_integer(spec, "trial.ttlSecondsAfterFinished", -1), INT32_MAX);
    return trials;
}

static void test_trials_at_once_are_what_the_processors_take(void) {
    CHECK_INT(at_once(KIND_UNSET, "{}", 100), 8);
    CHECK_INT(at_once(KIND_UNSET, "{}", 3), 3);
    CHECK_INT(at_once(KIND_UNSET, "{\"workers\": 3}", 100), 2);
    CHECK_INT(at_once(KIND_UNSET, "{\"workers\": 20}", 100), 1);
    CHECK_INT(at_once(20, "{\"workers\": 2, \"ttlSecondsAfterFinished\": 5}", 100), 10);
    CHECK_INT(at_once(KIND_UNSET, "{\"workers\": \"$(WORKERS)\"}", 100), 1);
}

int main(void) {
    TEST(test_workers_that_share_gpus_are_told);
    TEST(test_trials_at_once_are_what_the_processors_take);
    return TEST_END();
}
