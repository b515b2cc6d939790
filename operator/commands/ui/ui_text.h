/* ui_text.h: text from outside in the answers of `windlass ui`, as lib/text/shown.h makes it, and
 * never longer than asked. Pure. */
#pragma once

#include "lib/tree.h"

enum { UI_TEXT_NAME = 253, UI_TEXT_LINE = 400, UI_TEXT_MESSAGE = 2000 };

/* A JSON text of at most bytes_max bytes (a longer one ends with "…"); owned. NULL: "". */
json_t *ui_text(const char *text, size_t bytes_max);
/* The same of `size` bytes, which may hold anything; owned by the caller. */
char *ui_text_of(const char *bytes, size_t size, size_t bytes_max);
/* Members of `status` or another tree, as ui_text; a missing one is "". Owned. */
json_t *ui_text_at(const json_t *tree, const char *path, size_t bytes_max);
