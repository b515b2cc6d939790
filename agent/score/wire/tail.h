/* tail.h: the end of what a program said, as people are shown it. PURE. The worker cuts what it
 * sends, the coordinator what it was sent: neither trusts who is before it. */
#pragma once

#include "lib/base.h"

enum { TAIL_BYTES = 1024, TAIL_LINES = 10 };

/* Any bytes -> the last TAIL_LINES lines that are not empty, in at most TAIL_BYTES bytes, the
 * longer ones without their end; with '\n' between them and none at the end. UTF-8: other bytes
 * become '?', control characters spaces. Ends with NUL; *tail is 0 when there is nothing to show.
 */
void tail_format(const char *text, size_t size, char tail[static TAIL_BYTES + 1]);
