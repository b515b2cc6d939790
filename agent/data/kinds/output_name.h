/* output_name.h: whether the result of a file can have its name in the output folder (mode
 * PerFile), so that this is known when the input is listed. PURE except for queries of the input's
 * storage. */
#pragma once

#include "agent/data/kinds/name_set.h"
#include "agent/store/store.h"
#include "lib/tree.h"

enum { OUTPUT_NAME_WHY_MAX = 400 };

struct output_name {
    bool is_used;             /* mode PerFile: results have names */
    const char *added;        /* behind the item's name: "" or ".json" */
    bool is_local;            /* the output is a folder of files */
    bool is_blind;            /* its names differ by more than their case */
    size_t folder_characters; /* of the output's path */
    struct store *input;      /* borrowed; NULL: a list of names, whose folders are not queried */
    const char *pattern;      /* borrowed; of items */
    char *folder;             /* the last one that was queried, with a slash at its end */
    struct name_set *seen;    /* outputs and their folders; NULL: names cannot collide */
    bool is_full;             /* `seen` is, and this was logged */
    char *beside;             /* the item whose output has the name of that folder; NULL: none */
};

/* Names can collide if a manifest lists them, or if the output's storage ignores the case of
 * letters. output: the store of the results; NULL: not known yet. All pointers must outlive it. */
void output_name_init(struct output_name *names, const json_t *spec, struct store *input,
                      struct store *output);
void output_name_release(struct output_name *names);
/* What the name of a result has behind its item's: "" or ".json". */
const char *output_name_added(const json_t *spec);
/* For this storage, names that differ only in case are one name. It must have .windlass/owner. */
bool output_name_is_blind(struct store *output);

/* 1: the output of this item, whose name is UTF-8, can be written; 0: ret_why says why not; -1: the
 * input's storage failed. Of items whose outputs collide, the first one to be asked for has the
 * name: items must be asked for in their order, and each once. */
NODISCARD int output_name_fits(struct output_name *names, const char *name,
                               char ret_why[static OUTPUT_NAME_WHY_MAX], struct error *err);
