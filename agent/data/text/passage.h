/* passage.h: a text on its way to tokens: bytes, cut into pieces. Normalizers and pre-tokenizers
 * write a new text beside the old one, so memory is kept from text to text. Not thread-safe. */
#pragma once

#include "agent/data/text/pattern/regex.h"

enum { PASSAGE_TEXT_MAX = 128 << 20 /* maximum of bytes that a text may grow to */ };

/* Bytes that grow; kept when cleared. */
struct passage_text {
    char *data;
    size_t size, capacity;
};
void passage_text_release(struct passage_text *text);
/* Room for `more` bytes behind the text. EXHAUSTED: more than PASSAGE_TEXT_MAX. */
NODISCARD int passage_text_room(struct passage_text *text, size_t more, struct error *err);
NODISCARD int passage_text_append(struct passage_text *text, const char *data, size_t size,
                                  struct error *err);

struct passage_piece {
    uint32_t start, end; /* bytes of the text */
    int32_t token;       /* id of an added token; -1: text */
    bool is_first;       /* it begins where the text as given begins */
};
struct passage_pieces {
    struct passage_piece *items;
    size_t count, capacity;
};
void passage_pieces_release(struct passage_pieces *pieces);
/* Leaves out pieces that are text and empty. */
void passage_add(struct passage_pieces *pieces, struct passage_piece piece);

/* A text and where it is cut, before a step and after it. {0} is empty. */
struct passage {
    struct passage_text text, other_text;
    struct passage_text plain; /* one piece, on its way */
    struct passage_pieces pieces, other_pieces;
    struct regex_memory regex;
};
void passage_release(struct passage *passage);
