/* length_sort.h: rows with texts go through the network sorted by length, the longest first, so
 * that a run (groups.h) is filled up to a text that is hardly longer than the others. A bounded
 * number of rows waits in memory; their results are written in the order of the rows. */
#pragma once

#include "agent/data/input/sink.h"
#include "agent/score/worker/groups.h"

struct length_sort;

/* All pointers are borrowed. feeds: those of the groups. */
struct length_sort *length_sort_new(struct groups *groups, struct feeds *feeds);
void length_sort_free(struct length_sort *sort); /* accepts NULL */

/* Adds the row (ITEM_JSON) that the feeds have taken, and copies it; head: as of groups_add. Rows
 * that are enough are scored, and their results are written. */
NODISCARD int length_sort_add(struct length_sort *sort, struct sink *sink, const struct item *item,
                              const char *head, struct error *err);
/* Scores and writes the remaining rows. */
NODISCARD int length_sort_finish(struct length_sort *sort, struct sink *sink, struct error *err);
/* Drops the remaining rows. */
void length_sort_drop(struct length_sort *sort);
