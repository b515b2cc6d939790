/* path.h: `VOLUME/path/in/it` -> files of this machine. A volume's folder is the environment
 * variable named as the volume. Parts ".." are refused, and so are symbolic links that leave the
 * volume or are absolute (openat2 with RESOLVE_BENEATH; where the kernel or a seccomp profile lacks
 * it, realpath and a prefix check, which cannot see a link changed at the same moment and lets an
 * absolute link through that stays inside). Every error begins with the spec's path. */
#pragma once

#include "lib/error.h"

#include <sys/stat.h>

enum { PATH_BYTES_MAX = 4096 };

/* Opens a file or folder for reading, never blocking on a pipe; the descriptor is the caller's. */
NODISCARD int path_open(const char *spec_path, int *ret_fd, struct error *err);

/* path_open of a file, and the folder in which it is after links have been followed (O_PATH), so
 * that its neighbours can be opened: both in the volume, whatever is exchanged meanwhile. */
NODISCARD int path_open_both(const char *spec_path, int *ret_fd, int *ret_folder_fd,
                             struct error *err);

/* The absolute path on this machine, free of links, checked to be in the volume as far as it exists
 * (the last parts may be missing, for outputs). The caller frees. It is for messages, comparisons
 * and users' programs: those who may write to the volume can exchange a part of it for a link, so
 * nothing of ours is opened, made or removed by it (tests/lint/includes.sh). */
NODISCARD int path_resolve(const char *spec_path, char **ret_path, struct error *err);

/* path_resolve of a regular file that is there and can be read, and its status. INVALID: not such a
 * file. */
NODISCARD int path_file(const char *spec_path, char **ret_path, struct stat *ret_status,
                        struct error *err);

/* True: the folder itself has a regular file whose name passes. False: it has none, or cannot be
 * read without waiting. Stops at the first. */
bool path_has_file(const char *spec_path, bool (*passes)(void *context, const char *name),
                   void *context);

/* Opens the folder for reading; it and those above it are made in the volume if they are missing.
 * ret_fd: the caller closes it; ret_path: as of path_resolve, for users' programs; each may be
 * NULL. DENIED: it is not writable. */
NODISCARD int path_make_folder(const char *spec_path, int *ret_fd, char **ret_path,
                               struct error *err);

/* True when `path` is the folder or is in it: path and its parents, as far as they exist, are
 * compared with the folder by device and inode, so that a claim mounted under two names is
 * recognised. Both are absolute paths from path_resolve. */
bool path_is_inside(const char *path, const char *folder);
