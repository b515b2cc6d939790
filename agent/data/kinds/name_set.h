/* name_set.h: a set of names, as 64-bit hashes: 8 to 16 bytes a name. Two different names of a
 * million have the same hash in one set of 30 million. Pure. */
#pragma once

#include "lib/base.h"

enum { NAME_SET_MAX = 1 << 22 /* names; 64 MiB */ };

struct name_set;

/* folds: names that differ only in small and capital letters are one, of every alphabet. */
struct name_set *name_set_new(bool folds);
void name_set_free(struct name_set *set); /* NULL is fine */

/* The first `size` bytes of the name, which are UTF-8; kind: sets of different kinds share nothing.
 */
bool name_set_has(const struct name_set *set, char kind, const char *name, size_t size);
/* False: the set is full, and the name was not added. */
bool name_set_add(struct name_set *set, char kind, const char *name, size_t size);
