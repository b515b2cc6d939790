/* file_info.h: reads the metadata of a file (size, times, inode) that a fingerprint is made of
 * (agent/data/input/fingerprint.h). */
#pragma once

#include "agent/store/store.h"

#include <sys/stat.h>

/* Its size and the time of its last change; the token only says that they are known. */
struct store_info file_info(const struct stat *status);
