/* unix_path.h: the address of a unix socket at a path of any length. */
#pragma once

#include "lib/error.h"

#include <sys/un.h>

/* A socket's path has at most 107 bytes; that of a longer one (`windlass run` keeps pods below
 * folders of the user's) goes by its folder, which must be open until the address was used:
 * *ret_folder, the caller's to close; untouched where none is needed. INVALID: the name itself is
 * too long. */
NODISCARD int unix_path_address(const char *path, struct sockaddr_un *ret_address, int *ret_folder,
                                struct error *err);
