// SPDX-License-Identifier: Apache-2.0
#include "agent/trainer/comm_command.h"

#include "agent/comm/check.h"
#include "agent/engine/device.h"
#include "agent/train/rank_gpu.h"
#include "lib/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOSTS_SHOWN = 8 }; /* of further hosts only the number is shown */

static int check_bounds(const struct check_options *options, int64_t timeout_s, struct error *err) {
    const struct {
        const char *name;
        int64_t value, least, most;
    } rows[] = {{"--megabytes", options->megabytes, 1, 65536},
                {"--fusion", options->fusion_mib, 1, 65536},
                {"--rounds", options->rounds, 1, 100000},
                {"--timeout", timeout_s, 0, 86400}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].value < rows[i].least || rows[i].value > rows[i].most) {
            return error_set(err, ERROR_INVALID, "%s %lld: expected %lld to %lld", rows[i].name,
                             (long long)rows[i].value, (long long)rows[i].least,
                             (long long)rows[i].most);
        }
    }
    return 0;
}

/* "node-a (2), node-b (2)" */
static void print_hosts(const char (*hosts)[CHECK_HOST_MAX], int count) {
    int shown = 0, more = 0;
    for (int i = 0; i < count; i++) {
        int here = 0;
        bool is_first = true;
        for (int k = 0; k < count; k++) {
            bool same = strcmp(hosts[k], hosts[i]) == 0;
            here += same;
            is_first = is_first && !(same && k < i);
        }
        if (is_first && shown < HOSTS_SHOWN) {
            printf("%s%s (%d)", shown++ ? ", " : "", hosts[i], here);
        } else if (is_first) {
            more++;
        }
    }
    if (more) {
        printf(", and %d more hosts", more);
    }
}

/* A ring sends 2 (n - 1) / n of all bytes over each rank's link, which is the minimum of all
 * algorithms. */
static void print_result(const struct comm *comm, const struct check_options *options,
                         const struct check_result *result) {
    double bytes = (double)options->megabytes * 1e6 * 2 * (comm->size - 1) / comm->size;
    printf("%d rank%s on ", comm->size, comm->size == 1 ? "" : "s");
    print_hosts((const char(*)[CHECK_HOST_MAX])result->hosts, comm->size);
    printf("; %s\n", comm->about);
    printf("sums are right, and have the same bits on every rank (CRC-32C %08x)\n", result->crc);
    printf("%lld MB in %zu buffers, the last of %.1f MB\n", (long long)options->megabytes,
           result->bucket_count, (double)result->last_bytes / 1e6);
    printf("min %.3f ms, max %.3f ms, of %lld\n", result->least_ms, result->most_ms,
           (long long)options->rounds);
    if (comm->size > 1) {
        printf("%.0f MB/s each way on every rank's link, in the median\n",
               bytes / result->median_ms / 1e3);
    }
    printf("median %.3f ms\n", result->median_ms);
}

/* Numbers that are copied to the GPU, summed there, and copied back. */
struct gpu {
    struct device *device;
    void *memory;
    size_t room; /* bytes */
};

static int sum_on_gpu(struct comm *comm, void *context, float *values, size_t count,
                      struct error *err) {
    struct gpu *gpu = context;
    const struct device_ops *ops = gpu->device->ops;
    size_t bytes = count * sizeof *values;
    if (bytes > gpu->room) {
        if (gpu->memory) {
            ops->free(gpu->device, TAKE(gpu->memory));
        }
        gpu->room = 0;
        if (ops->alloc(gpu->device, bytes, &gpu->memory, err) < 0) {
            return -1;
        }
        gpu->room = bytes;
    }
    return ops->copy(gpu->device, COPY_TO_DEVICE, gpu->memory, values, bytes, err) < 0 ||
                   comm_reduce_device(comm, gpu->memory, count, err) < 0
               ? -1
               : ops->copy(gpu->device, COPY_TO_HOST, values, gpu->memory, bytes, err);
}

/* The device is set up as in training (train_command.c). The memory is freed when the process
 * ends. */
static int open_gpu(struct check_options *options, struct gpu *gpu, struct error *err) {
    const char *local_rank = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    AUTO(text_freep) char *visible = NULL;
    if (rank_gpu_choose(getenv("CUDA_VISIBLE_DEVICES"),
                        local_rank ? strtoll(local_rank, NULL, 10) : 0, &visible, err) < 0) {
        return -1;
    }
    setenv("CUDA_VISIBLE_DEVICES", visible, 1);
    options->sum = sum_on_gpu;
    options->context = gpu;
    return device_open("cuda", 1, &gpu->device, err);
}

static int check_command(const char *name, struct check_options *options, struct error *err) {
    AUTO(comm_closep) struct comm *comm = NULL;
    struct check_result result = {0};
    struct gpu gpu = {0};
    if ((name && strcmp(name, "nccl") == 0 && open_gpu(options, &gpu, err) < 0) ||
        comm_open(name, &comm, err) < 0) {
        return -1;
    }
    if (check_run(comm, options, &result, err) < 0) {
        bool is_lost = atomic_load(&comm->is_lost);
        if (is_lost || comm->rank == 0) {
            char host[CHECK_HOST_MAX] = "";
            gethostname(host, sizeof host - 1);
            fprintf(stderr, "windlass-trainer comm check: rank %d of %d on %s: %s\n", comm->rank,
                    comm->size, host, err->text);
        }
        if (is_lost) {
            comm_abandon(error_exit_code(err));
        }
        return error_exit_code(err);
    }
    if (comm->rank == 0) {
        print_result(comm, options, &result);
    }
    free(result.hosts);
    return 0;
}

static int check_main(int argc, char **argv, struct error *err) {
    struct check_options check = {.megabytes = 100, .fusion_mib = 64, .rounds = 10};
    int64_t timeout_s = 60;
    const char *comm = NULL;
    const struct option options[] = {
        {"megabytes", 'm', OPTION_INTEGER, "N", "The numbers to sum, in MB (default: 100).",
         &check.megabytes},
        {"fusion", 0, OPTION_INTEGER, "MIB",
         "Maximum size of a buffer, as fusionBufferMB (default: 64).", &check.fusion_mib},
        {"rounds", 'n', OPTION_INTEGER, "N", "Timed rounds (default: 10).", &check.rounds},
        {"timeout", 0, OPTION_INTEGER, "SECONDS", "Time limit of one sum (default: 60; 0: none).",
         &timeout_s},
        {"comm", 0, OPTION_TEXT, "NAME",
         "The sums: single, mpi or nccl: on GPUs, one a rank (mpi, if mpirun started this).",
         &comm},
        {.name = NULL}};
    static const struct command_help help = {
        .usage = "mpirun -np N windlass-trainer comm check [--megabytes 100] [--rounds 10]",
        .about = "Sums numbers over all ranks, as training sums gradients: in buffers of falling\n"
                 "sizes, by the same thread. Checks every sum and that all ranks have the same\n"
                 "bits (the CRC-32C shows whether another run has them, too), and times it. The\n"
                 "last line is the median of the slowest rank. A rank that does not answer is an\n"
                 "error.",
        .examples = "mpirun -np 4 windlass-trainer comm check\n"
                    "  windlass-trainer comm check --rounds 3     # one process",
    };
    struct option_list words = {0};
    int read = options_read(argc, argv, &help, options, &words, err);
    if (read != 0) {
        return MIN(read, 0);
    }
    if (check_bounds(&check, timeout_s, err) < 0) {
        return -1;
    }
    check.timeout_ms = timeout_s * 1000;
    return check_command(comm, &check, err);
}

int comm_command(int argc, char **argv) {
    struct error err = {0};
    if (argc < 2 || strcmp(argv[1], "check") != 0) {
        bool wants_help =
            argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
        fprintf(wants_help ? stdout : stderr,
                "Usage: windlass-trainer comm check [options]\n\n"
                "  check    checks that sums over these ranks are correct, and measures them\n\n"
                "`windlass-trainer comm check --help` shows the options.\n");
        return wants_help ? 0 : 2;
    }
    int code = check_main(argc - 1, argv + 1, &err);
    if (code < 0) {
        fprintf(stderr, "windlass-trainer comm check: %s\n", err.text);
        return error_exit_code(&err);
    }
    return code;
}
