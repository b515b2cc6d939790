/* reach.h: rows with texts go through the network sorted by length, the longest first, so that a
 * run (groups.h) is filled up to a text that is hardly longer than the others. As many rows as
 * reach to each other wait in memory; their results are written in the order of the rows. */
#pragma once

#include "agent/data/input/sink.h"
#include "agent/score/worker/groups.h"

struct reach;

/* All pointers are borrowed. feeds: those of the groups. */
struct reach *reach_new(struct groups *groups, struct feeds *feeds);
void reach_free(struct reach *reach); /* accepts NULL */

/* Adds the row (ITEM_JSON) that the feeds have taken, and copies it; head: as of groups_add. Rows
 * that are enough are scored, and their results are written. */
NODISCARD int reach_add(struct reach *reach, struct sink *sink, const struct item *item,
                        const char *head, struct error *err);
/* Scores and writes the remaining rows. */
NODISCARD int reach_finish(struct reach *reach, struct sink *sink, struct error *err);
/* Drops the remaining rows. */
void reach_drop(struct reach *reach);
