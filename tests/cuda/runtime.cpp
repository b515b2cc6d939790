// SPDX-License-Identifier: Apache-2.0
/* Stands in for CUDA's runtime: memory is ordinary memory (NaN before anything is written), threads
 * of a block are fibers. A stream does as late as it may what it is asked: when somebody waits for
 * it, and then no more than is waited for. So whoever does not wait sees what was there before. */
#include "tests/cuda/emulated/cuda_runtime.h"

#include "tests/cuda/emulated.h"
#include "tests/cuda/runtime.h"
#include "tests/cuda/watch.h"

#include <sanitizer/common_interface_defs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

/* One thread of the host at a time is in here. */
static std::recursive_mutex everything;
#define ALONE std::lock_guard<std::recursive_mutex> alone(everything)

/* (Apart from what kernels call shared memory.) */
__attribute__((section("emulated_index"))) struct emulated_index threadIdx, blockIdx, blockDim,
    gridDim;

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
    unsigned thread, barriers;
    const void *barrier; /* that it waits at */
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
    unsigned next, count, index;
    std::vector<unsigned> order; /* of threads */
} block;

static void enter(fiber *fiber) {
    void *fake = NULL;
    block.current = fiber;
    threadIdx.x = fiber->thread;
    watch_thread(fiber->thread, fiber->barriers);
    __sanitizer_start_switch_fiber(&fake, fiber->stack.get(), stack_bytes);
    switch_stacks(&block.scheduler_top, fiber->top);
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
    watch_host();
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
    self->barriers++;
    self->barrier = __builtin_return_address(0);
    leave(self);
}

/* One thread after the other, as long as none waits at a barrier; for each block anew. */
static void fiber_main() {
    fiber *self = block.current;
    __sanitizer_finish_switch_fiber(NULL, &block.scheduler_stack, &block.scheduler_bytes);
    for (;;) {
        while (block.next < block.count) {
            self->thread = block.order[block.next++];
            self->barriers = 0;
            threadIdx.x = self->thread;
            watch_thread(self->thread, 0);
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

/* All threads of a block come to the same barriers, and to all of them. */
static void check_barrier(const std::vector<fiber *> &waiting) {
    bool is_same = true;
    for (fiber *fiber : waiting) {
        is_same = is_same && fiber->barrier == waiting[0]->barrier;
    }
    if (!waiting.empty() && (waiting.size() != block.count || !is_same)) {
        watch_fault("divergent barrier: %zu of %u threads of block %u are at %s", waiting.size(),
                    block.count, block.index, is_same ? "one" : "different ones");
    }
}

static void run_block() {
    std::vector<fiber *> waiting, next;
    block.next = 0;
    watch_block(block.index);
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
        check_barrier(waiting);
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

/* Forwards, backwards, and in an order that EMULATED_SEED chooses. */
static void order_threads(size_t kernel) {
    static std::minstd_rand draw(
        getenv("EMULATED_SEED") ? (unsigned)strtoul(getenv("EMULATED_SEED"), NULL, 10) : 1);
    block.order.resize(block.count);
    for (unsigned i = 0; i < block.count; i++) {
        block.order[i] = kernel % 3 == 1 ? block.count - 1 - i : i;
    }
    if (kernel % 3 == 2) {
        std::shuffle(block.order.begin(), block.order.end(), draw);
    }
}

static void run_grid(dim3 grid, dim3 threads, const std::function<void()> &kernel) {
    block.kernel = &kernel;
    block.count = threads.x;
    order_threads(kernels++);
    watch_kernel();
    gridDim = {grid.x, 1, 1};
    blockDim = {threads.x, 1, 1};
    for (block.index = 0; block.index < grid.x; block.index++) {
        blockIdx.x = kernels % 2 ? block.index : grid.x - 1 - block.index;
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

struct queued {
    std::function<void()> work;
    watch_item item;
};
struct CUstream_st {
    std::deque<queued> work;
    size_t done; /* so many are over; the next ones are `work` */
    uint32_t clock;
    CUgraph_st *captured; /* NULL: it is not captured */
};
struct CUevent_st {
    CUstream_st *stream; /* NULL: not recorded, so it is over */
    size_t at;           /* that many of its are over then */
    watch_clock before;
};

/* They stay, since events know them. */
static std::vector<std::unique_ptr<CUstream_st>> streams;
/* The stream that this thread captures: until that ends, it may call nothing that would wait. */
static thread_local CUstream_st *capturing;
static thread_local watch_operands operands;
static std::string notes, told;

static void drain(CUstream_st *stream, size_t until) {
    while (stream->done < until && !stream->work.empty()) {
        queued next = std::move(stream->work.front());
        stream->work.pop_front();
        stream->done++;
        watch_begin(&next.item);
        next.work();
        watch_begin(NULL);
    }
}

static void drain_all() {
    for (size_t i = 0; i < streams.size(); i++) {
        drain(streams[i].get(), SIZE_MAX);
    }
    watch_host_waits_all();
}

static void push(CUstream_st *stream, std::function<void()> work) {
    stream->work.push_back({std::move(work), watch_queued(stream->clock)});
}

void emulated_enqueue(void *to, std::function<void()> work) {
    ALONE;
    CUstream_st *stream = (CUstream_st *)to;
    if (!stream) {
        watch_fault("work on the default stream, which the engine's streams do not wait for");
        return;
    }
    auto limited = [work = std::move(work), own = operands] {
        watch_limit(own);
        work();
        watch_limit(NULL);
    };
    if (stream->captured) {
        stream->captured->work.push_back(limited);
    } else {
        push(stream, limited);
    }
}

void emulated_touch(const void *at, size_t size, bool is_write) {
    watch_copy(at, size, is_write);
}

size_t emulated_room(const void *at) {
    ALONE;
    return watch_room(at);
}

void emulated_refuse(const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    watch_fault("refused: %s", line);
}

/* A call that would wait, or that the manual calls unsafe, while this thread captures. */
static cudaError_t unsafe(const char *call) {
    if (capturing) {
        emulated_refuse("%s while the thread captures a stream", call);
    }
    return capturing ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
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

void emulated_operands(const struct emulated_operand *all, size_t count) {
    auto kept = std::make_shared<std::vector<watch_range>>();
    for (size_t i = 0; i < count; i++) {
        kept->push_back({(const char *)all[i].at, (const char *)all[i].at + all[i].size});
    }
    operands = all ? kept : NULL;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode) {
    ALONE;
    if (!stream || stream->captured || capturing) {
        return cudaErrorIllegalState;
    }
    stream->captured = new CUgraph_st;
    capturing = stream;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    ALONE;
    if (!stream || capturing != stream) {
        return cudaErrorStreamCaptureUnmatched;
    }
    *graph = stream->captured;
    stream->captured = NULL;
    capturing = NULL;
    return cudaSuccess;
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
    if (!stream || stream->captured) {
        return cudaErrorStreamCaptureUnsupported;
    }
    graphs++;
    push(stream, [all = exec->work] {
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
    streams.back()->clock = watch_stream();
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
    if (unsafe("cudaStreamSynchronize")) {
        return cudaErrorStreamCaptureUnsupported;
    }
    if (stream) {
        drain(stream, SIZE_MAX);
        watch_host_waits(watch_recorded(stream->clock));
    } else {
        drain_all();
    }
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    ALONE;
    CUstream_st *other = event->stream;
    size_t at = event->at;
    if (stream->captured) {
        emulated_refuse("a captured stream waits for an event that is not captured");
        return cudaErrorStreamCaptureIsolation;
    }
    if (other) {
        watch_waits(stream->clock, event->before);
        push(stream, [other, at] { drain(other, at); });
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
    if (stream->captured) {
        emulated_refuse("an event is recorded in a captured stream");
        return cudaErrorStreamCaptureUnsupported;
    }
    *event = {stream, stream->done + stream->work.size(), watch_recorded(stream->clock)};
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    ALONE;
    if (unsafe("cudaEventSynchronize")) {
        return cudaErrorStreamCaptureUnsupported;
    }
    if (event->stream) {
        drain(event->stream, event->at);
        watch_host_waits(event->before);
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
    if (unsafe("cudaMalloc")) {
        return cudaErrorStreamCaptureUnsupported;
    }
    if (limit && allocated + size > limit) {
        return cudaErrorMemoryAllocation;
    }
    *memory = watch_allocate(size);
    if (!*memory) {
        return cudaErrorMemoryAllocation;
    }
    allocations[*memory] = size;
    allocated += size;
    return cudaSuccess;
}

cudaError_t cudaFree(void *memory) {
    ALONE;
    if (unsafe("cudaFree")) {
        return cudaErrorStreamCaptureUnsupported;
    }
    drain_all(); /* as the real one does */
    auto found = allocations.find(memory);
    if (found == allocations.end()) {
        return cudaErrorInvalidValue;
    }
    allocated -= found->second;
    watch_release(memory, found->second);
    allocations.erase(found);
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **memory, size_t size, unsigned) {
    ALONE;
    if (unsafe("cudaHostAlloc")) {
        return cudaErrorStreamCaptureUnsupported;
    }
    return posix_memalign(memory, 256, size) == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFreeHost(void *memory) {
    ALONE;
    if (unsafe("cudaFreeHost")) {
        return cudaErrorStreamCaptureUnsupported;
    }
    drain_all();
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
    ALONE;
    bool from_device = kind != cudaMemcpyHostToDevice, to_device = kind != cudaMemcpyDeviceToHost;
    if ((watch_room(from) != 0) != from_device || (watch_room(to) != 0) != to_device ||
        (from_device && watch_room(from) < size) || (to_device && watch_room(to) < size)) {
        return cudaErrorInvalidValue;
    }
    emulated_enqueue(stream, [=] {
        if (from_device) {
            watch_copy(from, size, false);
        }
        if (to_device) {
            watch_copy(to, size, true);
        }
        memmove(to, from, size);
    });
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t size, cudaStream_t stream) {
    ALONE;
    if (watch_room(memory) < size) {
        return cudaErrorInvalidValue;
    }
    emulated_enqueue(stream, [=] {
        watch_copy(memory, size, true);
        memset(memory, value, size);
    });
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

int atomicMax(int *at, int value) {
    watch_atomic(at, sizeof *at);
    int old = *at;
    *at = value > old ? value : old;
    return old;
}
