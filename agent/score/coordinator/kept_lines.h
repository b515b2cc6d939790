/* kept_lines.h: the file of a rerun that has one line for each item with a result, in the order of
 * the input: rows.txt (sink.h), or outputs.jsonl (output_lines.h). The lines of unchanged items are
 * taken from the file of the generation whose results are kept, the others from a file that has
 * those of this generation. */
#pragma once

#include "agent/score/coordinator/kept.h"

struct kept_lines {
    const char *name;             /* of the file, in the output */
    const char *fresh;            /* of the object with this generation's lines */
    const struct kept_bits *bits; /* which items of this generation have a result */
    const json_t *outputs;        /* spec paths, for kept_store_made */
};

/* Writes it. *ret_lines: what made-N has of it (kept.h); owned. INVALID: the earlier file has
 * changed. */
NODISCARD int kept_lines_write(struct prepared_job *prepared, const struct kept_lines *lines,
                               json_t **ret_lines, struct error *err);
/* Whether a predecessor of an earlier release, which stored no merged-N, has written it already:
 * *ret_lines; else NULL. INVALID: it lacks lines of items that were scored since. */
NODISCARD int kept_lines_find(struct prepared_job *prepared, const struct kept_lines *wanted,
                              json_t **ret_lines, struct error *err);
/* The entry of the file in result.json; owned. */
json_t *kept_lines_entry(const json_t *lines);
