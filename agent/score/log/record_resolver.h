/* record_resolver.h: which record of a commit log counts for each cell: the first DONE permanently,
 * a PARTIAL until a DONE follows, a FAILED until any of them follows; voided records never count
 * (exactly-once.md). Pure. A reading of the log (commit_replay) collects; then it answers cell by
 * cell, or record by record in a second reading of the same log. 4 bytes per cell. */
#pragma once

#include "agent/score/log/commit_format.h"

enum { RECORD_RESOLVER_RECORDS_MAX = (1 << 30) - 1 }; /* records of one log that score cells */

struct record_resolver;

/* cells_max: at least the job's number of cells. */
struct record_resolver *record_resolver_new(int64_t cells_max);
void record_resolver_free(struct record_resolver *resolver);
void record_resolver_freep(struct record_resolver **resolver); /* for AUTO */

/* First reading. INVALID: a record with cells that the job cannot have, or too many records. */
NODISCARD int record_resolver_add(struct record_resolver *resolver,
                                  const struct commit_record *record, struct error *err);
/* How many records that score cells were added; DONE, PARTIAL and FAILED do. */
int64_t record_resolver_count(const struct record_resolver *resolver);
/* The record with results that counts for this cell, by its number among those records, from 0; -1:
 * none, or it has FAILED. *ret_cells: for how many cells, from this one on, the same holds. */
int64_t record_resolver_find(const struct record_resolver *resolver, int64_t cell,
                             int64_t *ret_cells);

/* Second reading: for how many of its cells this record counts, 0..record->cells. Fewer than all if
 * a range of `auto` was partly scored again in other ranges. Must be called for every record,
 * too. */
int64_t record_resolver_next(struct record_resolver *resolver, const struct commit_record *record);
