// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/faults.h"

#include "tests/cuda/emulated.h"

#include <cuda_runtime.h>

enum { COUNT = 256 };

/* ---- one kernel, on 512 numbers in x and in y ------------------------------------------------ */

#define SHARED __shared__ float shared[COUNT]
typedef void kernel_function(const float *x, float *y, bool is_planted);

static void missing_barrier(const float *x, float *y, bool is_planted) {
    SHARED;
    unsigned t = threadIdx.x;
    shared[t] = 0;
    __syncthreads();
    shared[t] = x[t];
    if (!is_planted) {
        __syncthreads();
    }
    y[t] = shared[(t + 1) % COUNT];
}

static void missing_barrier_before_reuse(const float *x, float *y, bool is_planted) {
    SHARED;
    unsigned t = threadIdx.x;
    float sum = 0;
    for (int i = 0; i < 2; i++) {
        shared[t] = x[t] + (float)i;
        __syncthreads();
        sum += shared[COUNT - 1 - t];
        if (!is_planted) {
            __syncthreads();
        }
    }
    y[t] = sum;
}

static void barrier_of_some_threads(const float *x, float *y, bool is_planted) {
    if (!is_planted || threadIdx.x < COUNT / 2) {
        __syncthreads();
    }
    y[threadIdx.x] = x[threadIdx.x];
}

static void barriers_at_two_places(const float *x, float *y, bool is_planted) {
    unsigned t = threadIdx.x;
    if (is_planted && t % 2) {
        __syncthreads();
        y[t] = x[t];
    } else {
        __syncthreads();
        y[t] = 2 * x[t];
    }
}

static void return_before_a_barrier(const float *x, float *y, bool is_planted) {
    if (is_planted && threadIdx.x >= 200) {
        return;
    }
    __syncthreads();
    y[threadIdx.x] = x[threadIdx.x];
}

static void unwritten_shared_memory(const float *x, float *y, bool is_planted) {
    SHARED;
    unsigned t = threadIdx.x;
    if (!is_planted || t < COUNT / 2) {
        shared[t] = x[t];
    }
    __syncthreads();
    y[t] = shared[t];
}

static void shared_memory_of_the_block_before(const float *x, float *y, bool is_planted) {
    SHARED;
    unsigned t = threadIdx.x;
    if (!is_planted || blockIdx.x == 0) {
        shared[t] = x[t];
    }
    y[blockIdx.x * COUNT + t] = shared[t];
}

static unsigned index_of_thread(void) {
    return blockIdx.x * COUNT + threadIdx.x;
}

static void two_writers(const float *x, float *y, bool is_planted) {
    unsigned i = index_of_thread();
    y[is_planted ? i / 2 : i] = x[i];
}

static void reads_another_block(const float *x, float *y, bool is_planted) {
    unsigned i = index_of_thread();
    y[i] = x[i];
    y[i] = 2 * y[is_planted ? (i + COUNT) % (2 * COUNT) : i];
}

static void overwrites_what_a_block_reads(const float *, float *y, bool is_planted) {
    unsigned i = index_of_thread();
    float other = y[is_planted && blockIdx.x == 0 ? i + COUNT : i];
    y[i] = other + 1;
}

static void counts_without_atomics(const float *x, float *y, bool is_planted) {
    unsigned i = index_of_thread();
    y[is_planted ? 0 : i] += x[i];
}

static void reads_beside_atomics(const float *, float *y, bool is_planted) {
    unsigned i = index_of_thread();
    if (threadIdx.x < COUNT / 2) {
        atomicMax((int *)y, (int)i);
    } else {
        y[i] = is_planted ? y[0] : 0;
    }
}

static void writes_one_too_far(const float *x, float *y, bool is_planted) {
    unsigned i = index_of_thread();
    y[is_planted && i == 2 * COUNT - 1 ? i + 1 : i] = x[i];
}

static void reads_one_too_far(const float *x, float *y, bool is_planted) {
    unsigned i = index_of_thread();
    y[i] = x[is_planted && i == 2 * COUNT - 1 ? i + 1 : i];
}

static void reads_one_too_early(const float *x, float *y, bool is_planted) {
    int i = (int)index_of_thread();
    y[i] = x[is_planted && i == 0 ? i - 1 : i];
}

static void add_one(const float *x, float *y, bool) {
    unsigned i = index_of_thread();
    y[i] = x[i] + 1;
}

static void launch(cudaStream_t stream, unsigned blocks, kernel_function *kernel, const float *x,
                   float *y, bool is_planted) {
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(COUNT);
    config.stream = stream;
    (void)cudaLaunchKernelEx(&config, kernel, x, y, is_planted);
}

/* ---- the order of streams -------------------------------------------------------------------- */

static const size_t numbers = 2 * COUNT, bytes = numbers * sizeof(float);
/* One block of memory has x and y, as the values of a network do, with others around them. */
static const size_t x_at = 64, y_at = x_at + numbers + 64, block_numbers = y_at + numbers + 64;

struct rig {
    cudaStream_t one, two;
    cudaEvent_t event;
    float *block, *x, *y;
    float host[numbers];

    rig() : host() {
        (void)cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
        (void)cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
        (void)cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
        (void)cudaMalloc((void **)&block, block_numbers * sizeof(float));
        x = block + x_at;
        y = block + y_at;
        (void)cudaMemsetAsync(block, 0, block_numbers * sizeof(float), one);
        (void)cudaStreamSynchronize(one);
    }
    ~rig() {
        emulated_operands(NULL, 0);
        (void)cudaStreamSynchronize(one);
        (void)cudaStreamSynchronize(two);
        (void)cudaFree(block);
        (void)cudaEventDestroy(event);
        (void)cudaStreamDestroy(one);
        (void)cudaStreamDestroy(two);
    }
    void limit(size_t y_bytes) {
        const struct emulated_operand all[] = {{x, bytes}, {y, y_bytes}};
        emulated_operands(all, 2);
    }
};

static void run_kernel(kernel_function *kernel, unsigned blocks, bool is_planted) {
    rig r;
    r.limit(bytes);
    launch(r.one, blocks, kernel, r.x, r.y, is_planted);
}

#define KERNEL(name, blocks)                                                                       \
    static void run_##name(bool is_planted) {                                                      \
        run_kernel(name, blocks, is_planted);                                                      \
    }
KERNEL(missing_barrier, 1)
KERNEL(missing_barrier_before_reuse, 1)
KERNEL(barrier_of_some_threads, 1)
KERNEL(barriers_at_two_places, 1)
KERNEL(return_before_a_barrier, 1)
KERNEL(unwritten_shared_memory, 1)
KERNEL(shared_memory_of_the_block_before, 2)
KERNEL(two_writers, 2)
KERNEL(reads_another_block, 2)
KERNEL(overwrites_what_a_block_reads, 2)
KERNEL(counts_without_atomics, 2)
KERNEL(reads_beside_atomics, 2)
KERNEL(writes_one_too_far, 2)
KERNEL(reads_one_too_far, 2)
KERNEL(reads_one_too_early, 2)

static void run_small_scratch(bool is_planted) {
    rig r;
    r.limit(is_planted ? bytes - sizeof(float) : bytes);
    launch(r.one, 2, add_one, r.x, r.y, false);
}

static void run_wrong_stream(bool is_planted) {
    rig r;
    launch(r.one, 2, add_one, r.x, r.y, false);
    launch(is_planted ? r.two : r.one, 2, add_one, r.y, r.x, false);
}

static void run_upload_over_what_is_read(bool is_planted) {
    rig r;
    launch(r.one, 2, add_one, r.x, r.y, false);
    (void)cudaEventRecord(r.event, r.one);
    if (!is_planted) {
        (void)cudaStreamWaitEvent(r.two, r.event, 0);
    }
    (void)cudaMemcpyAsync(r.x, r.host, bytes, cudaMemcpyHostToDevice, r.two);
}

static void run_event_too_early(bool is_planted) {
    rig r;
    if (is_planted) {
        (void)cudaEventRecord(r.event, r.one);
    }
    launch(r.one, 2, add_one, r.x, r.y, false);
    if (!is_planted) {
        (void)cudaEventRecord(r.event, r.one);
    }
    (void)cudaStreamWaitEvent(r.two, r.event, 0);
    (void)cudaMemcpyAsync(r.host, r.y, bytes, cudaMemcpyDeviceToHost, r.two);
}

static void run_another_stream_waits(bool is_planted) {
    rig r;
    launch(r.one, 2, add_one, r.x, r.y, false);
    (void)cudaEventRecord(r.event, r.one);
    (void)cudaStreamWaitEvent(is_planted ? r.one : r.two, r.event, 0);
    launch(r.two, 2, add_one, r.y, r.x, false);
}

static void run_one_workspace_for_two_streams(bool is_planted) {
    rig r;
    (void)cudaMemsetAsync(r.y, 1, bytes, r.one);
    (void)cudaMemsetAsync(r.y, 2, bytes, is_planted ? r.two : r.one);
}

static void run_use_after_free(bool is_planted) {
    rig r;
    float *other = NULL;
    (void)cudaMalloc((void **)&other, bytes);
    if (is_planted) {
        (void)cudaFree(other);
    }
    launch(r.one, 2, add_one, r.x, other, false);
    if (!is_planted) {
        (void)cudaFree(other);
    }
}

static void run_operand_after_free(bool is_planted) {
    rig r;
    float *other = NULL;
    (void)cudaMalloc((void **)&other, bytes);
    const struct emulated_operand all[] = {{r.x, bytes}, {other, bytes}};
    emulated_operands(all, 2);
    if (is_planted) {
        (void)cudaFree(other);
    }
    launch(r.one, 2, add_one, r.x, other, false);
    if (!is_planted) {
        (void)cudaFree(other);
    }
}

/* Two streams read; who writes then waits for the second one. */
static void run_waits_for_one_reader(bool is_planted) {
    rig r;
    launch(r.one, 2, add_one, r.x, r.y, false);
    (void)cudaEventRecord(r.event, r.one);
    (void)cudaMemcpyAsync(r.host, r.x, bytes, cudaMemcpyDeviceToHost, r.two);
    if (!is_planted) {
        (void)cudaStreamWaitEvent(r.two, r.event, 0);
    }
    (void)cudaMemcpyAsync(r.x, r.host, bytes, cudaMemcpyHostToDevice, r.two);
}

static void run_replay_beside_an_upload(bool is_planted) {
    rig r;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    (void)cudaStreamBeginCapture(r.one, cudaStreamCaptureModeThreadLocal);
    launch(r.one, 2, add_one, r.x, r.y, false);
    (void)cudaStreamEndCapture(r.one, &graph);
    (void)cudaGraphInstantiate(&exec, graph, 0);
    (void)cudaGraphLaunch(exec, r.one);
    if (!is_planted) {
        (void)cudaStreamSynchronize(r.one);
    }
    (void)cudaMemcpyAsync(r.x, r.host, bytes, cudaMemcpyHostToDevice, r.two);
    (void)cudaStreamSynchronize(r.two);
    (void)cudaStreamSynchronize(r.one);
    (void)cudaGraphExecDestroy(exec);
    (void)cudaGraphDestroy(graph);
}

static void run_allocation_while_capturing(bool is_planted) {
    rig r;
    cudaGraph_t graph = NULL;
    void *memory = NULL;
    (void)cudaStreamBeginCapture(r.one, cudaStreamCaptureModeThreadLocal);
    if (is_planted) {
        (void)cudaMalloc(&memory, 1);
    }
    (void)cudaStreamEndCapture(r.one, &graph);
    (void)cudaGraphDestroy(graph);
}

static void run_default_stream(bool is_planted) {
    rig r;
    launch(is_planted ? NULL : r.one, 2, add_one, r.x, r.y, false);
}

#define FAULT(name, says) {#name, says, run_##name}
const struct fault faults[] = {
    FAULT(missing_barrier, "race: a thread"),
    FAULT(missing_barrier_before_reuse, "race: a thread"),
    FAULT(barrier_of_some_threads, "divergent barrier: 128 of 256 threads"),
    FAULT(barriers_at_two_places, "divergent barrier: 256 of 256 threads"),
    FAULT(return_before_a_barrier, "divergent barrier: 200 of 256 threads"),
    FAULT(unwritten_shared_memory, "that no thread of its block wrote"),
    FAULT(shared_memory_of_the_block_before, "that no thread of its block wrote"),
    FAULT(two_writers, "race: a thread writes"),
    FAULT(reads_another_block, "race: a thread"),
    FAULT(overwrites_what_a_block_reads, "race: a thread"),
    FAULT(counts_without_atomics, "race: a thread"),
    FAULT(reads_beside_atomics, "race: a thread"),
    FAULT(writes_one_too_far, "outside of its operands"),
    FAULT(reads_one_too_far, "outside of its operands"),
    FAULT(reads_one_too_early, "outside of its operands"),
    FAULT(small_scratch, "outside of its operands"),
    FAULT(wrong_stream, "neither waits for the other"),
    FAULT(upload_over_what_is_read, "neither waits for the other"),
    FAULT(event_too_early, "neither waits for the other"),
    FAULT(another_stream_waits, "neither waits for the other"),
    FAULT(one_workspace_for_two_streams, "neither waits for the other"),
    FAULT(waits_for_one_reader, "neither waits for the other"),
    FAULT(use_after_free, "outside of its operands"),
    FAULT(operand_after_free, "outside of its operands"),
    FAULT(replay_beside_an_upload, "neither waits for the other"),
    FAULT(allocation_while_capturing, "cudaMalloc while the thread captures"),
    FAULT(default_stream, "the default stream"),
};
const size_t fault_count = sizeof faults / sizeof faults[0];
