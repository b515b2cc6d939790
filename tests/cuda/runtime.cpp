// SPDX-License-Identifier: Apache-2.0
/* Stands in for CUDA's runtime: memory is ordinary memory (NaN before anything is written), threads
 * of a block are fibers. A stream does as late as it may what it is asked: when somebody waits for
 * it, and then no more than is waited for. So whoever does not wait sees what was there before. */
#include "tests/cuda/emulated/cuda_runtime.h"

#include "tests/cuda/emulated.h"
#include "tests/cuda/runtime.h"

#include <sanitizer/common_interface_defs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

/* One thread of the host at a time is in here. */
static std::recursive_mutex everything;
#define ALONE std::lock_guard<std::recursive_mutex> alone(everything)

struct emulated_index threadIdx, blockIdx, blockDim, gridDim;

/* ---- threads -------------------------------------------------------------------------------- */

static const size_t stack_bytes = 256 << 10;

/* Puts what a call preserves on this stack, keeps its top in *from, and returns on the stack whose
 * top `to` was kept so. (swapcontext would make two system calls, and AddressSanitizer would clear
 * the shadow of the whole stack: two thirds of a test's time.) */
extern "C" void switch_stacks(void **from, void *to);
#ifdef __aarch64__
static const size_t kept_words = 20, return_word = 11;
asm(R"(
    .text
    .type switch_stacks, %function
switch_stacks:
    sub sp, sp, 160
    stp x19, x20, [sp]
    stp x21, x22, [sp, 16]
    stp x23, x24, [sp, 32]
    stp x25, x26, [sp, 48]
    stp x27, x28, [sp, 64]
    stp x29, x30, [sp, 80]
    stp d8, d9, [sp, 96]
    stp d10, d11, [sp, 112]
    stp d12, d13, [sp, 128]
    stp d14, d15, [sp, 144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp]
    ldp x21, x22, [sp, 16]
    ldp x23, x24, [sp, 32]
    ldp x25, x26, [sp, 48]
    ldp x27, x28, [sp, 64]
    ldp x29, x30, [sp, 80]
    ldp d8, d9, [sp, 96]
    ldp d10, d11, [sp, 112]
    ldp d12, d13, [sp, 128]
    ldp d14, d15, [sp, 144]
    add sp, sp, 160
    ret
    .size switch_stacks, . - switch_stacks
)");
#elif defined(__x86_64__)
/* The eighth word is a return address, 0: a function begins with a stack 8 bytes off 16. */
static const size_t kept_words = 8, return_word = 6;
asm(R"(
    .text
    .type switch_stacks, @function
switch_stacks:
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
    .size switch_stacks, . - switch_stacks
)");
#else
#error "which registers does a call preserve on this processor?"
#endif

struct fiber {
    std::unique_ptr<char[]> stack;
    void *top; /* while it does not run */
    unsigned thread;
    bool is_busy, is_waiting;
};

static struct {
    std::vector<std::unique_ptr<fiber>> fibers;
    /* Of whoever runs the block: the top of the stack, and where the stack is. */
    void *scheduler_top;
    const void *scheduler_stack;
    size_t scheduler_bytes;
    fiber *current;
    const std::function<void()> *kernel;
    unsigned next, count;
    bool is_reversed;
} block;

static void enter(fiber *fiber) {
    void *fake = NULL;
    block.current = fiber;
    threadIdx.x = fiber->thread;
    __sanitizer_start_switch_fiber(&fake, fiber->stack.get(), stack_bytes);
    switch_stacks(&block.scheduler_top, fiber->top);
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
}

static void leave(fiber *self) {
    void *fake = NULL;
    __sanitizer_start_switch_fiber(&fake, block.scheduler_stack, block.scheduler_bytes);
    switch_stacks(&self->top, block.scheduler_top);
    __sanitizer_finish_switch_fiber(fake, &block.scheduler_stack, &block.scheduler_bytes);
}

void __syncthreads() {
    fiber *self = block.current;
    self->is_waiting = true;
    leave(self);
}

/* One thread after the other, as long as none waits at a barrier; for each block anew. */
static void fiber_main() {
    fiber *self = block.current;
    __sanitizer_finish_switch_fiber(NULL, &block.scheduler_stack, &block.scheduler_bytes);
    for (;;) {
        while (block.next < block.count) {
            unsigned at = block.next++;
            self->thread = block.is_reversed ? block.count - 1 - at : at;
            threadIdx.x = self->thread;
            (*block.kernel)();
        }
        self->is_busy = false;
        leave(self);
    }
}

/* With a stack that returns to fiber_main when it is first entered. */
static std::unique_ptr<fiber> new_fiber() {
    auto made = std::make_unique<fiber>();
    made->stack = std::make_unique<char[]>(stack_bytes);
    uintptr_t end = ((uintptr_t)made->stack.get() + stack_bytes) & ~(uintptr_t)15;
    uintptr_t *top = (uintptr_t *)end - kept_words;
    top[return_word] = (uintptr_t)fiber_main;
    made->top = top;
    return made;
}

static fiber *idle_fiber() {
    for (auto &fiber : block.fibers) {
        if (!fiber->is_busy) {
            return fiber.get();
        }
    }
    block.fibers.push_back(new_fiber());
    return block.fibers.back().get();
}

static void run_block() {
    std::vector<fiber *> waiting, next;
    block.next = 0;
    while (block.next < block.count) {
        fiber *fiber = idle_fiber();
        fiber->is_busy = true;
        fiber->is_waiting = false;
        enter(fiber);
        if (fiber->is_waiting) {
            waiting.push_back(fiber);
        }
    }
    while (!waiting.empty()) {
        next.clear();
        for (fiber *fiber : waiting) {
            fiber->is_waiting = false;
            enter(fiber);
            if (fiber->is_waiting) {
                next.push_back(fiber);
            }
        }
        waiting.swap(next);
    }
}

static size_t kernels, graphs;

static void run_grid(dim3 grid, dim3 threads, const std::function<void()> &kernel) {
    block.kernel = &kernel;
    block.count = threads.x;
    block.is_reversed = kernels++ % 2 != 0;
    gridDim = {grid.x, 1, 1};
    blockDim = {threads.x, 1, 1};
    for (blockIdx.x = 0; blockIdx.x < grid.x; blockIdx.x++) {
        run_block();
    }
}

/* ---- streams and graphs --------------------------------------------------------------------- */

struct CUgraph_st {
    std::vector<std::function<void()>> work;
};
struct CUgraphExec_st {
    std::vector<std::function<void()>> work;
};

struct CUstream_st {
    std::deque<std::function<void()>> work;
    size_t done; /* so many are over; the next ones are `work` */
};
struct CUevent_st {
    CUstream_st *stream; /* NULL: not recorded, so it is over */
    size_t at;           /* that many of its are over then */
};

/* They stay, since events know them. */
static std::vector<std::unique_ptr<CUstream_st>> streams;
/* Of the thread that captures: what others start on other streams is no part of it. */
static thread_local CUgraph_st *captured;
static std::string notes, told;

static void drain(CUstream_st *stream, size_t until) {
    while (stream->done < until && !stream->work.empty()) {
        std::function<void()> work = std::move(stream->work.front());
        stream->work.pop_front();
        stream->done++;
        work();
    }
}

static void drain_all() {
    for (size_t i = 0; i < streams.size(); i++) {
        drain(streams[i].get(), SIZE_MAX);
    }
}

void emulated_enqueue(void *stream, std::function<void()> work) {
    ALONE;
    if (captured) {
        captured->work.push_back(std::move(work));
    } else if (stream) {
        ((CUstream_st *)stream)->work.push_back(std::move(work));
    } else {
        drain_all();
        work();
    }
}

void emulated_enqueue(std::function<void()> work) {
    emulated_enqueue(NULL, std::move(work));
}

cudaError_t emulated_launch(const cudaLaunchConfig_t *config, std::function<void()> kernel) {
    dim3 grid = config->gridDim, threads = config->blockDim;
    if (grid.x == 0 || threads.x == 0 || threads.x > 1024 || grid.y != 1 || threads.y != 1) {
        return cudaErrorInvalidConfiguration;
    }
    emulated_enqueue(config->stream, [grid, threads, kernel] { run_grid(grid, threads, kernel); });
    return cudaSuccess;
}

void emulated_note(const char *format, ...) {
    ALONE;
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    notes += line;
    notes += "\n";
}

extern "C" {

const char *emulated_notes(void) {
    told = std::move(notes);
    notes.clear();
    return told.c_str();
}

size_t emulated_graphs(void) {
    return graphs;
}

size_t emulated_kernels(void) {
    return kernels;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t, enum cudaStreamCaptureMode) {
    ALONE;
    if (captured) {
        return cudaErrorIllegalState;
    }
    captured = new CUgraph_st;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *graph) {
    ALONE;
    *graph = captured;
    captured = NULL;
    return *graph ? cudaSuccess : cudaErrorIllegalState;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long) {
    *exec = new CUgraphExec_st{graph->work};
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    ALONE;
    graphs++;
    emulated_enqueue(stream, [all = exec->work] {
        for (auto &work : all) {
            work();
        }
    });
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    delete exec;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
    ALONE;
    streams.push_back(std::make_unique<CUstream_st>());
    *stream = streams.back().get();
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    ALONE;
    drain(stream, SIZE_MAX);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    ALONE;
    if (captured) {
        return cudaErrorStreamCaptureUnsupported;
    }
    if (stream) {
        drain(stream, SIZE_MAX);
    } else {
        drain_all();
    }
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    ALONE;
    CUstream_st *other = event->stream;
    size_t at = event->at;
    if (captured) {
        return cudaErrorStreamCaptureUnsupported;
    }
    if (other) {
        emulated_enqueue(stream, [other, at] { drain(other, at); });
    }
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
    *event = new CUevent_st();
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    ALONE;
    *event = {stream, stream->done + stream->work.size()};
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    ALONE;
    if (event->stream) {
        drain(event->stream, event->at);
    }
    return cudaSuccess;
}

/* ---- memory --------------------------------------------------------------------------------- */

static std::map<void *, size_t> allocations;
static size_t allocated;
static size_t limit = getenv("EMULATED_LIMIT") ? strtoull(getenv("EMULATED_LIMIT"), NULL, 10) : 0;

void emulated_limit(size_t bytes) {
    limit = bytes;
}

size_t emulated_allocated(void) {
    return allocated;
}

cudaError_t cudaMalloc(void **memory, size_t size) {
    ALONE;
    if (captured) {
        return cudaErrorStreamCaptureUnsupported;
    }
    if (limit && allocated + size > limit) {
        return cudaErrorMemoryAllocation;
    }
    if (posix_memalign(memory, 256, size) != 0) {
        return cudaErrorMemoryAllocation;
    }
    memset(*memory, 0xff, size);
    allocations[*memory] = size;
    allocated += size;
    return cudaSuccess;
}

cudaError_t cudaFree(void *memory) {
    ALONE;
    drain_all(); /* as the real one does */
    auto found = allocations.find(memory);
    if (found == allocations.end()) {
        return cudaErrorInvalidValue;
    }
    allocated -= found->second;
    allocations.erase(found);
    free(memory);
    return cudaSuccess;
}

/* The memory that `at` points into has so many bytes left; 0: it is none of the device's. */
static size_t room_at(const void *at) {
    auto found = allocations.upper_bound((void *)at);
    if (found == allocations.begin()) {
        return 0;
    }
    --found;
    size_t offset = (size_t)((const char *)at - (const char *)found->first);
    return offset < found->second ? found->second - offset : 0;
}

cudaError_t cudaHostAlloc(void **memory, size_t size, unsigned) {
    return posix_memalign(memory, 256, size) == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFreeHost(void *memory) {
    ALONE;
    drain_all();
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
    ALONE;
    bool from_device = kind != cudaMemcpyHostToDevice, to_device = kind != cudaMemcpyDeviceToHost;
    if ((room_at(from) != 0) != from_device || (room_at(to) != 0) != to_device ||
        (from_device && room_at(from) < size) || (to_device && room_at(to) < size)) {
        return cudaErrorInvalidValue;
    }
    emulated_enqueue(stream, [=] { memmove(to, from, size); });
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t size, cudaStream_t stream) {
    ALONE;
    if (room_at(memory) < size) {
        return cudaErrorInvalidValue;
    }
    emulated_enqueue(stream, [=] { memset(memory, value, size); });
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
    ALONE;
    *total = limit ? limit : (size_t)1 << 40;
    *available = *total - allocated;
    return cudaSuccess;
}

/* Of so many cards those that CUDA_VISIBLE_DEVICES lists, up to the first that is none. */
static int emulated_seen(int count) {
    const char *at = getenv("CUDA_VISIBLE_DEVICES");
    int seen = 0;
    while (at && *at >= '0' && *at <= '9' && atoi(at) < count) {
        seen++;
        at += strcspn(at, ",");
        at += *at == ',';
    }
    return getenv("CUDA_VISIBLE_DEVICES") ? seen : count;
}

static struct {
    int count, driver;
    cudaError_t code;
} cards = {emulated_seen(getenv("EMULATED_CARDS") ? atoi(getenv("EMULATED_CARDS")) : 1), 13000, cudaSuccess};

void emulated_cards(int count, int driver, int code) {
    cards = {count, driver, (cudaError_t)code};
}

cudaError_t cudaGetDeviceCount(int *count) {
    *count = cards.count;
    return cards.code;
}

cudaError_t cudaSetDevice(int device) {
    return device >= 0 && device < cards.count ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaDriverGetVersion(int *version) {
    *version = cards.driver;
    return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t error) {
    return error == cudaErrorMemoryAllocation             ? "out of memory"
           : error == cudaErrorInvalidValue               ? "invalid argument"
           : error == cudaErrorStreamCaptureUnsupported ? "not permitted while capturing"
                                                          : "an error";
}

cudaError_t cudaGetLastError(void) {
    return cudaSuccess;
}
} /* extern "C" */
