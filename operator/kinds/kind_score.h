/* kind_score.h: a job without a manifest (`windlass score`): what is known about it, and the
 * manifest that a kind makes of that. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

enum kind_form { KIND_PICTURES, KIND_FILM, KIND_TABLE, KIND_TEXTS, KIND_ARRAYS, KIND_FORM_COUNT };

/* Paths are VOLUME/path/in/it. Texts and trees are borrowed. */
struct kind_score {
    const char *name, *model, *input, *output;
    enum kind_form form;
    int64_t count;            /* files of the input */
    const char *pattern;      /* of their names; NULL: all files of the folder, or one file */
    const char *list;         /* a file with their names in the folder; NULL: all by the pattern */
    const char *table_format; /* CSV, TSV, JSONLines, Parquet */
    const json_t *header;     /* the table's columns; NULL: unknown */
    const json_t *key;        /* of these, those that identify its rows; NULL: none is named */
    const json_t *columns;    /* of these, those that the network takes; NULL: not given */
    const char *tokenizer;    /* NULL: there is none */
    const char *rows, *file;  /* the format and the name of the file of rows; NULL: not given */
    const json_t *network;    /* what it takes and gives: agent/commands/model_facts.h */
    const json_t *asked;      /* fields that the user has set, as a manifest; they win */
    const json_t *volumes;    /* spec.volumes */
};

struct kind_scored {
    json_t *object;  /* the manifest, without defaults; owned */
    json_t *remarks; /* on its fields (operator/manifest_write.h); owned */
    char *summary;   /* "25 pictures as ...": what it does, in a line; owned */
};
void kind_scored_release(struct kind_scored *made); /* for AUTO, too */
