/* path_lock.h: a lock on a folder of a volume that a process holds until it ends, however it ends.
 * It is advisory: the second of two equal jobs gets a clear error early. Only STORE_CREATE
 * guarantees exclusion; it also works where locks do not. */
#pragma once

#include "lib/error.h"

/* Locks FOLDER/lock; the folder is made. holder: our identity, written into that file for others.
 * *ret_fd: holds the lock while it is open; -1 if this file system does not support locks, or if an
 * obsolete process of the same holder has the lock. BUSY: another holder keeps it for 2 s. */
NODISCARD int path_lock(const char *folder, const char *holder, int *ret_fd, struct error *err);
