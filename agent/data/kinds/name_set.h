/* name_set.h: a set of names, stored as 64-bit hashes: 9 to 10 bytes a name. Two different names
 * with the same hash are taken for one; with a million names the probability of any such pair is 1
 * in 30 million. The hash has a random key: that holds for chosen names, too. */
#pragma once

#include "lib/base.h"

enum { NAME_SET_MAX = 1 << 22 /* names; 40 MiB */ };

struct name_set;

/* folds: ignore case, in every alphabet. The caller frees the set. */
struct name_set *name_set_new(bool folds);
void name_set_free(struct name_set *set); /* accepts NULL */

/* The first `size` bytes of the name, which are UTF-8. kind: a letter that is part of the key: the
 * same name with another kind is another entry. */
bool name_set_has(const struct name_set *set, char kind, const char *name, size_t size);
/* False: the set is full, and the name was not added. */
bool name_set_add(struct name_set *set, char kind, const char *name, size_t size);
