/* outcome.h: what one try makes, as bytes: collected in memory, and from OUTCOME_MEMORY on written
 * to the try's object as they come. Nothing counts, and nothing is there under that name, before
 * outcome_close; without it outcome_free leaves nothing. One thread. */
#pragma once

#include "agent/data/parts/part.h"
#include "lib/buffer.h"

enum {
    OUTCOME_TEXT_MAX = 4096, /* bytes that go into the message instead of an object */
    OUTCOME_MEMORY = 8 << 20,
};

enum outcome_place { OUTCOME_OBJECT, OUTCOME_TEXT };

struct outcome;

/* may_be_text: a few bytes of UTF-8 may stay in memory (OUTCOME_TEXT), no object is made then. The
 * store must live longer. */
struct outcome *outcome_new(struct store *store, const char *name, bool may_be_text);
void outcome_free(struct outcome *outcome);
void outcome_freep(struct outcome **outcome);

NODISCARD int outcome_add(struct outcome *outcome, const void *data, size_t size,
                          struct error *err);
/* The object is stored for good, or the bytes are text. */
NODISCARD int outcome_close(struct outcome *outcome, struct error *err);
/* The store failed, not the scorer: the error is its own. */
bool outcome_has_failed(const struct outcome *outcome);

/* After outcome_close: */
enum outcome_place outcome_place(const struct outcome *outcome);
/* Its bytes are in memory unless they were too many; borrowed from the outcome. */
struct part outcome_part(const struct outcome *outcome);
