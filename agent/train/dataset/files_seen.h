/* files_seen.h: which files the samples of a dataset come from, for its kinds: the files of a path,
 * and dataset.state, by which a change of them is found. */
#pragma once

#include "agent/train/dataset/dataset.h"

/* `state` with this file added. */
uint32_t dataset_add_state(uint32_t state, const struct store *store,
                           const struct store_info *info);
/* Adds a file to the dataset's state, if options.sees_files. */
void dataset_see(struct dataset *dataset, const struct dataset_options *options,
                 const struct store *store, const struct store_info *info);
/* The file that a path names, or all files of that folder that match the pattern, sorted by name; a
 * list of 1 to DATASET_SHARDS_MAX strings, owned by the caller. Hidden ones are added to the
 * strays. */
NODISCARD int dataset_files(const char *path, const char *pattern, struct strays *strays,
                            json_t **ret_files, struct error *err);
