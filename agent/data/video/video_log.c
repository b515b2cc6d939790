// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/video_log.h"

#include "agent/data/video/video_libav.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

static _Thread_local char libav_message[256];

static void keep_line(void *context, int level, const char *format, va_list arguments) {
    if (level <= AV_LOG_ERROR) {
        int prefix = 0;
        av.log_format_line2(context, level, format, arguments, libav_message, sizeof libav_message,
                            &prefix);
        libav_message[strcspn(libav_message, "\r\n")] = 0;
    }
}

static void set_callback(void) {
    av.log_set_callback(keep_line);
}

void video_log_quiet(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_callback);
}

void video_log_clear(void) {
    libav_message[0] = 0;
}

const char *video_log_text(void) {
    const char *words = strrchr(libav_message, ']');
    return words ? words + 1 + strspn(words + 1, " ") : libav_message;
}

int video_error(struct error *err, int averror, const char *what) {
    enum error_kind kind = ERROR_INVALID;
    if (averror == AVERROR(ENOSPC) || averror == AVERROR(EDQUOT)) {
        kind = ERROR_EXHAUSTED;
    } else if (averror == AVERROR(EIO)) {
        kind = ERROR_UNAVAILABLE;
    }
    char text[AV_ERROR_MAX_STRING_SIZE] = "";
    av.strerror(averror, text, sizeof text);
    const char *words = video_log_text();
    error_set(err, kind, "%s: %s%s%s%s", what, text, *words ? " (" : "", words, *words ? ")" : "");
    video_log_clear();
    return -1;
}
