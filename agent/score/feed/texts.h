/* texts.h: the tokens of an item's text, as spec.scorer.onnx.tokenizer says: of one column of its
 * row, of two, or of the file that it is. One thread. */
#pragma once

#include "agent/data/text/tokenizer.h"
#include "agent/score/feed/feed.h"

enum {
    TEXTS_BYTES_MAX = 16 << 20, /* of a text */
    TEXTS_LENGTH = 512,         /* tokens at most, where neither spec, network nor file says */
};

struct texts;

/* length: the network's fixed number of tokens; 0: any. INVALID names the field: a maxLength beyond
 * it, columns where there are none or none where they are needed, a file that is not a tokenizer;
 * other errors are those of reading it. */
NODISCARD int texts_open(const json_t *spec, int64_t length, struct texts **ret_texts,
                         struct error *err);
void texts_free(struct texts *texts); /* accepts NULL */
/* Adds the tokenizer's SHA-256 under the name of its field. */
void texts_add_digest(const struct texts *texts, json_t *files);
/* Adds the names of the columns of the texts to an array. */
void texts_add_columns(const struct texts *texts, json_t *names);
struct tokenizer_padding texts_padding(const struct texts *texts);
/* The item's tokens, with the padding that the file says; borrowed until the next call. INVALID,
 * naming the column: the item has failed. Other errors: its file cannot be read. */
NODISCARD int texts_take(struct texts *texts, const struct feed_item *item,
                         struct tokenizer_tokens *ret_tokens, struct error *err);
