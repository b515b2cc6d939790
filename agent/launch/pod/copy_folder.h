/* copy_folder.h: one folder begins as a copy of another: a trial of a population continues from the
 * files of a better one (`windlass-agent begin`). Blocking. */
#pragma once

#include "lib/error.h"

/* Copies what is in folder `from` into folder `to`, which exists. Files, folders and links (which
 * are not followed) are copied; result.json, what begins with ".windlass", sockets and pipes are
 * not.
 *
 * Once: a file TO/.windlass-begun, made last, says that it is complete, and then nothing is done. A
 * copy that was cut off is made anew. Nothing else may write to `to` before; files of the same name
 * are replaced. Errors name the path; NOT_FOUND: no such `from`. */
NODISCARD int copy_folder_once(const char *from, const char *to, struct error *err);
