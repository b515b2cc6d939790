/* resident.h: a model's file in memory, and which of its large constants stay there. A device that
 * has laid weights out anew needs the old ones no more; without this a model would be in memory
 * twice, or three times: constants that the file has at odd addresses are copies.
 *
 * The file is read, not mapped: a page of a mapped file that was cut off, or whose mount has died,
 * ends the process (SIGBUS) when it is looked at. What was let go of is read again, and is an error
 * where it is not there any more.
 *
 * Nothing happens unless graph->lets_go: its owner promises to call graph_bring_back before
 * anything is planned anew, and that nothing else reads the constants. */
#pragma once

#include "agent/engine/graph.h"

enum { RESIDENT_BYTES_MIN = 64 << 10 }; /* smaller constants always stay */

struct resident_file {
    char *path; /* for messages */
    int fd; /* open, so that what is read again is of this file, whatever has its name by then */
    uint8_t *bytes; /* private memory, whole pages; NULL: the file is empty */
    size_t size;
};

/* Reads a regular file of at most size_max bytes. ERROR_INVALID: not such a file; else as the
 * system says. */
NODISCARD int resident_file_open(const char *path, size_t size_max, struct resident_file **ret_file,
                                 struct error *err);
void resident_file_free(struct resident_file *file);
/* Reads bytes of the file again. ERROR_UNAVAILABLE: it is shorter by now, or cannot be read. The
 * path is in neither message. */
NODISCARD int resident_file_read(const struct resident_file *file, size_t offset, void *ret_bytes,
                                 size_t size, struct error *err);

/* The memory of whole pages goes: they are zeros when they are read. */
void resident_drop(const void *bytes, size_t size);

/* No step reads this constant any more: its memory goes, unless somebody holds it. Its address
 * stays. */
void graph_let_go(const struct graph *graph, int value);
/* A step reads these bytes of the value, which may be a view of another's, in every run: they stay
 * from now on. Not for what is gone. */
void graph_hold(const struct graph *graph, int value, const void *bytes);
/* All that were let go can be read again, from the file that the constants' origins are of (NULL:
 * none were). ERROR_UNAVAILABLE, with path and constant: the file is not as it was; what has not
 * come back stays gone. */
NODISCARD int graph_bring_back(const struct graph *graph, const struct resident_file *file,
                               struct error *err);
