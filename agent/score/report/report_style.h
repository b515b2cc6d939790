/* report_style.h: the style sheet of report.html, in pieces that page_add takes: one column on a
 * phone, two on wider screens, light or dark by the reader's settings, light in print. */
#pragma once

#include <stddef.h>

extern const char *const report_style[]; /* ends with a NULL */
