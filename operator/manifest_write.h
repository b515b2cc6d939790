/* manifest_write.h: a manifest's text, for people: YAML in the order of the tree, with remarks.
 * Pure. What manifest.h reads of it is the tree again. */
#pragma once

#include "lib/tree.h"

/* tree: an object. remarks: {"spec.volumes": "line\nline"}: lines of comments above these fields;
 * "" is the top of the file. The caller frees the text. */
char *manifest_write(const json_t *tree, const json_t *remarks);
