/* standing.h: which record of a commit log counts for each cell: the first DONE for ever, a PARTIAL
 * until a DONE comes, a FAILED until anything comes, none of what was voided (exactly-once.md).
 * PURE. Two readings of the same log: the first finds out, the second is told record by record;
 * commit_replay gives both. 4 bytes a cell. */
#pragma once

#include "agent/score/log/commit_format.h"

enum { STANDING_RECORDS_MAX = (1 << 30) - 1 }; /* that score cells; of one log */

struct standing;

/* cells_max: cells of the job, or more. */
struct standing *standing_new(int64_t cells_max);
void standing_free(struct standing *standing);
void standing_freep(struct standing **standing); /* for AUTO */

/* First reading. INVALID: a record of cells that the job cannot have, or too many records. */
NODISCARD int standing_add(struct standing *standing, const struct commit_record *record,
                           struct error *err);
/* Second reading: for how many of its cells this record counts, 0..record->cells. Fewer than all
 * where a range of `auto` was partly done again in other ranges. Called for every record, too. */
int64_t standing_next(struct standing *standing, const struct commit_record *record);
