/* resident.h: a model's file in memory, and which of its large constants stay in memory. A device
 * that has packed weights no longer needs the originals. Without this module a model would be in
 * memory twice, or three times, because constants at unaligned addresses of the file are copied.
 *
 * The file is read, not mapped: reading a page of a mapped file that was truncated, or whose mount
 * has failed, ends the process (SIGBUS). Constants that were dropped are read again when they are
 * needed; that fails with an error if the file has changed.
 *
 * Constants are dropped only if graph->lets_go is set. Then the graph's owner must call
 * graph_bring_back before it makes another plan, and nothing else may read the constants. */
#pragma once

#include "agent/engine/graph.h"

enum { RESIDENT_BYTES_MIN = 64 << 10 }; /* smaller constants always stay */

struct resident_file {
    char *path; /* for messages */
    int fd; /* kept open, so that the same file is read again even if another file has its name */
    uint8_t *bytes; /* private memory of whole pages; NULL: the file is empty */
    size_t size;
};

/* Reads a regular file of at most size_max bytes. ERROR_INVALID: not such a file; other errors are
 * the system's. */
NODISCARD int resident_file_open(const char *path, size_t size_max, struct resident_file **ret_file,
                                 struct error *err);
void resident_file_free(struct resident_file *file);
/* Reads bytes of the file again. ERROR_UNAVAILABLE: the file is shorter now, or cannot be read.
 * Messages do not contain the path. */
NODISCARD int resident_file_read(const struct resident_file *file, size_t offset, void *ret_bytes,
                                 size_t size, struct error *err);

/* Returns the memory of whole pages to the system; they read as zeros afterwards. */
void resident_drop(const void *bytes, size_t size);

/* Drops the memory of a constant that no step reads any more, unless it is held. Its address stays
 * valid as a key. */
void graph_let_go(const struct graph *graph, int value);
/* Keeps these bytes of the value in memory from now on, because a step reads them in every run.
 * They may belong to another value of which this one is a view. The value must not have been
 * dropped. */
void graph_hold(const struct graph *graph, int value, const void *bytes);
/* Reads all dropped constants again from the file that their origins point into (NULL: no constant
 * was dropped). ERROR_UNAVAILABLE, with path and constant: the file has changed; constants that
 * were not read stay dropped. */
NODISCARD int graph_bring_back(const struct graph *graph, const struct resident_file *file,
                               struct error *err);
