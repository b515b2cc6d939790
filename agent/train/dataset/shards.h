/* shards.h: which files a path of shards names (spec.trainer.data: webdataset.path). */
#pragma once

#include "agent/train/dataset/strays.h"
#include "lib/error.h"

#include <jansson.h>

enum { SHARDS_MAX = 1 << 16, SHARDS_DIGITS_MAX = 9 };

/* FILE.tar, FOLDER (all *.tar below it, by name), or a range in braces, as WebDataset has it:
 * data/train-{000000..000099}.tar, digits as wide as the first. The caller owns the list of 1 to
 * SHARDS_MAX paths. Hidden ones are added to the strays. INVALID: the range is invalid, or has too
 * many; NOT_FOUND. */
NODISCARD int shards_find(const char *path, struct strays *strays, json_t **ret_paths,
                          struct error *err);
/* Only the range; pure. 0: the path has no braces. */
NODISCARD int shards_expand(const char *path, json_t *paths, struct error *err);
