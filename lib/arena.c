// SPDX-License-Identifier: Apache-2.0
#include "lib/arena.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, BLOCK_BYTES = 16384 };

struct arena_block {
    struct arena_block *next;
    size_t size, used;
    void *memory;
    char *data; /* the first aligned byte of it */
};

struct arena_kept {
    struct arena_kept *next;
    void *thing;
    void (*release)(void *thing);
};

void arena_release(struct arena *arena) {
    while (arena->kept) { /* the entry is in a block, too */
        struct arena_kept *kept = arena->kept;
        arena->kept = kept->next;
        kept->release(kept->thing);
    }
    while (arena->blocks) {
        struct arena_block *block = arena->blocks;
        arena->blocks = block->next;
        free(block->memory);
        free(block);
    }
}

void arena_join(struct arena *arena, struct arena *other) {
    struct arena_block **last = &arena->blocks;
    while (*last) {
        last = &(*last)->next;
    }
    *last = TAKE(other->blocks);
    struct arena_kept **last_kept = &arena->kept;
    while (*last_kept) {
        last_kept = &(*last_kept)->next;
    }
    *last_kept = TAKE(other->kept);
}

static void *alloc_aligned(struct arena *arena, size_t size, size_t alignment) {
    struct arena_block *block = arena->blocks;
    size_t start = block ? (block->used + alignment - 1) / alignment * alignment : 0;
    if (!block || start > block->size || block->size - start < size) {
        block = x_calloc(1, sizeof *block);
        block->size = (MAX(size, BLOCK_BYTES) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        start = 0;
        /* calloc: the kernel's pages are zero already, and those that are never used cost nothing.
         */
        block->memory = x_calloc(1, block->size + ALIGNMENT);
        block->data = (char *)block->memory + -(uintptr_t)block->memory % ALIGNMENT;
        block->next = arena->blocks;
        arena->blocks = block;
    }
    block->used = start + size;
    return block->data + start;
}

void *arena_alloc(struct arena *arena, size_t size) {
    return alloc_aligned(arena, MAX(size, 1), ALIGNMENT);
}

void *arena_array(struct arena *arena, size_t count, size_t size) {
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        free(x_malloc(SIZE_MAX));
    }
    return arena_alloc(arena, total);
}

void arena_keep(struct arena *arena, void *thing, void (*release)(void *thing)) {
    struct arena_kept *kept = arena_alloc(arena, sizeof *kept);
    *kept = (struct arena_kept){arena->kept, thing, release};
    arena->kept = kept;
}

char *arena_text(struct arena *arena, const char *bytes, size_t size) {
    char *text = alloc_aligned(arena, size + 1, 1);
    if (size) {
        memcpy(text, bytes, size);
    }
    return text;
}
