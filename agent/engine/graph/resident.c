// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/graph/resident.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the file ------------------------------------------------------------------------------- */

int resident_file_read(const struct resident_file *file, size_t offset, void *ret_bytes,
                       size_t size, struct error *err) {
    uint8_t *at = ret_bytes;
    assert(offset <= file->size && size <= file->size - offset);
    while (size) {
        ssize_t got = pread(file->fd, at, size, (off_t)offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return error_set(err, ERROR_UNAVAILABLE, "cannot be read at byte %zu: %s", offset,
                             strerror(errno));
        }
        if (got == 0) {
            return error_set(err, ERROR_UNAVAILABLE,
                             "ends after %zu bytes, it had %zu when it was opened: it was "
                             "changed meanwhile",
                             offset, file->size);
        }
        at += got;
        offset += (size_t)got;
        size -= (size_t)got;
    }
    return 0;
}

/* Eight bytes at a time, because it is computed while a job starts. */
uint64_t resident_sum(uint64_t sum, const void *bytes, size_t size) {
    const uint8_t *from = bytes;
    size_t at = 0;
    uint64_t word = 0;
    for (; at + sizeof word <= size; at += sizeof word) {
        memcpy(&word, from + at, sizeof word);
        sum = (sum ^ word) * 0x9e3779b97f4a7c15;
        sum ^= sum >> 32;
    }
    for (; at < size; at++) {
        sum = (sum ^ from[at]) * 0x9e3779b97f4a7c15;
    }
    return sum;
}

static int64_t ns_of(const struct timespec *time) {
    return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

int resident_file_check(const struct resident_file *file, struct error *err) {
    struct stat status;
    if (fstat(file->fd, &status) < 0) {
        return error_set(err, ERROR_UNAVAILABLE, "cannot be looked at: %s", strerror(errno));
    }
    return ns_of(&status.st_mtim) == file->modified_ns && (size_t)status.st_size == file->size
               ? 0
               : error_set(err, ERROR_UNAVAILABLE, "was changed while it was read");
}

static int measure(struct resident_file *file, size_t bytes_max, struct error *err) {
    struct stat status;
    if (file->fd < 0 || fstat(file->fd, &status) < 0) {
        return error_from_errno(err, errno, "cannot open");
    }
    if (!S_ISREG(status.st_mode)) {
        return error_set(err, ERROR_INVALID, "not a regular file");
    }
    if ((uint64_t)status.st_size > bytes_max) {
        return error_set(err, ERROR_INVALID, "%lld bytes; at most %zu are expected",
                         (long long)status.st_size, bytes_max);
    }
    file->size = (size_t)status.st_size;
    file->modified_ns = ns_of(&status.st_mtim);
    return 0;
}

static void resident_file_freep(struct resident_file **file) {
    resident_file_free(*file);
}

int resident_file_reserve(const char *path, int fd, size_t bytes_max,
                          struct resident_file **ret_file, struct error *err) {
    AUTO(resident_file_freep) struct resident_file *file = x_calloc(1, sizeof *file);
    file->path = x_strdup(path);
    file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (measure(file, bytes_max, err) < 0) {
        return -1;
    }
    if (file->size) { /* separate pages, so that single pages can be dropped */
        void *bytes = mmap(NULL, file->size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        file->bytes = bytes == MAP_FAILED ? NULL : bytes;
    }
    *ret_file = TAKE(file);
    return 0;
}

int resident_file_open(const char *path, int fd, size_t bytes_max, struct resident_file **ret_file,
                       struct error *err) {
    AUTO(resident_file_freep) struct resident_file *file = NULL;
    if (resident_file_reserve(path, fd, bytes_max, &file, err) < 0) {
        return -1;
    }
    if (file->size && !file->bytes) {
        return error_set(err, ERROR_EXHAUSTED, "no memory for its %zu bytes", file->size);
    }
    if (resident_file_read(file, 0, file->bytes, file->size, err) < 0) {
        return -1;
    }
    file->sum = resident_sum(0, file->bytes, file->size);
    *ret_file = TAKE(file);
    return 0;
}

void resident_file_free(struct resident_file *file) {
    if (!file) {
        return;
    }
    if (file->bytes) {
        munmap(file->bytes, file->size);
    }
    if (file->fd >= 0) {
        close(file->fd);
    }
    free(file->path);
    free(file);
}

/* ---- constants ------------------------------------------------------------------------------ */

static size_t bytes_of(const struct value *value) {
    return (size_t)shape_count(&value->shape) * tensor_type_size(value->type);
}

/* Of a large constant. */
static uint64_t sum_of(const struct value *value) {
    return resident_sum(bytes_of(value), value->constant.data, bytes_of(value));
}

/* Only whole pages, because the first and the last one may contain other data. */
void resident_drop(const void *bytes, size_t size) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)bytes;
    uintptr_t first = (at + page - 1) / page * page, end = (at + size) / page * page;
    if (first < end) {
        /* If it fails, the pages stay, which does no harm. */
        (void)madvise((void *)first, end - first, MADV_DONTNEED);
    }
}

void graph_evict(struct graph *graph, int index) {
    struct value *value = &graph->values[index];
    if (!graph->may_evict || !value->is_constant || !value->origin || value->is_pinned ||
        value->is_evicted || bytes_of(value) < RESIDENT_BYTES_MIN) {
        return;
    }
    if (!value->has_sum) {
        value->sum = sum_of(value);
        value->has_sum = true;
    }
    resident_drop(value->constant.data, bytes_of(value));
    value->is_evicted = true;
}

void graph_pin(struct graph *graph, int index, const void *bytes) {
    struct value *value = &graph->values[index];
    assert(!value->is_evicted);
    value->is_pinned = true;
    for (size_t i = 0; !value->is_constant && i < graph->value_count; i++) {
        graph->values[i].is_pinned |= graph->values[i].constant.data == bytes;
    }
}

/* The sum detects what the size cannot: other weights written over the old ones. */
static int reload(struct value *value, const struct resident_file *file, struct error *err) {
    size_t offset = (size_t)((const uint8_t *)value->origin - file->bytes);
    if (resident_file_read(file, offset, value->constant.data, bytes_of(value), err) < 0) {
        return -1;
    }
    if (sum_of(value) != value->sum) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "has other bytes at %zu than when it was opened: it was changed "
                         "meanwhile",
                         offset);
    }
    value->is_evicted = false;
    return 0;
}

/* Addresses in different memory: as numbers. */
static bool is_in(const struct resident_file *file, const void *origin) {
    uintptr_t at = (uintptr_t)origin, first = (uintptr_t)file->bytes;
    return first && at >= first && at - first < file->size;
}

int graph_reload(struct graph *graph, const struct resident_file *file, struct error *err) {
    for (size_t i = 0; i < graph->value_count; i++) {
        struct value *value = &graph->values[i];
        const struct resident_file *from = value->is_evicted ? file : NULL;
        while (from && !is_in(from, value->origin)) {
            from = from->next;
        }
        assert(from || !value->is_evicted);
        if (from && reload(value, from, err) < 0) {
            return error_context(err, "%s: weights \"%.64s\"", from->path, value->name);
        }
    }
    return 0;
}

bool graph_keeps_evicted(const struct graph *graph) {
    size_t bytes = 0;
    for (size_t i = 0; i < graph->value_count; i++) {
        bytes += graph->values[i].is_evicted ? bytes_of(&graph->values[i]) : 0;
    }
    return bytes <= RESIDENT_KEPT_MAX;
}

void graph_drop_constant(struct graph *graph, int value) {
    const struct tensor *constant = &graph->values[value].constant;
    resident_drop(constant->data,
                  (size_t)shape_count(&constant->shape) * tensor_type_size(constant->type));
}
