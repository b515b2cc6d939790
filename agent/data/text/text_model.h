/* text_model.h: the "model" of a tokenizer file: makes ids of a word. One file per row of the table
 * in text_model.c. Read-only once it is made. */
#pragma once

#include "agent/data/text/text_ids.h"
#include "lib/error.h"

#include <jansson.h>

enum { TEXT_ID_MAX = (1 << 24) - 1, TEXT_TOKENS_MAX = 4 << 20 };

struct text_model {
    const struct text_model_kind *kind;
};
struct text_model_kind {
    const char *type;
    int (*open)(const json_t *tree, struct text_model **ret_model, struct error *err);
    void (*free)(struct text_model *model);
    /* The id of exactly this token; -1: there is none. */
    int32_t (*find)(const struct text_model *model, const char *data, size_t size);
    size_t (*count)(const struct text_model *model); /* of tokens */
    /* Appends the ids of a word, which is not empty. */
    int (*encode)(const struct text_model *model, const char *data, size_t size,
                  struct text_ids *ids, struct error *err);
};

/* UNSUPPORTED: a type that is not read. INVALID: what is wrong in it. */
NODISCARD int text_model_open(const json_t *tree, struct text_model **ret_model, struct error *err);
void text_model_free(struct text_model *model);
