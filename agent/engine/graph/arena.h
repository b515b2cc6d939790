/* arena.h: many small allocations with one end. A graph and a schedule own one each; there is no
 * per-item free. Not thread-safe. */
#pragma once

#include "lib/base.h"

struct arena_block;
struct arena_kept;
struct arena {
    struct arena_block *blocks; /* newest first; {0} is an empty arena */
    struct arena_kept *kept;
};

void arena_release(struct arena *arena);
/* All that is in `other` ends with `arena`; other is empty then. */
void arena_join(struct arena *arena, struct arena *other);
/* Zeroed, 64-byte aligned; never NULL. */
void *arena_alloc(struct arena *arena, size_t size);
/* Zeroed room for count items; aborts when count * size overflows. */
void *arena_array(struct arena *arena, size_t count, size_t size);
/* release(thing) is called when the arena ends, before its memory goes. */
void arena_keep(struct arena *arena, void *thing, void (*release)(void *thing));
char *arena_text(struct arena *arena, const char *bytes, size_t size); /* NUL appended */
