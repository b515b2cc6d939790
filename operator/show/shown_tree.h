/* shown_tree.h: a printable copy of an object of a cluster: its strings are escaped
 * (lib/text/shown.h). Messages and figures of a job come from its pods, and from users who may
 * write its status. */
#pragma once

#include <jansson.h>

/* The caller owns it; NULL gives NULL. Texts become one line each; names of members stay. */
json_t *shown_tree(const json_t *tree);
