/* arena.h: many small allocations that are freed together, as those of a graph of the engine;
 * single ones cannot be freed. Not thread-safe. */
#pragma once

#include "lib/base.h"

struct arena_block;
struct arena_kept;
struct arena {
    struct arena_block *blocks; /* newest first; {0} is an empty arena */
    struct arena_kept *kept;
};

void arena_release(struct arena *arena);
/* Moves everything in `other` to `arena`; other is empty afterwards. */
void arena_join(struct arena *arena, struct arena *other);
/* Zeroed, 64-byte aligned; never NULL. */
void *arena_alloc(struct arena *arena, size_t size);
/* Zeroed room for count items; aborts when count * size overflows. */
void *arena_array(struct arena *arena, size_t count, size_t size);
/* Calls release(thing) when the arena is released, before its memory is freed. */
void arena_keep(struct arena *arena, void *thing, void (*release)(void *thing));
char *arena_text(struct arena *arena, const char *bytes, size_t size); /* NUL appended */
