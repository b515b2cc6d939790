/* staged_output.h: the bytes that one try makes: collected in memory, and from STAGED_MEMORY on
 * streamed to the try's object. The object exists only after staged_output_close; without it
 * staged_output_free leaves nothing. One thread. */
#pragma once

#include "agent/data/parts/part.h"
#include "lib/buffer.h"

enum {
    STAGED_TEXT_MAX = 4096, /* bytes that go into the message instead of an object */
    STAGED_MEMORY = 8 << 20,
};

enum staged_output_place { STAGED_OBJECT, STAGED_TEXT };

struct staged_output;

/* may_be_text: a few bytes of UTF-8 stay in memory (STAGED_TEXT) without an object. The store must
 * live longer. */
struct staged_output *staged_output_new(struct store *store, const char *name, bool may_be_text);
void staged_output_free(struct staged_output *staged);
void staged_output_freep(struct staged_output **staged);

NODISCARD int staged_output_add(struct staged_output *staged, const void *data, size_t size,
                                struct error *err);
/* The object is stored for good, or the bytes are text. */
NODISCARD int staged_output_close(struct staged_output *staged, struct error *err);
/* The store failed, not the scorer: the error is its own. */
bool staged_output_has_failed(const struct staged_output *staged);

/* After staged_output_close: */
enum staged_output_place staged_output_place(const struct staged_output *staged);
/* Its bytes are in memory unless they are too many; borrowed from the staged output. */
struct part staged_output_part(const struct staged_output *staged);
