/* pack.h: many small files as one part: their bytes, then an index [["a/b.json",17],...] of names
 * below the output and sizes, in order, then the index's size as 16 hexadecimal digits. A pack of
 * texts is itself text. A worker makes it; publishing it writes the files. */
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

/* Whether a part of the name begins with .windlass: it belongs to a run's state. */
bool pack_is_ours(const char *name);
