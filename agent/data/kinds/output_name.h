/* output_name.h: checks, while an input of files is listed, whether each result can have the name
 * of its item in the output folder (mode PerFile): that the name is allowed there, and that no two
 * results have one name. Pure except for queries of the input's storage. */
#pragma once

#include "agent/data/kinds/name_set.h"
#include "agent/store/store.h"
#include "lib/tree.h"

enum { OUTPUT_NAME_WHY_MAX = 400 };

struct output_name {
    bool is_used;             /* mode PerFile: results have names */
    const char *added;        /* behind the item's name: "" or ".json" */
    bool is_local;            /* the output is a folder of files */
    bool is_blind;            /* the output's storage ignores the case of letters in names */
    size_t folder_characters; /* of the output's path */
    struct store *input;      /* borrowed; NULL: a list of names, whose folders are not queried */
    const char *pattern;      /* borrowed; of items */
    char *folder;             /* the last one that was queried, with a slash at its end */
    struct name_set *seen;    /* outputs and their folders; NULL: names cannot collide */
    bool is_full;             /* `seen` is, and this was logged */
    char *beside; /* the item whose output would have the same name as `folder`; NULL: none */
};

/* Names can collide if a manifest lists them, or if the output's storage ignores the case of
 * letters. output: the store of the results; NULL: not known yet. All pointers must outlive it. */
void output_name_init(struct output_name *names, const json_t *spec, struct store *input,
                      struct store *output);
void output_name_release(struct output_name *names);
/* media_result_ending. */
const char *output_name_added(const json_t *spec);
/* Whether this storage ignores the case of letters in names: found by asking it for
 * .windlass/owner, which must exist, in capital letters. */
bool output_name_is_blind(struct store *output);

/* 1: the output of this item, whose name is UTF-8, can be written; 0: ret_why says why not; -1: the
 * input's storage failed. Of items whose outputs collide, the first one to be asked for has the
 * name: items must be asked for in their order, and each once. */
NODISCARD int output_name_fits(struct output_name *names, const char *name,
                               char ret_why[static OUTPUT_NAME_WHY_MAX], struct error *err);
