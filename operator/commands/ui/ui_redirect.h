/* ui_redirect.h: a file of the user's alone that leads a browser to the page of `windlass ui`. The
 * address itself, with its token, would be an argument of a process, which all users may read. */
#pragma once

#include "lib/error.h"

/* Writes BASE/ui-XXXXXX.html (run_entry.h). The path is owned. */
NODISCARD int ui_redirect_make(const char *url, char **ret_path, struct error *err);
/* Removes the file, and frees the path. NULL is accepted. */
void ui_redirect_remove(char *path);
