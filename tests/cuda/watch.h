/* watch.h: what the emulated GPU sees of its memory: races between threads, blocks and streams,
 * accesses outside of a step's operands, shared memory that no thread wrote, memory that was freed,
 * and wrong alignment. It knows by clocks which work comes before which, so it sees a race in
 * whatever order the work was done (but for those that docs/cuda.md names). Kernels that are
 * compiled with -fsanitize=thread report each access here; copies and libraries report theirs as
 * ranges. */
#pragma once

#include <functional>
#include <memory>
#include <stddef.h>
#include <stdint.h>
#include <vector>

/* For each stream the number of its last work that is known to be over. */
typedef std::vector<uint32_t> watch_clock;

struct watch_range {
    const char *from, *to;
};
/* What a step may access: its operands, and any allocation that has none of them. */
typedef std::shared_ptr<const std::vector<watch_range>> watch_operands;

/* One piece of a stream's work. */
struct watch_item {
    uint32_t stream, at;
    watch_clock before;
};

/* ---- order: all of these are called when work is asked for ---------------------------------- */
uint32_t watch_stream(void);
watch_item watch_queued(uint32_t stream);
watch_clock watch_recorded(uint32_t stream);
void watch_waits(uint32_t stream, const watch_clock &event);
void watch_host_waits(const watch_clock &event);
void watch_host_waits_all(void);

/* ---- memory: 256-byte aligned, NaN before it is written, no address is used twice ------------ */
void *watch_allocate(size_t size); /* NULL: there is none */
void watch_release(void *memory, size_t size);
size_t watch_room(const void *at); /* bytes up to the end of its allocation; 0: not device memory */

/* ---- while work is done ---------------------------------------------------------------------- */
void watch_begin(const watch_item *item); /* NULL: it is over */
void watch_limit(const watch_operands &operands);
void watch_copy(const void *at, size_t size, bool is_write);
void watch_kernel(void);
void watch_block(uint32_t block);
void watch_thread(unsigned thread, unsigned barriers); /* it runs from now on ... */
void watch_host(void);                                 /* ... or none does */
void watch_atomic(const void *at, size_t size);
void watch_fault(const char *format, ...) __attribute__((format(printf, 1, 2)));
