/* ui_log_lines.h: the last lines of a pod's log for the page of `windlass ui`. Pure. */
#pragma once

#include "lib/tree.h"

enum {
    UI_LOG_BYTES_MAX = 32 << 10, /* of one pod */
    UI_LOG_PODS_MAX = 16,
    UI_LOG_LINE_MAX = 1000, /* bytes of a line */
};

/* {"pod", "lines": [text]}; owned. is_cut: the bytes begin within a line, which is left out. */
json_t *ui_log_lines(const char *pod, const char *bytes, size_t size, bool is_cut);
