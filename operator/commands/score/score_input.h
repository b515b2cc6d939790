/* score_input.h: what the files are that `windlass score` is given, by their names. */
#pragma once

#include "operator/kinds/kinds.h"

struct score_input {
    char *path;    /* a folder, or one file; absolute, without links; owned */
    char *pattern; /* of the names of its files; owned; NULL: all */
    enum kind_form form;
    const char *table_format; /* CSV, TSV, JSONLines, Parquet */
    int64_t count;            /* files */
    char *first;              /* one of them, to look into; owned */
    json_t *names;            /* those that were given, in `path`; owned; NULL: all, by pattern */
};
void score_input_release(struct score_input *input); /* for AUTO */

/* paths: at least one. pattern: --pattern; NULL: not given. items: what the network takes
 * (agent/commands/model_facts.h). INVALID: nothing that it takes is there, or several things are,
 * and which flag decides. */
NODISCARD int score_input_find(const char *const *paths, size_t count, const char *pattern,
                               const char *items, struct score_input *ret_input, struct error *err);
