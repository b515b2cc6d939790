// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/video_libav.h"

#include "lib/library/shared_library.h"

#include <pthread.h>

/* A library's major version is in its file's name: structs change with it. */
#define SONAME(name, version) "lib" name ".so." AV_STRINGIFY(version)
#define FORMAT SONAME("avformat", LIBAVFORMAT_VERSION_MAJOR)
#define RESAMPLE SONAME("swresample", LIBSWRESAMPLE_VERSION_MAJOR)
#define SCALE SONAME("swscale", LIBSWSCALE_VERSION_MAJOR)
SHARED_LIBRARY_NOTE(format_note, FORMAT, "films");
SHARED_LIBRARY_NOTE(resample_note, RESAMPLE, "films");
SHARED_LIBRARY_NOTE(scale_note, SCALE, "films");

struct video_av av;
struct video_avcodec avcodec;
struct video_avformat avformat;
struct video_avio avio;
struct video_avsubtitle avsubtitle;
struct video_swr swr;
struct video_sws sws;

#define ROW(prefix, name) {#prefix "_" #name, &prefix.name},

/* libavcodec and libavutil are found through libavformat, which needs them itself. */
static const struct shared_library_call format_calls[] = {
    AV_CALLS(ROW) AVCODEC_CALLS(ROW) AVFORMAT_CALLS(ROW) AVIO_CALLS(ROW) AVSUBTITLE_CALLS(ROW)};
static const struct shared_library_call resample_calls[] = {SWR_CALLS(ROW)};
static const struct shared_library_call scale_calls[] = {SWS_CALLS(ROW)};

static struct error failure; /* kind NONE: all are open */

static void open_all(void) {
    if (shared_library_open(FORMAT, format_calls, ARRAY_LEN(format_calls), &failure) < 0 ||
        shared_library_open(RESAMPLE, resample_calls, ARRAY_LEN(resample_calls), &failure) < 0 ||
        shared_library_open(SCALE, scale_calls, ARRAY_LEN(scale_calls), &failure) < 0) {
        error_context(&failure, "videos need FFmpeg, of which a library is missing here");
    }
}

int video_libav_open(struct error *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_all);
    return failure.kind ? error_set(err, failure.kind, "%s", failure.text) : 0;
}
