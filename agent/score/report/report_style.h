/* report_style.h: the style sheet of report.html, in pieces that page_add takes: one column that
 * fits a phone, two where there is room, light or dark as the reader's machine has it, light on
 * paper. */
#pragma once

#include <stddef.h>

extern const char *const report_style[]; /* ends with a NULL */
