/* pack.h: many small files as one part: their bytes, then an index, then the index's size as 16
 * hexadecimal digits. The index has an entry for each file, in order:
 *
 *     ["a/b.json",17,"9f86d081...","1c291ca3"]
 *
 * its name below the output, its size, its SHA-256, and the CRC-32C of these three, each on a line
 * of its own; entries of small packs, and of earlier releases, have only name and size. If all
 * files are UTF-8, so is the pack. A worker makes a pack; publishing it writes its files to the
 * output. */
#pragma once

#include "agent/data/parts/staged_output.h"

enum { PACK_INDEX_MAX = 64 << 20 };

struct pack;

struct pack *pack_new(struct staged_output *staged);
void pack_free(struct pack *pack);
NODISCARD int pack_add(struct pack *pack, const char *name, const void *data, size_t size,
                       struct error *err);
NODISCARD int pack_close(struct pack *pack, struct error *err); /* the staged output stays open */

/* Writes all files of the part into the output, each atomically, replacing existing ones. May be
 * repeated: it writes the same bytes. INVALID: not a pack, or it names a file that results must not
 * write. */
NODISCARD int pack_publish(const struct part *part, struct store *output, struct error *err);

/* sha256: in hex; all is borrowed. -1 with *err ends the listing. */
typedef int pack_each(void *context, const char *name, int64_t size_bytes, const char *sha256,
                      struct error *err);
/* Calls `each` for all files of the part, in order. Reads only the index where it has the hashes,
 * else the files, too. NOT_FOUND and INVALID: the part is missing or differs from its commit; else
 * the store's or the callback's error. */
NODISCARD int pack_list(const struct part *part, pack_each *each, void *context, struct error *err);

/* Whether a component of the path begins with ".windlass": such files are the state of a run, and
 * results must not write them. */
bool pack_is_ours(const char *name);
