// SPDX-License-Identifier: Apache-2.0
#include "agent/data/text/passage.h"

#include <stdlib.h>
#include <string.h>

void passage_text_release(struct passage_text *text) {
    free(text->data);
    *text = (struct passage_text){0};
}

int passage_text_room(struct passage_text *text, size_t more, struct error *err) {
    if (more <= text->capacity - text->size) {
        return 0;
    }
    if (more > PASSAGE_TEXT_MAX - text->size) {
        return error_set(err, ERROR_EXHAUSTED, "the text grows to more than %d MiB",
                         PASSAGE_TEXT_MAX >> 20);
    }
    size_t wanted = text->size + more;
    text->capacity = MIN(MAX(wanted + 256, 2 * text->capacity), (size_t)PASSAGE_TEXT_MAX);
    text->data = x_realloc(text->data, text->capacity);
    return 0;
}

int passage_text_append(struct passage_text *text, const char *data, size_t size,
                        struct error *err) {
    if (passage_text_room(text, size, err) < 0) {
        return -1;
    }
    if (size) {
        memcpy(text->data + text->size, data, size);
    }
    text->size += size;
    return 0;
}

void passage_pieces_release(struct passage_pieces *pieces) {
    free(pieces->items);
    *pieces = (struct passage_pieces){0};
}

void passage_add(struct passage_pieces *pieces, struct passage_piece piece) {
    if (piece.token < 0 && piece.start >= piece.end) {
        return;
    }
    if (pieces->count == pieces->capacity) {
        pieces->capacity = MAX(2 * pieces->capacity, (size_t)64);
        pieces->items = x_realloc_array(pieces->items, pieces->capacity, sizeof *pieces->items);
    }
    pieces->items[pieces->count++] = piece;
}

void passage_release(struct passage *passage) {
    passage_text_release(&passage->text);
    passage_text_release(&passage->other_text);
    passage_text_release(&passage->plain);
    passage_pieces_release(&passage->pieces);
    passage_pieces_release(&passage->other_pieces);
    regex_memory_release(&passage->regex);
}
