// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/watch.h"

#include "tests/cuda/emulated.h"

#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <string>

/* ---- faults --------------------------------------------------------------------------------- */

static bool is_recording;
static std::string first_fault;

void watch_fault(const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (is_recording) {
        first_fault = first_fault.empty() ? line : first_fault;
        return;
    }
    fprintf(stderr, "emulated GPU: %s\n", line);
    __sanitizer_print_stack_trace();
    abort();
}

void emulated_record_faults(void) {
    is_recording = true;
    first_fault.clear();
}

const char *emulated_fault(void) {
    is_recording = false;
    return first_fault.c_str();
}

/* ---- order ---------------------------------------------------------------------------------- */

static watch_clock host;
struct stream_clock {
    watch_clock seen;
    uint32_t count;
};
static std::vector<stream_clock> streams;

static void join(watch_clock &into, const watch_clock &other) {
    into.resize(std::max(into.size(), other.size()));
    for (size_t i = 0; i < other.size(); i++) {
        into[i] = std::max(into[i], other[i]);
    }
}

uint32_t watch_stream(void) {
    streams.push_back({});
    return (uint32_t)streams.size() - 1;
}

watch_item watch_queued(uint32_t stream) {
    stream_clock &s = streams[stream];
    join(s.seen, host);
    watch_item item = {stream, ++s.count, s.seen};
    s.seen.resize(std::max(s.seen.size(), (size_t)stream + 1));
    s.seen[stream] = s.count;
    return item;
}

watch_clock watch_recorded(uint32_t stream) {
    return streams[stream].seen;
}

void watch_waits(uint32_t stream, const watch_clock &event) {
    join(streams[stream].seen, event);
}

void watch_host_waits(const watch_clock &event) {
    join(host, event);
}

void watch_host_waits_all(void) {
    for (const stream_clock &s : streams) {
        join(host, s.seen);
    }
}

/* ---- memory --------------------------------------------------------------------------------- */

/* Who accessed two bytes last: the run (a kernel, a copy), and the block, thread and barriers in
 * it. Some threads are "many", and some blocks are. */
struct cell {
    uint32_t write_run, writer, read_run, reader;
    uint32_t other_run; /* that read before read_run, neither of which waits for the other; 0 */
};
enum : uint32_t { THREAD_BITS = 11, EPOCH_BITS = 7, MANY_THREADS = 1024, MANY_BLOCKS = 0x3fff };

static const size_t region_bytes = (size_t)1 << 40, line = 256;
static char *region;
static cell *cells;
static size_t region_used;
static std::map<const char *, size_t> allocations;
static watch_range last_found; /* most accesses are where another one was */

static void *reserve(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void *watch_allocate(size_t size) {
    if (!region) {
        region = (char *)reserve(region_bytes);
        cells = (cell *)reserve(region_bytes / 2 * sizeof(cell));
        if (!region || !cells) {
            return NULL;
        }
        region_used = line;
        __asan_poison_memory_region(region, line);
    }
    size_t room = (size + line - 1) / line * line + line;
    if (size > region_bytes || room > region_bytes - region_used) {
        return NULL;
    }
    char *memory = region + region_used;
    region_used += room;
    __asan_poison_memory_region(memory + size, room - size);
    memset(memory, 0xff, size);
    allocations[memory] = size;
    return memory;
}

void watch_release(void *memory, size_t size) {
    const uintptr_t page = 4096;
    uintptr_t from = ((uintptr_t)memory + page - 1) / page * page;
    uintptr_t to = ((uintptr_t)memory + size) / page * page;
    if (from < to) {
        cell *first = cells + (from - (uintptr_t)region) / 2;
        madvise((void *)from, to - from, MADV_DONTNEED);
        madvise(first, (to - from) / 2 * sizeof(cell), MADV_DONTNEED);
    }
    __asan_poison_memory_region(memory, size);
    allocations.erase((char *)memory);
    last_found = {};
}

static const std::pair<const char *const, size_t> *allocation_at(const void *at) {
    auto found = allocations.upper_bound((const char *)at);
    if (found == allocations.begin()) {
        return NULL;
    }
    --found;
    return (size_t)((const char *)at - found->first) < found->second ? &*found : NULL;
}

size_t watch_room(const void *at) {
    const auto *found = allocation_at(at);
    return found ? found->second - (size_t)((const char *)at - found->first) : 0;
}

/* ---- accesses ------------------------------------------------------------------------------- */

struct run {
    uint32_t stream, at;
};
static std::vector<run> runs(1); /* 0: none */
static const watch_item *now;
static uint32_t now_run, generation, now_who, ordered_run;
static uint32_t now_block;
static bool is_in_kernel;
static std::vector<watch_range> limits; /* operands that have an allocation */
static std::vector<watch_range> limited; /* the allocations that have operands */

static void new_run(void) {
    runs.push_back(now ? run{now->stream, now->at} : run{0, 0});
    now_run = (uint32_t)runs.size() - 1;
    ordered_run = now_run;
}

void watch_begin(const watch_item *item) {
    now = item;
    watch_limit(NULL);
}

void watch_limit(const watch_operands &operands) {
    limits.clear();
    limited.clear();
    last_found = {};
    for (size_t i = 0; operands && i < operands->size(); i++) {
        const auto *found = allocation_at((*operands)[i].from);
        if (found) {
            limits.push_back((*operands)[i]);
            limited.push_back({found->first, found->first + found->second});
        }
    }
}

static bool is_before(uint32_t id) {
    if (id == ordered_run || id == 0 || !now) {
        return true;
    }
    const run &other = runs[id];
    bool result = other.stream == now->stream ||
                  (other.stream < now->before.size() && now->before[other.stream] >= other.at);
    ordered_run = result ? id : ordered_run;
    return result;
}

static uint32_t block_of(uint32_t who) {
    return who >> (THREAD_BITS + EPOCH_BITS);
}

static uint32_t thread_of(uint32_t who) {
    return who & ((1u << THREAD_BITS) - 1);
}

/* Whether `who` of the same run, or of the same block, may have come at the same time. */
static bool is_beside(uint32_t who) {
    return block_of(who) != block_of(now_who) ||
           (who >> THREAD_BITS == now_who >> THREAD_BITS && thread_of(who) != thread_of(now_who));
}

/* The reader to remember, of the last one and this one. */
static uint32_t with_reader(uint32_t last) {
    if (block_of(last) != block_of(now_who)) {
        return last | MANY_BLOCKS << (THREAD_BITS + EPOCH_BITS);
    }
    bool is_same_time = last >> THREAD_BITS == now_who >> THREAD_BITS;
    return !is_same_time || last == now_who
               ? now_who
               : (now_who & ~((1u << THREAD_BITS) - 1)) | MANY_THREADS;
}

static const char *const words[2] = {"reads", "writes"};

static void clash(const void *at, bool is_write, const char *other, uint32_t run_id) {
    if (run_id == now_run || !now) {
        watch_fault("race: a thread %s %p, which another thread %s at the same time",
                    words[is_write], at, other);
    } else {
        watch_fault("race: stream %u %s %p, which stream %u %s, and neither waits for the other",
                    now->stream, words[is_write], at, runs[run_id].stream, other);
    }
}

static bool has_clash(uint32_t run_id, uint32_t who, bool is_byte) {
    return run_id == now_run ? is_in_kernel && !is_byte && is_beside(who) : !is_before(run_id);
}

static const uint32_t atomic_who = 0xffffffff;

static inline void touch(cell &c, const void *at, bool is_write, bool is_byte) {
    if (c.write_run == now_run && c.writer == now_who && c.read_run == now_run &&
        c.reader == now_who) {
        return; /* nobody else was here */
    }
    bool is_atomic_pair = c.write_run == now_run && c.writer == atomic_who && now_who == atomic_who;
    if (c.write_run && !is_atomic_pair && has_clash(c.write_run, c.writer, is_byte)) {
        clash(at, is_write, "writes", c.write_run);
    }
    if (!is_write) {
        if (c.read_run && c.read_run != now_run && !is_before(c.read_run)) {
            c.other_run = c.read_run;
        }
        c.reader = c.read_run == now_run ? with_reader(c.reader) : now_who;
        c.read_run = now_run;
        return;
    }
    if (c.read_run && has_clash(c.read_run, c.reader, is_byte)) {
        clash(at, true, "reads", c.read_run);
    } else if (c.other_run && c.other_run != now_run && !is_before(c.other_run)) {
        clash(at, true, "reads", c.other_run);
    }
    c.write_run = now_run;
    c.writer = now_who;
}

static bool is_in(const watch_range &range, const char *at, size_t size) {
    return at >= range.from && at + size <= range.to;
}

/* Operands that are known are all that a step may touch of their allocations. */
static bool is_allowed(const char *at, size_t size) {
    for (const watch_range &range : limits) {
        if (is_in(range, at, size)) {
            last_found = range;
            return true;
        }
    }
    const auto *found = allocation_at(at);
    if (!found) {
        return false;
    }
    watch_range all = {found->first, found->first + found->second};
    for (const watch_range &range : limited) {
        if (range.from == all.from) {
            return false;
        }
    }
    last_found = all;
    return is_in(all, at, size);
}

static void access_device(const char *at, size_t size, bool is_write) {
    if (!is_in(last_found, at, size) && !is_allowed(at, size)) {
        watch_fault("a step %s %zu bytes at %p, outside of its operands", words[is_write], size, at);
        return;
    }
    size_t first = (size_t)(at - region) / 2, last = (size_t)(at - region + size - 1) / 2;
    for (size_t i = first; i <= last; i++) {
        touch(cells[i], at, is_write, size == 1);
    }
}

/* Shared memory is static (emulated/cuda_runtime.h); each block has it anew. */
extern "C" char __bss_start, _end;
static std::vector<cell> shared_cells;

static void access_shared(const char *at, size_t size, bool is_write) {
    shared_cells.resize((size_t)(&_end - &__bss_start) / 2 + 1);
    size_t first = (size_t)(at - &__bss_start) / 2, last = (size_t)(at - &__bss_start + size - 1) / 2;
    uint32_t run_before = now_run;
    now_run = ordered_run = generation;
    for (size_t i = first; i <= last; i++) {
        cell &c = shared_cells[i];
        if (!is_write && c.write_run != generation) {
            watch_fault("a thread reads shared memory at %p that no thread of its block wrote", at);
        }
        c.write_run = c.write_run == generation ? generation : 0;
        c.read_run = c.read_run == generation ? generation : 0;
        touch(c, at, is_write, false);
    }
    now_run = ordered_run = run_before;
}

static inline void accessed(const void *pointer, size_t size, bool is_write) {
    const char *at = (const char *)pointer;
    if (!is_in_kernel) {
        return; /* the host's half of a source of kernels */
    }
    if ((size_t)(at - region) < region_bytes) {
        if (size <= 16 && (uintptr_t)at % size != 0) {
            watch_fault("a thread %s %zu bytes at %p, which is not aligned so", words[is_write],
                        size, at);
        }
        access_device(at, size, is_write);
    } else if (at >= &__bss_start && at < &_end) {
        access_shared(at, size, is_write);
    }
}

void watch_copy(const void *at, size_t size, bool is_write) {
    new_run();
    now_who = 0;
    if (size) {
        access_device((const char *)at, size, is_write);
    }
}

void watch_kernel(void) {
    new_run();
}

void watch_block(uint32_t index) {
    generation++;
    now_block = index % MANY_BLOCKS;
}

void watch_thread(unsigned thread, unsigned barriers) {
    is_in_kernel = true;
    now_who = now_block << (THREAD_BITS + EPOCH_BITS) |
              (barriers & ((1u << EPOCH_BITS) - 1)) << THREAD_BITS | thread;
}

void watch_host(void) {
    is_in_kernel = false;
}

void watch_atomic(const void *at, size_t size) {
    uint32_t who = now_who;
    now_who = atomic_who;
    accessed(at, size, true);
    now_who = who;
}

/* ---- what gcc calls for -fsanitize=thread --------------------------------------------------- */

#define HOOKS(size)                                                                                \
    void __tsan_read##size(void *at) {                                                             \
        accessed(at, size, false);                                                                 \
    }                                                                                              \
    void __tsan_write##size(void *at) {                                                            \
        accessed(at, size, true);                                                                  \
    }                                                                                              \
    void __tsan_unaligned_read##size(void *at) {                                                   \
        accessed(at, size, false);                                                                 \
    }                                                                                              \
    void __tsan_unaligned_write##size(void *at) {                                                  \
        accessed(at, size, true);                                                                  \
    }
extern "C" {
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
void __tsan_read_range(void *at, size_t size) {
    accessed(at, size, false);
}
void __tsan_write_range(void *at, size_t size) {
    accessed(at, size, true);
}
void __tsan_init(void) {
}
void __tsan_func_entry(void *) {
}
void __tsan_func_exit(void) {
}
void __tsan_vptr_update(void **, void *) {
}
void __tsan_vptr_read(void **) {
}
}
