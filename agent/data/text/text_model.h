/* text_model.h: the "model" of a tokenizer file (tokenizer.json): turns one pre-token (UTF-8 bytes,
 * in the field's terms a word) into token ids. One file per row of the table in text_model.c. Once
 * opened it is read-only, so any threads may share it. */
#pragma once

#include "agent/data/text/text_ids.h"
#include "lib/error.h"

#include <jansson.h>

enum { TEXT_ID_MAX = (1 << 24) - 1, TEXT_TOKENS_MAX = 4 << 20 };

struct text_model {
    const struct text_model_kind *kind;
};
struct text_model_kind {
    const char *type; /* "BPE", ... */
    /* Copies what it needs of `tree`, the object "model". Errors as of text_model_open. */
    int (*open)(const json_t *tree, struct text_model **ret_model, struct error *err);
    void (*free)(struct text_model *model);
    /* The id of exactly this token; -1: there is none. */
    int32_t (*find)(const struct text_model *model, const char *data, size_t size);
    size_t (*count)(const struct text_model *model); /* of tokens */
    /* Appends the ids of a pre-token, which is not empty. INVALID: the model has no token for a
     * part of it, and no unknown token. EXHAUSTED: it is too long, or has too many tokens. */
    int (*encode)(const struct text_model *model, const char *data, size_t size,
                  struct text_ids *ids, struct error *err);
};

/* ERROR_UNSUPPORTED: a type or a setting that is not supported. ERROR_INVALID: the message names
 * the field and what is expected. */
NODISCARD int text_model_open(const json_t *tree, struct text_model **ret_model, struct error *err);
void text_model_free(struct text_model *model);
