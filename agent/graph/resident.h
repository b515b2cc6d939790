/* resident.h: which of a model's large constants take memory. A device that has laid weights out
 * anew needs the old ones no more; without this a model would lie in memory twice, or three times:
 * constants that the file has at odd addresses are copies.
 *
 * Nothing happens unless graph->lets_go: its owner promises to call graph_bring_back before
 * anything is planned anew, and that nobody else reads the constants. */
#pragma once

#include "agent/graph/graph.h"

enum { RESIDENT_BYTES_MIN = 64 << 10 }; /* smaller constants always stay */

/* The pages of bytes in a mapped file: they come back when they are read. */
void resident_drop(const void *bytes, size_t size);

/* No step reads this constant any more: its memory goes, unless somebody holds it. Its address
 * stays. */
void graph_let_go(const struct graph *graph, int value);
/* A step reads these bytes of the value, which may be a view of another's, in every run: they stay
 * from now on. Not for what is gone. */
void graph_hold(const struct graph *graph, int value, const void *bytes);
/* All that were let go can be read again. */
void graph_bring_back(const struct graph *graph);
