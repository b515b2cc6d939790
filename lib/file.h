/* file.h: whole-file reading and atomic writing; folders made and removed. Blocking. */
#pragma once

#include "lib/error.h"

/* Reads a whole regular file of at most max_bytes; *ret_data is NUL-terminated, the caller frees.
 */
NODISCARD int file_read(const char *path, size_t max_bytes, char **ret_data, size_t *ret_size,
                        struct error *err);
/* Writes to a temporary name beside `path`, syncs, renames: readers see the old or the new file. */
NODISCARD int file_write(const char *path, const void *data, size_t size, struct error *err);
/* mkdir -p, mode 0777 less umask. */
NODISCARD int file_make_folders(const char *path, struct error *err);
/* rm -rf, never follows links; a missing path is fine. */
NODISCARD int file_remove_tree(const char *path, struct error *err);
/* "folder/name", without a doubled slash; the caller frees. */
char *file_join(const char *folder, const char *name);
/* Points at the part of path after the last slash. */
const char *file_basename(const char *path);
