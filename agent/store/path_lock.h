/* path_lock.h: a lock on a folder of a volume that a process holds until it ends, however it ends.
 * A courtesy: it tells the second of two equal jobs early and in plain words. What is exclusive is
 * decided by STORE_CREATE alone, which works where locks do not. */
#pragma once

#include "lib/error.h"

/* Locks FOLDER/lock; the folder is made. holder: who we are, left in that file for others. *ret_fd:
 * the lock, for as long as it is open; -1 where this file system knows no locks, or where the lock
 * is another process's of the same holder, which is no longer wanted. BUSY: another holder has it
 * and keeps it for 2 s. */
NODISCARD int path_lock(const char *folder, const char *holder, int *ret_fd, struct error *err);
