/* video_libav.h: FFmpeg's libraries, which are opened when a film is read or made: with all that
 * they need they are more than a hundred, and most processes use none
 * (lib/library/shared_library.h). av_packet_alloc is called as av.packet_alloc, sws_scale as
 * sws.scale. No other file includes FFmpeg's headers. */
#pragma once

#include "agent/data/video/video_libav_calls.h"
#include "lib/error.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/audio_fifo.h>
#include <libavutil/display.h>
#include <libavutil/hwcontext.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>

/* Opens the libraries of the versions that this was compiled with, once for all; any thread. Before
 * any other call: by those that open or make a film; and by a process that confines itself
 * (agent/data/decoder) before it does. UNSUPPORTED names what is missing. */
NODISCARD int video_libav_open(struct error *err);

/* Pointers with the types of FFmpeg's own headers. */
#define LIBAV_MEMBER(prefix, name) __typeof__(&prefix##_##name) name;
extern struct video_av { AV_CALLS(LIBAV_MEMBER) } av;
extern struct video_avcodec { AVCODEC_CALLS(LIBAV_MEMBER) } avcodec;
extern struct video_avformat { AVFORMAT_CALLS(LIBAV_MEMBER) } avformat;
extern struct video_avio { AVIO_CALLS(LIBAV_MEMBER) } avio;
extern struct video_avsubtitle { AVSUBTITLE_CALLS(LIBAV_MEMBER) } avsubtitle;
extern struct video_swr { SWR_CALLS(LIBAV_MEMBER) } swr;
extern struct video_sws { SWS_CALLS(LIBAV_MEMBER) } sws;
