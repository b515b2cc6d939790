/* tree.h: reads values of a JSON tree (jansson) by dotted path. Readers never fail: a missing value
 * or one of another type gives the fallback. Results are borrowed from the tree. */
#pragma once

#include "lib/error.h"

#include <jansson.h>

/* "spec.workers.min" or "status.conditions[0].type"; NULL when any step is missing. */
json_t *tree_get(const json_t *tree, const char *path);
const char *tree_text(const json_t *tree, const char *path, const char *fallback);
int64_t tree_integer(const json_t *tree, const char *path, int64_t fallback);
bool tree_bool(const json_t *tree, const char *path, bool fallback);
/* The index in names of the text at that path; 0 when it is not among them, as for the first name:
 * for trees whose texts were checked (schema.h). */
int tree_choice(const json_t *tree, const char *path, const char *const *names, int count);
/* The first element of a list whose text at that path (missing: "") is `text`; NULL: none, or not a
 * list. */
const json_t *tree_find(const json_t *list, const char *path, const char *text);

/* The member `name` of an object, which is made as an empty object when missing. Borrowed. */
json_t *tree_ensure_object(json_t *object, const char *name);
/* As tree_ensure_object, for a list; what is not a list is replaced by an empty one. */
json_t *tree_ensure_list(json_t *object, const char *name);

/* Whether this text is one of a list of texts; NULL has none. */
bool tree_has_text(const json_t *list, const char *text);
/* Whether any text of the tree contains `part` as a substring. */
bool tree_mentions(const json_t *tree, const char *part);

/* Cleanup for AUTO(tree_freep) json_t *value = NULL; */
void tree_freep(json_t **tree);

/* Compact text, members in their order; a tree that contains itself is not allowed. NULL gives
 * "null". The caller frees. */
char *tree_compact(const json_t *tree);
/* The same with sorted keys: equal trees give equal texts. NULL gives "null". The caller frees.
 */
char *tree_canonical(const json_t *tree);

/* An upper bound of the bytes of memory that the parsed tree of this JSON text takes (nested lists
 * take about 50 times their text), computed without parsing it. INVALID: it is more than
 * memory_max. For parsers that accept what tree_parse refuses. */
size_t tree_memory(const char *text, size_t size);
NODISCARD int tree_check_memory(const char *text, size_t size, size_t memory_max,
                                struct error *err);

/* Parses JSON text. INVALID: longer than bytes_max, a syntax error (with its line), a duplicate
 * key, or a tree that would take more memory than TREE_MEMORY_MAX, found before it is made. The
 * caller owns *ret_tree. */
#define TREE_MEMORY_MAX ((size_t)2 << 30)
NODISCARD int tree_parse(const char *text, size_t size, size_t bytes_max, json_t **ret_tree,
                         struct error *err);
