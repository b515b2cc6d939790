/* resident.h: a model's file in memory, and eviction of its large constants. A device that has
 * packed weights does not read the originals any more; without eviction a model would be in memory
 * twice, or three times, because constants at unaligned addresses of the file are copied.
 *
 * The file is read, not mapped: reading a page of a mapped file that was truncated, or whose mount
 * has failed, ends the process (SIGBUS). Evicted constants are read again when they are needed;
 * that fails with an error if the file has changed.
 *
 * Constants are evicted only if graph->may_evict is set. Then the graph's owner must call
 * graph_reload before it makes another plan, and nothing else may read the constants. */
#pragma once

#include "agent/engine/graph.h"

enum { RESIDENT_BYTES_MIN = 64 << 10 }; /* smaller constants always stay */
/* Constants of a graph whose plans often change stay in memory up to this size: those of BERT base
 * (340 MB) do. */
enum { RESIDENT_KEPT_MAX = 384 << 20 };

struct resident_file {
    char *path; /* for messages */
    int fd; /* kept open, so that the same file is read again even if another file has its name */
    uint8_t *bytes; /* private memory of whole pages; NULL: the file is empty */
    size_t size;
    uint64_t sum;        /* of the bytes as they were read (resident_sum); 0: only reserved */
    int64_t modified_ns; /* of the file when it was opened */
    struct resident_file *next; /* another file of the same model; borrowed; NULL: none */
};

/* Reads a regular file of at most bytes_max bytes. fd: the caller's, which is duplicated; path: for
 * messages. ERROR_INVALID: not such a file; other errors are the system's. */
NODISCARD int resident_file_open(const char *path, int fd, size_t bytes_max,
                                 struct resident_file **ret_file, struct error *err);
/* The same without reading it: pages of `bytes` take memory once they are written. bytes NULL, with
 * the file's size: there are not as many addresses. */
NODISCARD int resident_file_reserve(const char *path, int fd, size_t bytes_max,
                                    struct resident_file **ret_file, struct error *err);
void resident_file_free(struct resident_file *file);
/* Reads bytes of the file again. ERROR_UNAVAILABLE: the file is shorter now, or cannot be read.
 * Messages do not contain the path. */
NODISCARD int resident_file_read(const struct resident_file *file, size_t offset, void *ret_bytes,
                                 size_t size, struct error *err);

/* A checksum, with what comes before in `sum` (0 at first). Pieces but the last one are of whole
 * words (8 bytes). It detects accidental changes, not deliberate ones. */
uint64_t resident_sum(uint64_t sum, const void *bytes, size_t size);
/* UNAVAILABLE: the file has been written to since it was opened, by its time and size. */
NODISCARD int resident_file_check(const struct resident_file *file, struct error *err);

/* Returns the memory of whole pages to the system; they read as zeros afterwards. */
void resident_drop(const void *bytes, size_t size);

/* Evicts a constant that no step reads any more, unless it is pinned: its memory is returned to the
 * system. Its address stays valid as a key. */
void graph_evict(struct graph *graph, int value);
/* Keeps these bytes in memory from now on, because a step reads them in every run. They belong to
 * the value, or to another value of which it is a view. The value must not have been evicted. */
void graph_pin(struct graph *graph, int value, const void *bytes);
/* Reads all evicted constants again from the file or those linked to it. file NULL: the graph was
 * not read from a file, so nothing can have been evicted. ERROR_UNAVAILABLE: the file has changed;
 * the message has the path and the constant; constants that were not read stay evicted. */
NODISCARD int graph_reload(struct graph *graph, const struct resident_file *file,
                           struct error *err);
/* Whether all constants that are evicted now have at most RESIDENT_KEPT_MAX bytes. */
bool graph_keeps_evicted(const struct graph *graph);
