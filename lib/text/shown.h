/* shown.h: makes text from outside safe to print: what would act on a
 * terminal, or make a line read differently from what it is, becomes visible. Control characters
 * become "\x1B", those that change the direction of text "\u202E" (Unicode Technical Report 36),
 * bytes that are not UTF-8 "\xFF". Colors (ESC [ ... m), which programs often print, are left out.
 * Tabs stay; a carriage return or line feed becomes a space. Pure. */
#pragma once

#include "lib/base.h"

/* text: `size` bytes, also NULs. The caller frees. */
char *shown_text(const char *text, size_t size);
