/* vocabulary.h: strings of bytes and their ids, of up to millions of tokens; and pairs of ids with
 * a rank. Read-only, and so safe in any thread, once they are filled. */
#pragma once

#include "lib/arena.h"
#include "lib/error.h"

enum {
    VOCABULARY_TOKENS_MAX = 4 << 20,
    VOCABULARY_TOKEN_BYTES = 16 << 10, /* maximum of one token */
    VOCABULARY_NONE = -1
};

struct vocabulary_entry {
    const char *data; /* NULL: free */
    uint32_t size;
    uint32_t hash; /* with a key of this process (keyed_hash.h) */
    int32_t id;
};
struct vocabulary {
    struct vocabulary_entry *entries;
    size_t count, capacity; /* capacity: a power of two, or 0 */
    size_t longest;         /* bytes */
    struct arena arena;
};
void vocabulary_release(struct vocabulary *vocabulary);
/* Copies the string; a later id replaces an earlier one. INVALID: too many or too long. */
NODISCARD int vocabulary_add(struct vocabulary *vocabulary, const char *data, size_t size,
                             int32_t id, struct error *err);
/* VOCABULARY_NONE: not in it. */
int32_t vocabulary_find(const struct vocabulary *vocabulary, const char *data, size_t size);
