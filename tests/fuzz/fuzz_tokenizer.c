// SPDX-License-Identifier: Apache-2.0
/* A tokenizer file: refused with a reason, or every text becomes tokens, or is refused with one. */
#include "agent/data/text/tokenizer.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void encode(const struct tokenizer *tokenizer, const char *text, const char *second) {
    AUTO(tokenizer_memory_freep) struct tokenizer_memory *memory = tokenizer_memory_new();
    const struct tokenizer_input input = {.text = text,
                                          .size = strlen(text),
                                          .second = second,
                                          .second_size = second ? strlen(second) : 0};
    struct tokenizer_tokens tokens;
    struct error err = {0};
    if (tokenizer_encode(tokenizer, memory, &input, &tokens, &err) < 0) {
        if (!err.text[0]) {
            abort();
        }
        return;
    }
    for (size_t i = 0; i < tokens.count; i++) {
        if (tokens.ids[i] < 0 || tokens.mask[i] > 1) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    AUTO(tokenizer_freep) struct tokenizer *tokenizer = NULL;
    AUTO(text_freep) char *json = x_malloc(MAX(size, (size_t)1)); /* reads past the end are found */
    memcpy(json, data, size);
    if (tokenizer_parse(json, size, &tokenizer, &err) < 0) {
        if (!err.text[0]) {
            abort();
        }
        return 0;
    }
    encode(tokenizer, "Caf\u00e9 a\u0323\u0301 [UNK]<x>\t\u4e00\u4e01, 12 \u00b2", NULL);
    encode(tokenizer, "", "\u0130stanbul \u1100\u1161\u11a8 \U0001f600!");
    return 0;
}
