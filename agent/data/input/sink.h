/* sink.h: where the results of a mini-batch go, by spec.output.mode. Each input kind defines
 * PerFile (media.h); the other forms are the same for every input. */
#pragma once

#include "agent/data/input/media.h"
#include "agent/data/rows/row_head.h"

enum sink_form {
    SINK_PARTS,  /* PerFile of a video: parts that the coordinator joins */
    SINK_PACKS,  /* PerFile of files: packs (pack.h), published file by file once committed */
    SINK_ROWS,   /* AppendRow: one line per result; the coordinator puts them in the input's
                    order */
    SINK_NOTHING /* SummaryOnly: results are counted and forgotten */
};

enum sink_form sink_read_form(const json_t *spec, const struct media *media);

struct sink;

/* work: the lease's. The staged output receives the bytes; it must outlive the sink and stays
 * open. */
NODISCARD int sink_open(const json_t *spec, const struct media *media, const json_t *work,
                        struct staged_output *staged, struct sink **ret_sink, struct error *err);
/* Results come in the order of the lease's items, without the failed ones. Without
 * spec.output.format a row is the text of a JSON string if it has no control characters, otherwise
 * compact JSON; with it a row is an object that begins with its head (row_line.h). */
NODISCARD int sink_add(struct sink *sink, const struct result *result, struct error *err);
/* Whether the row of a result fits spec.output.types. INVALID names the column: the item has
 * failed, and sink_add would return the same. Outputs without types: always 0. */
NODISCARD int sink_check(struct sink *sink, const struct result *result, struct error *err);
/* One of the lease's items has failed; at any time before sink_finish. */
void sink_skip(struct sink *sink);
/* Appends the rows that the lease had of each file (row_head.h), for numbering; call it after the
 * last result. heads: of this lease; NULL: none. */
NODISCARD int sink_end_rows(struct sink *sink, struct row_heads *heads, struct error *err);
NODISCARD int sink_finish(struct sink *sink, struct error *err);
/* *ret_head: the members of an item's row before the result (row_head.h), once sink_count_item has
 * counted the item; the caller frees it. heads NULL: it is NULL. INVALID: the item lacks a column.
 */
NODISCARD int sink_row_prefix(const struct row_heads *heads, const struct item *item,
                              char **ret_head, struct error *err);
/* Counts an item; heads may be NULL. */
void sink_count_item(struct row_heads *heads, const struct item *item);
void sink_free(struct sink *sink);
