// SPDX-License-Identifier: Apache-2.0
#include "agent/trainer/train_command.h"

#include "agent/engine/device.h"
#include "agent/job.h"
#include "agent/launch/gang/launch_job.h"
#include "agent/train/rank_gpu.h"
#include "agent/train/trainer.h"
#include "lib/cgroup.h"
#include "lib/options.h"
#include "lib/time/clock.h"
#include "lib/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 1024, NOTICE_MS = 250 };

static int64_t number_of(const char *variable) {
    const char *text = getenv(variable);
    return text ? strtoll(text, NULL, 10) : 0;
}

/* Stopped by a signal, or by the file that announces that a pod of the gang is about to end
 * (agent/launch/gang/environment.h: WINDLASS_NOTICE). The thread that runs the steps checks for the
 * file every NOTICE_MS. */
static bool is_stopped(void) {
    static int64_t looked_ms;
    static bool is_noticed;
    const char *notice = getenv("WINDLASS_NOTICE");
    int64_t now_ms = clock_monotonic_ms();
    if (notice && !is_noticed && now_ms - looked_ms >= NOTICE_MS) {
        looked_ms = now_ms;
        is_noticed = access(notice, F_OK) == 0;
    }
    return is_noticed || job_is_interrupted();
}

/* The processors of this pod (or WINDLASS_THREADS), divided among the ranks that run in it. */
static int choose_threads(int64_t asked) {
    int64_t here = MAX(number_of("OMPI_COMM_WORLD_LOCAL_SIZE"), 1);
    int64_t count = number_of("WINDLASS_THREADS");
    if (count < 1) {
        count = cgroup_usable_processors(NULL);
    }
    return (int)MIN(MAX(asked ? asked : count / here, 1), THREADS_MAX);
}

static void print_line(const char *line) {
    printf("%s\n", line);
    fflush(stdout);
}

/* In the rank's own log. */
static void note(int rank, const char *line) {
    printf("rank %d: %s\n", rank, line);
    fflush(stdout);
}

static int run(const char *kind, const char *device, struct train_job *job, struct error *err) {
    AUTO(comm_closep) struct comm *comm = NULL;
    if (comm_open(kind, &comm, err) < 0) {
        return -1;
    }
    int rank = comm->rank, result = device_open(device, job->threads, &job->device, err);
    bool is_alone = comm->size == 1;
    if (result < 0 && device && strncmp(device, "cuda", 4) == 0) {
        error_context(err, "this rank needs a GPU (CUDA_VISIBLE_DEVICES=%.32s)",
                      getenv("CUDA_VISIBLE_DEVICES"));
    }
    if (result == 0) {
        result = trainer_run(job, comm, err);
    }
    if (!atomic_load(&comm->is_lost)) { /* otherwise the reducer's thread may still use it */
        device_close(job->device);
    }
    if (result < 0) {
        fprintf(stderr, "windlass-trainer train: rank %d of %d: %s\n", rank, comm->size, err->text);
        /* Other ranks may wait for this rank in a sum, so they are ended, too. */
        bool is_lost = atomic_load(&comm->is_lost),
             gives_up = is_lost && err->kind == ERROR_TIMEOUT;
        int code = gives_up             ? TRAINER_GIVES_UP
                   : *job->has_bad_data ? TRAINER_BAD_DATA
                                        : error_exit_code(err);
        if (is_lost || (!is_alone && err->kind != ERROR_CANCELLED)) {
            comm_abandon(code);
        }
        return code;
    }
    return 0;
}

/* With GPUs: this rank's GPU becomes the only visible one, in the precision of the training, with
 * NCCL between ranks. */
static int choose_gpu(const json_t *spec, const char **kind, const char **device,
                      struct error *err) {
    int64_t gpus = tree_integer(spec, "gpus", 0);
    bool is_bfloat = strcmp(tree_text(spec, "trainer.precision", ""), "BF16") == 0;
    AUTO(text_freep) char *visible = NULL;
    if (*device ? strcmp(*device, "cuda") != 0 : gpus == 0) {
        return 0;
    }
    if (rank_gpu_choose(getenv("CUDA_VISIBLE_DEVICES"), number_of("OMPI_COMM_WORLD_LOCAL_RANK"),
                        &visible, err) < 0) {
        return -1;
    }
    setenv("CUDA_VISIBLE_DEVICES", visible, 1);
    *device = is_bfloat ? "cuda:bfloat16" : "cuda";
    *kind = *kind ? *kind : "nccl";
    return 0;
}

static int train_main(int argc, char **argv, struct error *err) {
    const char *kind = NULL, *device = NULL;
    int64_t threads = 0;
    const struct option options[] = {
        {"comm", 0, OPTION_TEXT, "NAME",
         "The sums: single, mpi or nccl (default: by mpirun and GPUs).", &kind},
        {"device", 0, OPTION_TEXT, "NAME",
         "The device: cpu or cuda (default: cuda if the job has GPUs).", &device},
        {"threads", 't', OPTION_INTEGER, "N",
         "CPU threads of this rank (default: all, shared by the ranks)", &threads},
        {.name = NULL}};
    static const struct command_help help = {
        .usage = "mpirun -np N windlass-trainer train [--threads N]",
        .about =
            "One rank of a training. Its job is in the environment: WINDLASS_SPEC (JSON; its\n"
            "trainer), WINDLASS_RUN (names its checkpoints), and a variable with the folder\n"
            "of each volume. Writes OUT/model.onnx, metrics.csv, an event file for\n"
            "TensorBoard and, with timeline, rank.N.json for Perfetto. An interrupted\n"
            "training continues from its checkpoint. A rank that hears nothing from the\n"
            "others for restart.hangSeconds (0: no limit) exits with 4, one that ends because of\n"
            "bad samples (data.onBadSample) with 5. All fields are expected:\n"
            "windlass fills the defaults in.",
    };
    struct option_list words = {0};
    int read = options_read(argc, argv, &help, options, &words, err);
    if (read != 0) {
        return MIN(read, 0);
    }
    AUTO(tree_freep) json_t *spec = NULL;
    bool has_bad_data = false;
    struct train_job job = {.has_bad_data = &has_bad_data,
                            .note = note,
                            .name = getenv("WINDLASS_JOB"),
                            .run = getenv("WINDLASS_RUN"),
                            .restart = getenv("WINDLASS_RESTART"),
                            .round = number_of("WINDLASS_ROUND"),
                            .threads = choose_threads(threads),
                            .is_stopped = is_stopped,
                            .say = print_line};
    if (!job.run || strlen(job.run) != 16 || strspn(job.run, "0123456789abcdef") != 16) {
        return error_set(err, ERROR_INVALID, "WINDLASS_RUN: 16 hexadecimal digits are expected");
    }
    if (job_read_spec(&spec, err) < 0) {
        return -1;
    }
    job.trainer = json_object_get(spec, "trainer");
    if (!json_is_object(job.trainer)) {
        return error_set(err, ERROR_INVALID, "WINDLASS_SPEC: trainer is missing");
    }
    job.metrics = json_object_get(spec, "metrics");
    job.shared = tree_text(spec, "shared", NULL);
    if (!json_is_integer(tree_get(spec, "restart.hangSeconds"))) {
        return error_set(err, ERROR_INVALID,
                         "WINDLASS_SPEC: restart.hangSeconds: an integer is expected");
    }
    job.timeout_ms = 1000 * MAX(tree_integer(spec, "restart.hangSeconds", 0), 0);
    if (choose_gpu(spec, &kind, &device, err) < 0) {
        return -1;
    }
    job_catch_signals();
    return run(kind, device, &job, err);
}

int train_command(int argc, char **argv) {
    struct error err = {0};
    int code = train_main(argc, argv, &err);
    if (code < 0) {
        fprintf(stderr, "windlass-trainer train: %s\n", err.text);
        return error_exit_code(&err);
    }
    return code;
}
