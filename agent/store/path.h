/* path.h: `VOLUME/path/in/it` -> files of this machine. A volume's folder is the environment
 * variable named as the volume. Parts ".." are refused, and so are symbolic links that leave the
 * volume (openat2 with RESOLVE_BENEATH; where the kernel lacks it, realpath and a prefix check). */
#pragma once

#include "lib/error.h"

/* Opens for reading; the descriptor is the caller's. NOT_FOUND and DENIED name the spec's path. */
NODISCARD int path_open(const char *spec_path, int *ret_fd, struct error *err);

/* The absolute path on this machine, checked to lie in the volume as far as it exists (the last
 * parts may be missing, for outputs). The caller frees. */
NODISCARD int path_resolve(const char *spec_path, char **ret_path, struct error *err);
