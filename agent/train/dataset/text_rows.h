/* text_rows.h: the rows of data_text.c: the tokens of each, and its class, or a class for each
 * word. Filled once, then read-only. */
#pragma once

#include "agent/data/table/table_rows.h"
#include "agent/data/text/tokenizer.h"
#include "agent/train/dataset/dataset.h"

struct text_row {
    int64_t at;             /* byte of its file; of Parquet the row */
    size_t first;           /* token */
    int32_t count, counted; /* tokens; those that have a class of their own */
    int32_t label;
    uint16_t file;
    char *fault; /* why it is bad; NULL: it is good; owned */
};

struct text_rows {
    /* set by data_text.c */
    json_t *paths;
    struct table_format format;
    char *columns[2];
    size_t column_count;
    char *label;     /* the column of the class, or of the classes of words */
    bool has_words;  /* the latter: texts are words with spaces between them, or lists of words */
    json_t *classes; /* object: the class of each text of a label; NULL: labels are numbers */
    size_t length;   /* tokens of a row at most */
    int64_t ignored, memory_bytes;
    /* text_rows_tokenizer */
    struct tokenizer *tokenizer;
    struct tokenizer_memory *memory;
    struct tokenizer_padding padding;
    char tokenizer_digest[65];
    /* text_rows_read */
    struct text_row *rows;
    int64_t count, cut; /* rows; those of them that were longer than `length` */
    int32_t class_count;
    bool has_first_class; /* a label is 0 */
    int32_t *ids, *labels;
    uint8_t *types;
    size_t tokens, token_room, row_room;
    int64_t fault_bytes;
    uint32_t digest;
    int64_t firsts[DATASET_SHARDS_MAX]; /* row of each file */
};

/* Errors name the field. */
NODISCARD int text_rows_tokenizer(struct text_rows *rows, const char *path, struct error *err);
/* All rows of all files. CANCELLED: options->is_stopped. */
NODISCARD int text_rows_read(struct text_rows *rows, const struct dataset_options *options,
                             struct error *err);
void text_rows_release(struct text_rows *rows);
void text_rows_describe(const struct text_rows *rows, int64_t index,
                        char text[static DATASET_NAME_MAX]);

/* Each of `length`; labels: NULL where a row has one. */
struct text_sample {
    int64_t *ids, *mask, *types, *positions, *labels;
};
void text_rows_fill(const struct text_rows *rows, const struct text_row *row,
                    const struct text_sample *to);

/* text_words.c: which tokens of a row are the first ones of its words. words: texts. Fills
 * labels[count] of the row's tokens: the class of a word at its first token, -1 elsewhere. Returns
 * why the row cannot be used, which the caller frees; NULL: it can. */
struct text_words {
    const json_t *words;
    const int32_t *classes; /* of each word; -1: it does not count */
    const int32_t *ids;     /* of the row */
    size_t count;
};
char *text_words_place(struct text_rows *rows, const struct text_words *words, int32_t *labels);
/* The words with a space between them; the caller frees. */
char *text_words_join(const json_t *words);
/* The words of a text, or what a list has, which need not be texts, as a new list; NULL: it is
 * neither. */
json_t *text_words_split(const json_t *field);
