// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/run_fit.h"

#include <stdio.h>
#include <unistd.h>

int64_t run_fit_workers(json_t *spec, int64_t asked, int processors) {
    json_t *workers = tree_get(spec, "workers");
    if (!workers) {
        workers = json_object();
        json_object_set_new(spec, "workers", workers);
    }
    int64_t count = asked == RUN_FIT_UNASKED
                        ? MIN(tree_integer(workers, "max", processors), (int64_t)processors)
                        : asked;
    count = MAX(count, (int64_t)1);
    json_object_set_new(workers, "max", json_integer(count));
    json_object_set_new(workers, "min", json_integer(count));
    return count;
}

int64_t run_fit_gang(json_t *spec, int64_t asked) {
    int64_t count = asked == RUN_FIT_UNASKED ? tree_integer(spec, "workers", 1) : asked;
    json_object_set_new(spec, "workers", json_integer(count));
    return count;
}

int64_t run_fit_sweep(json_t *spec, int64_t asked, int processors) {
    json_t *trial = json_object_get(spec, "trial");
    int64_t processes = asked == RUN_FIT_UNASKED ? processors : asked;
    bool is_varied = json_is_string(json_object_get(trial, "workers")); /* $(WORKERS) */
    int64_t workers = is_varied ? processes : MAX(tree_integer(trial, "workers", 1), (int64_t)1);
    int64_t trials = MIN(MAX(processes / MAX(workers, (int64_t)1), (int64_t)1),
                         tree_integer(spec, "maxConcurrentTrials", 1));
    json_object_set_new(spec, "maxConcurrentTrials", json_integer(trials));
    json_object_set_new(trial, "ttlSecondsAfterFinished", json_integer(INT32_MAX));
    return trials * workers;
}

/* What the driver makes: on Linux, and in WSL 2. */
static bool has_gpu(void) {
    return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

bool run_fit_gpus(json_t *spec, int64_t asked, size_t there, const char *job) {
    int64_t gpus = tree_integer(spec, "workers.gpus", 0);
    if (asked != RUN_FIT_UNASKED) {
        gpus = asked;
    } else if (gpus > 0 && tree_get(spec, "scorer.onnx") && !has_gpu()) {
        fprintf(stderr,
                "windlass: %s: spec.workers.gpus is %lld, and this machine has no NVIDIA GPU with "
                "a driver (no /dev/nvidiactl): its processors score, in FP32 (--gpus %lld: try all "
                "the same)\n",
                job, (long long)gpus, (long long)gpus);
        gpus = 0;
    }
    int64_t workers = tree_integer(spec, "workers.max", 1);
    bool is_enough = gpus > 0 && workers * gpus <= (int64_t)there;
    if (gpus > 0 && workers > 1 && !is_enough) {
        char have[40] = "";
        if (there > 0) {
            snprintf(have, sizeof have, "it has %zu; ", there);
        }
        fprintf(stderr,
                "windlass: %s: its %lld workers use the same GPUs of this machine, %lld of them "
                "(%s--workers %lld: each has its own)\n",
                job, (long long)workers, (long long)gpus, have,
                MAX((long long)there / (long long)gpus, 1LL));
    }
    json_object_set_new(json_object_get(spec, "workers"), "gpus", json_integer(gpus));
    if (gpus == 0) {
        json_object_del(tree_get(spec, "scorer.onnx"), "precision");
    }
    return is_enough;
}
