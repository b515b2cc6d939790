// SPDX-License-Identifier: Apache-2.0
#include "tests/device_apart.h"

#include "agent/engine/device/kernel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { ALIGNMENT = 64, GUARD = 64, POISON = 0xff, BLOCKS_MAX = 1 << 16, LATE_NS = 30000 };
static const size_t region_bytes = (size_t)8 << 30; /* of addresses: freed ones are not reused */

struct block {
    size_t start, size;
};

struct device_event {
    int64_t set, over; /* how often */
};

enum work { WORK_RUN, WORK_COPY, WORK_ZERO, WORK_EVENT };

struct item {
    struct item *next;
    enum work work;
    const struct step *step;
    struct call call;
    struct tensor *tensors; /* inputs, outputs, with addresses of ours */
    const struct tensor **inputs;
    struct tensor **outputs;
    void *to;
    const void *from;
    size_t size;
    struct device_event *event;
};

struct apart {
    struct device base;
    struct device *cpu;
    char *face, *real;  /* addresses of pointers, never touched; of the bytes */
    atomic_size_t used; /* the reducer's thread reads it, too */
    size_t block_count;
    struct block *blocks;
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    struct item *first, **last;
    bool ends, is_busy;
    struct error error; /* of a step; the next sync reports it */
};

static struct apart *newest; /* for device_apart_real */

static _Noreturn void end_test(const char *what) {
    printf("not ok device_apart: %s\n", what);
    fflush(stdout);
    abort();
}

static bool is_apart(const struct apart *apart, const void *pointer) {
    const char *at = pointer;
    return at >= apart->face && at < apart->face + region_bytes;
}

/* The real address of the bytes of a device pointer. */
static void *real(const struct apart *apart, const void *pointer, size_t size) {
    const char *at = pointer;
    if (size == 0 || !pointer) {
        return NULL;
    }
    if (!is_apart(apart, pointer) || at + size > apart->face + apart->used) {
        end_test("the device was given a pointer that is none of its own");
    }
    return apart->real + (at - apart->face);
}

static const void *host(const struct apart *apart, const void *pointer) {
    if (is_apart(apart, pointer)) {
        end_test("a pointer of the device's was taken for one of the host's");
    }
    return pointer;
}

/* ---- the thread ----------------------------------------------------------------------------- */

static void do_item(struct apart *apart, struct item *item) {
    struct error err = {0};
    switch (item->work) {
    case WORK_RUN:
        nanosleep(&(struct timespec){.tv_nsec = LATE_NS}, NULL);
        if (!apart->error.kind &&
            apart->cpu->ops->run(apart->cpu, item->step, &item->call, &err) < 0) {
            pthread_mutex_lock(&apart->lock);
            apart->error = err;
            pthread_mutex_unlock(&apart->lock);
        }
        break;
    case WORK_COPY:
        memmove(item->to, item->from, item->size);
        break;
    case WORK_ZERO:
        memset(item->to, 0, item->size);
        break;
    case WORK_EVENT:
        pthread_mutex_lock(&apart->lock);
        item->event->over++;
        pthread_mutex_unlock(&apart->lock);
        break;
    }
}

static void item_free(struct item *item) {
    free(item->tensors);
    free((void *)item->inputs);
    free(item->outputs);
    free(item);
}

static void *apart_main(void *context) {
    struct apart *apart = context;
    pthread_mutex_lock(&apart->lock);
    while (!apart->ends || apart->first) {
        struct item *item = apart->first;
        if (!item) {
            pthread_cond_wait(&apart->changed, &apart->lock);
            continue;
        }
        apart->first = item->next;
        apart->last = apart->first ? apart->last : &apart->first;
        apart->is_busy = true;
        pthread_mutex_unlock(&apart->lock);
        do_item(apart, item);
        item_free(item);
        pthread_mutex_lock(&apart->lock);
        apart->is_busy = false;
        pthread_cond_broadcast(&apart->changed);
    }
    pthread_mutex_unlock(&apart->lock);
    return NULL;
}

static void add(struct apart *apart, struct item *item) {
    pthread_mutex_lock(&apart->lock);
    *apart->last = item;
    apart->last = &item->next;
    pthread_cond_broadcast(&apart->changed);
    pthread_mutex_unlock(&apart->lock);
}

/* ---- the device ----------------------------------------------------------------------------- */

static int apart_sync(struct device *device, struct error *err) {
    struct apart *apart = (struct apart *)device;
    pthread_mutex_lock(&apart->lock);
    while (apart->first || apart->is_busy) {
        pthread_cond_wait(&apart->changed, &apart->lock);
    }
    struct error error = apart->error;
    apart->error = (struct error){0};
    pthread_mutex_unlock(&apart->lock);
    if (error.kind) {
        *err = error;
        return -1;
    }
    return 0;
}

static int apart_alloc(struct device *device, size_t size, void **ret_memory,
                       struct error *err UNUSED) {
    struct apart *apart = (struct apart *)device;
    size_t room = (size + GUARD + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (apart->used + room > region_bytes || apart->block_count == BLOCKS_MAX) {
        end_test("out of addresses");
    }
    apart->blocks[apart->block_count++] = (struct block){apart->used, size};
    memset(apart->real + apart->used, POISON, room);
    *ret_memory = apart->face + apart->used;
    apart->used += room;
    return 0;
}

/* The block that begins at this address of the device. */
static struct block *find_block(struct apart *apart, const void *memory) {
    for (size_t i = 0; i < apart->block_count; i++) {
        if (apart->face + apart->blocks[i].start == memory) {
            return &apart->blocks[i];
        }
    }
    end_test("memory is freed that was not allocated");
}

static void apart_free(struct device *device, void *memory) {
    struct apart *apart = (struct apart *)device;
    struct error err = {0};
    (void)apart_sync(device, &err);
    struct block *block = find_block(apart, memory);
    for (size_t k = block->size; k < block->size + GUARD; k++) {
        if ((unsigned char)apart->real[block->start + k] != POISON) {
            end_test("something was written behind the end of a block");
        }
    }
    memset(apart->real + block->start, POISON, block->size);
    *block = apart->blocks[--apart->block_count];
}

/* The same copy with the real addresses. */
static struct device_copy real_copy(const struct apart *apart, struct device_copy copy) {
    copy.to = copy.direction == COPY_TO_HOST ? (void *)(uintptr_t)host(apart, copy.to)
                                             : real(apart, copy.to, copy.size);
    copy.from = copy.direction == COPY_TO_DEVICE ? host(apart, copy.from)
                                                 : real(apart, copy.from, copy.size);
    return copy;
}

static int apart_copy(struct device *device, enum copy direction, void *to, const void *from,
                      size_t size, struct error *err) {
    struct apart *apart = (struct apart *)device;
    const struct device_copy copy =
        real_copy(apart, (struct device_copy){direction, to, from, size});
    if (size == 0) {
        return 0;
    }
    struct item *item = x_calloc(1, sizeof *item);
    item->work = WORK_COPY;
    item->to = copy.to;
    item->from = copy.from;
    item->size = size;
    add(apart, item);
    return direction == COPY_ON_DEVICE ? 0 : apart_sync(device, err);
}

static int apart_copy_concurrent(struct device *device, enum copy direction, void *to,
                                 const void *from, size_t size, struct error *err UNUSED) {
    const struct device_copy copy =
        real_copy((struct apart *)device, (struct device_copy){direction, to, from, size});
    if (size > 0) {
        memcpy(copy.to, copy.from, size);
    }
    return 0;
}

static int apart_zero(struct device *device, void *memory, size_t size, struct error *err UNUSED) {
    struct apart *apart = (struct apart *)device;
    struct item *item = x_calloc(1, sizeof *item);
    item->work = WORK_ZERO;
    item->to = real(apart, memory, size);
    item->size = size;
    add(apart, item);
    return 0;
}

static int apart_prepare(struct device *device, struct schedule *schedule, struct error *err) {
    struct apart *apart = (struct apart *)device;
    return apart->cpu->ops->prepare(apart->cpu, schedule, err);
}

static size_t tensor_room(const struct tensor *tensor) {
    return (size_t)shape_count(&tensor->shape) * tensor_type_size(tensor->type);
}

static int apart_run(struct device *device, const struct step *step, const struct call *call,
                     struct error *err UNUSED) {
    struct apart *apart = (struct apart *)device;
    struct item *item = x_calloc(1, sizeof *item);
    int inputs = call->input_count, count = inputs + call->output_count;
    item->work = WORK_RUN;
    item->step = step;
    item->call = *call;
    item->tensors = x_calloc((size_t)count + 1, sizeof *item->tensors);
    item->inputs = x_calloc((size_t)inputs + 1, sizeof *item->inputs);
    item->outputs = x_calloc((size_t)call->output_count + 1, sizeof *item->outputs);
    for (int i = 0; i < count; i++) {
        const struct tensor *tensor = i < inputs ? call->inputs[i] : call->outputs[i - inputs];
        if (!tensor) {
            continue;
        }
        item->tensors[i] = *tensor;
        item->tensors[i].data = real(apart, tensor->data, tensor_room(tensor));
        if (i < inputs) {
            item->inputs[i] = &item->tensors[i];
        } else {
            item->outputs[i - inputs] = &item->tensors[i];
        }
    }
    item->call.device = apart->cpu;
    item->call.inputs = item->inputs;
    item->call.outputs = item->outputs;
    item->call.scratch = real(apart, call->scratch, step->scratch_bytes);
    add(apart, item);
    return 0;
}

static int apart_memory_info(struct device *device, size_t *ret_free, size_t *ret_total,
                             struct error *err UNUSED) {
    *ret_free = region_bytes - ((struct apart *)device)->used;
    *ret_total = region_bytes;
    return 0;
}

static int apart_event_new(struct device *device UNUSED, struct device_event **ret_event,
                           struct error *err UNUSED) {
    *ret_event = x_calloc(1, sizeof **ret_event);
    return 0;
}

static void apart_event_free(struct device *device, struct device_event *event) {
    struct error err = {0};
    (void)apart_sync(device, &err);
    free(event);
}

static int apart_record(struct device *device, struct device_event *event,
                        struct error *err UNUSED) {
    struct apart *apart = (struct apart *)device;
    struct item *item = x_calloc(1, sizeof *item);
    item->work = WORK_EVENT;
    item->event = event;
    pthread_mutex_lock(&apart->lock);
    event->set++;
    pthread_mutex_unlock(&apart->lock);
    add(apart, item);
    return 0;
}

static int apart_await(struct device *device, struct device_event *event,
                       struct error *err UNUSED) {
    struct apart *apart = (struct apart *)device;
    pthread_mutex_lock(&apart->lock);
    while (event->over < event->set) {
        pthread_cond_wait(&apart->changed, &apart->lock);
    }
    pthread_mutex_unlock(&apart->lock);
    return 0;
}

static void apart_close(struct device *device) {
    struct apart *apart = (struct apart *)device;
    pthread_mutex_lock(&apart->lock);
    apart->ends = true;
    pthread_cond_broadcast(&apart->changed);
    pthread_mutex_unlock(&apart->lock);
    pthread_join(apart->thread, NULL);
    if (apart->block_count) {
        end_test("memory was not given back");
    }
    newest = NULL;
    device_close(apart->cpu);
    munmap(apart->face, region_bytes);
    munmap(apart->real, region_bytes);
    pthread_cond_destroy(&apart->changed);
    pthread_mutex_destroy(&apart->lock);
    free(apart->blocks);
    free(apart);
}

static const struct device_ops apart_ops = {.alloc = apart_alloc,
                                            .free = apart_free,
                                            .copy = apart_copy,
                                            .zero = apart_zero,
                                            .prepare = apart_prepare,
                                            .run = apart_run,
                                            .sync = apart_sync,
                                            .memory_info = apart_memory_info,
                                            .close = apart_close};
static const struct device_training_ops apart_training_ops = {.event_new = apart_event_new,
                                                              .event_free = apart_event_free,
                                                              .record = apart_record,
                                                              .await = apart_await,
                                                              .copy_concurrent =
                                                                  apart_copy_concurrent};

/* For stand-ins of libraries that know the device's pointers (tests/fakegpu). */
void *device_apart_real(const void *pointer, size_t size) {
    return newest && is_apart(newest, pointer) ? real(newest, pointer, size)
                                               : (void *)(uintptr_t)pointer;
}

static char *addresses(int protection) {
    void *region =
        mmap(NULL, region_bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) {
        end_test("no addresses");
    }
    return region;
}

struct device *device_apart_open(int threads) {
    struct error err = {0};
    struct apart *apart = x_calloc(1, sizeof *apart);
    if (device_open("cpu", threads, &apart->cpu, &err) < 0) {
        end_test(err.text);
    }
    apart->base =
        (struct device){.name = "apart", .ops = &apart_ops, .training = &apart_training_ops};
    apart->blocks = x_calloc(BLOCKS_MAX, sizeof *apart->blocks);
    apart->face = addresses(PROT_NONE);
    apart->real = addresses(PROT_READ | PROT_WRITE);
    apart->last = &apart->first;
    pthread_mutex_init(&apart->lock, NULL);
    pthread_cond_init(&apart->changed, NULL);
    if (pthread_create(&apart->thread, NULL, apart_main, apart) != 0) {
        end_test("no thread");
    }
    newest = apart;
    return &apart->base;
}
