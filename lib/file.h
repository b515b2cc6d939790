/* file.h: reads whole files, writes files atomically, makes and removes folders. Blocking. Errors
 * name the path. */
#pragma once

#include "lib/error.h"

/* Reads a regular file of at most bytes_max (INVALID: it is larger, or none). *ret_data is
 * NUL-terminated; the caller frees. */
NODISCARD int file_read(const char *path, size_t bytes_max, char **ret_data, size_t *ret_size,
                        struct error *err);
/* The same for a file that is open, from its beginning; name is used in messages. */
NODISCARD int file_read_open(int fd, const char *name, size_t bytes_max, char **ret_data,
                             size_t *ret_size, struct error *err);
/* The same for an open file or pipe, up to its end. */
NODISCARD int file_read_stream(int fd, const char *name, size_t bytes_max, char **ret_data,
                               size_t *ret_size, struct error *err);
/* Writes a temporary file next to `path`, syncs and renames it: readers see the old file or the
 * new one. */
NODISCARD int file_write(const char *path, const void *data, size_t size, struct error *err);
/* Whether there is a folder of that path, itself or at the end of links. */
bool file_is_folder(const char *path);
/* mkdir -p, mode 0777 less umask. */
NODISCARD int file_make_folders(const char *path, struct error *err);
/* rm -rf; does not follow links. A missing path is not an error. */
NODISCARD int file_remove_tree(const char *path, struct error *err);
/* "folder/name" with a single slash between; the caller frees. */
char *file_join(const char *folder, const char *name);
/* The part of path after the last slash; borrowed from path. */
const char *file_basename(const char *path);
