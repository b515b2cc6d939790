/* tree.h: short reads of JSON trees by dotted path, for the many places that only look.
 * Every reader is total: a missing or wrongly typed value gives the fallback. Borrowed results. */
#pragma once

#include "lib/error.h"

#include <jansson.h>

/* "spec.workers.min" or "status.conditions[0].type"; NULL when any step is missing. */
json_t *tree_get(const json_t *tree, const char *path);
const char *tree_text(const json_t *tree, const char *path, const char *fallback);
int64_t tree_integer(const json_t *tree, const char *path, int64_t fallback);
double tree_number(const json_t *tree, const char *path, double fallback);
bool tree_bool(const json_t *tree, const char *path, bool fallback);
/* The place of the text at that path among the names; 0: it is none of them. */
int tree_choice(const json_t *tree, const char *path, const char *const *names, int count);
/* The first of a list whose text at that path (none counts as "") is `text`; NULL when there is
 * none, or no list. Borrowed. */
const json_t *tree_find(const json_t *list, const char *path, const char *text);

/* The object in an object that has that name; made when there is none. Borrowed. */
json_t *tree_part(json_t *object, const char *name);

/* Cleanup for AUTO(tree_freep) json_t *value = NULL; */
void tree_freep(json_t **tree);

/* Compact text with sorted keys: equal trees give equal texts. The caller frees. */
char *tree_canonical(const json_t *tree);

/* Parses at most max_bytes of JSON text; duplicate keys are refused. Owned result. */
NODISCARD int tree_parse(const char *text, size_t size, size_t max_bytes, json_t **ret_tree,
                         struct error *err);
