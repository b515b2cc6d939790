/* run_state.h: the folder of a `windlass run`: logs, emptyDir and temporary files. */
#pragma once

#include "lib/error.h"

/* asked: the DIR of --state, which is created if it does not exist; NULL: a new folder
 * ~/.local/state/windlass/NAME-TIME. name: of the job. *ret_folder: an absolute path; the caller
 * frees it. Fails if the folder cannot be made. */
NODISCARD int run_state_make(const char *asked, const char *name, char **ret_folder,
                             struct error *err);
