/* record_resolver.h: which record of a commit log counts for each cell: the first DONE for ever, a
 * PARTIAL until a DONE comes, a FAILED until anything comes, none of what was voided
 * (exactly-once.md). PURE. Two readings of the same log: the first collects, the second answers
 * record by record; commit_replay gives both. 4 bytes a cell. */
#pragma once

#include "agent/score/log/commit_format.h"

enum { RECORD_RESOLVER_RECORDS_MAX = (1 << 30) - 1 }; /* that score cells; of one log */

struct record_resolver;

/* cells_max: cells of the job, or more. */
struct record_resolver *record_resolver_new(int64_t cells_max);
void record_resolver_free(struct record_resolver *resolver);
void record_resolver_freep(struct record_resolver **resolver); /* for AUTO */

/* First reading. INVALID: a record of cells that the job cannot have, or too many records. */
NODISCARD int record_resolver_add(struct record_resolver *resolver,
                                  const struct commit_record *record, struct error *err);
/* Second reading: for how many of its cells this record counts, 0..record->cells. Fewer than all
 * where a range of `auto` was partly done again in other ranges. Called for every record, too. */
int64_t record_resolver_next(struct record_resolver *resolver, const struct commit_record *record);
