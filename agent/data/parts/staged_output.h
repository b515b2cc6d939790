/* staged_output.h: the bytes of one try: collected in memory, and beyond STAGED_MEMORY streamed to
 * the try's object. The object exists only after staged_output_close; without that call
 * staged_output_free leaves nothing behind. One thread. */
#pragma once

#include "agent/data/parts/part.h"
#include "lib/buffer.h"

enum {
    STAGED_TEXT_MAX = 4096, /* bytes that go into the message instead of an object */
    STAGED_MEMORY = 8 << 20,
};

enum staged_output_place { STAGED_OBJECT, STAGED_TEXT };

struct staged_output;

/* may_be_text: up to STAGED_TEXT_MAX bytes of UTF-8 stay in memory (STAGED_TEXT) without an object.
 * The store must outlive it. */
struct staged_output *staged_output_new(struct store *store, const char *name, bool may_be_text);
void staged_output_free(struct staged_output *staged);
void staged_output_freep(struct staged_output **staged);

NODISCARD int staged_output_add(struct staged_output *staged, const void *data, size_t size,
                                struct error *err);
/* Afterwards the object is stored durably, or the bytes are text. */
NODISCARD int staged_output_close(struct staged_output *staged, struct error *err);
/* True if the store failed, not the scorer; the error is the store's. */
bool staged_output_has_failed(const struct staged_output *staged);

/* After staged_output_close: */
enum staged_output_place staged_output_find_place(const struct staged_output *staged);
/* The part's bytes are in memory unless there are too many; borrowed from the staged output. */
struct part staged_output_part(const struct staged_output *staged);
