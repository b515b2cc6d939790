/* unix_path.h: unix sockets at a path of any length. */
#pragma once

#include "lib/error.h"

#include <sys/un.h>

/* The kernel accepts paths of at most 107 bytes, and `windlass run` keeps pods below folders of the
 * user, which may be deeper. For a longer path the folder is opened, and the address goes through
 * /proc/self/fd: *ret_folder must stay open until the address was used; the caller closes it. It is
 * untouched if the path is short. INVALID: the file name alone is too long. */
NODISCARD int unix_path_address(const char *path, struct sockaddr_un *ret_address, int *ret_folder,
                                struct error *err);

/* A new socket of this type (SOCK_STREAM) at the path, which only this user may use; what is there
 * is removed. It does not block. Returns its descriptor, or -1. */
NODISCARD int unix_path_bind(const char *path, int type, struct error *err);
