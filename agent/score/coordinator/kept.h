/* kept.h: small objects that a run stores so that a rerun can keep its results: a bit per item,
 * whether it has a result; and size and hash of the output file that has a line per item, to see
 * that it is unchanged. A generation (generation.h) is a run or rerun of the same output. For
 * inputs with fingerprints (input.h, can_keep).
 *
 *   HOME/done-N   {"windlass":1,"items":1000,"crc":"d0b31f42"} newline, then one bit per item that
 *                 was scored, in the order of the list, the lowest bit first: it has a result; the
 *                 CRC-32C is of these bits
 *   HOME/made-N   {"windlass":1,"outputs":["data/out/rows.txt"],"lines":{"name","bytes","sha256"},
 *                 "unswept":true}
 *                 lines: rows.txt or outputs.jsonl, or rows-N (row_files.h). Written before
 *                 that file gets its name, so that the file that is there can be compared with it.
 *                 unswept: files of earlier generations may be left
 *   HOME/merged-N/SHA256
 *                 bits as in done-N, of the items whose lines are in the file of a rerun with that
 *                 hash (its first 16 digits). A rerun replaces the file that it takes lines from.
 *                 Where its coordinator dies before done-N is there, the next one may score failed
 *                 items again, and must add their lines to the file that it finds. "lines" has
 *                 "merged": true then, and "before": that of the file that was replaced, if this
 *                 generation has made that, too
 *
 * done-N exists once all outputs of the generation are complete and nothing stale is left. A
 * generation whose lines are not items has no done-N: its made-N is stored once more, without
 * "unswept". */
#pragma once

#include "agent/score/coordinator/prepared.h"

/* Whether the lines of its list are items, so that which of them have a result can be stored. */
bool kept_has_items(const struct prepared_job *prepared);
/* Reads from the commits which items have a result, and sets prepared->dropped; owned by the
 * caller. Like journal_parts. */
NODISCARD int kept_collect(struct prepared_job *prepared, const struct job *job,
                           struct kept_bits *ret_bits, struct error *err);
NODISCARD int kept_store_bits(struct store *output, const struct generation *generation,
                              const struct kept_bits *bits, struct error *err);
/* Of generation `number`. Without such an object no item has a result. INVALID: it is truncated. */
NODISCARD int kept_load_bits(struct store *output, const char *home, int64_t number,
                             struct kept_bits *ret_bits, struct error *err);
/* Parses the object's content; for kept_load_bits, and for its fuzzer. */
NODISCARD int kept_parse_bits(const char *text, size_t size, struct kept_bits *ret_bits,
                              struct error *err);

/* merged-N of the file that `lines` describes (name, bytes, sha256). *ret_found: false: there is
 * none. */
NODISCARD int kept_store_merged(struct store *output, const struct generation *generation,
                                const json_t *lines, const struct kept_bits *bits,
                                struct error *err);
NODISCARD int kept_load_merged(struct store *output, const struct generation *generation,
                               const json_t *lines, struct kept_bits *ret_bits, bool *ret_found,
                               struct error *err);

/* Stores made-N, with "unswept". lines: result_file_entry (result_file.h) of the file with lines;
 * NULL: there is none. */
NODISCARD int kept_store_made(struct store *output, const struct generation *generation,
                              const json_t *outputs, const json_t *lines, struct error *err);
/* Both owned; NULL: no such object. */
NODISCARD int kept_load_made(struct store *output, const char *home, int64_t number,
                             json_t **ret_outputs, json_t **ret_lines, struct error *err);
/* Removes the mark: the outputs are made once more, with other results than those that it names. */
NODISCARD int kept_unmark(struct prepared_job *prepared, struct error *err);
/* Stores the mark. bits: of the generation's items, if it has any. */
NODISCARD int kept_mark(struct prepared_job *prepared, const struct kept_bits *bits,
                        struct error *err);
/* Whether an earlier generation, of any spec, has its mark: then no files of generations before it
 * are left. */
NODISCARD int kept_is_marked(struct store *output, const char *home, int64_t number,
                             bool *ret_is_marked, struct error *err);
/* Whether the outputs of the claimed generation were made completely: its mark is there. */
NODISCARD int kept_has_outputs(struct prepared_job *prepared, bool *ret_has, struct error *err);
/* Whether that file is in the output, unchanged, and the files that were made of it, if it has
 * "forms" (an entry for each): reads them. */
NODISCARD int kept_is_there(struct store *output, const json_t *lines, bool *ret_is_there,
                            struct error *err);
/* The same without "forms". */
NODISCARD int kept_are_lines_there(struct store *output, const json_t *lines, bool *ret_is_there,
                                   struct error *err);
