/* presence.h: whether the other container of a pod is still there: each holds a lock on a file of
 * its name, in a folder that both have. The kernel releases a lock with its process, whatever ended
 * that. */
#pragma once

#include "lib/error.h"

enum presence {
    PRESENCE_NOT_YET, /* it has never been there */
    PRESENCE_THERE,
    PRESENCE_GONE,
};

/* Makes FOLDER/NAME, which is locked before it can be seen; *ret_fd holds the lock until it is
 * closed. */
NODISCARD int presence_hold(const char *folder, const char *name, int *ret_fd, struct error *err);
/* THERE, too, when that cannot be found out. */
enum presence presence_of(const char *folder, const char *name);
