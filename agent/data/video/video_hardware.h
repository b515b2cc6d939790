/* video_hardware.h: NVIDIA's video decoder (NVDEC), by way of libav's hwaccel "cuda", which finds
 * the driver at run time (libcuda.so.1, libnvcuvid.so.1): nothing of NVIDIA's is needed to build.
 * Used by workers that have GPUs (hardware.h); the processor decodes everything else. Its frames
 * are the processor's to the bit: H.264, HEVC, VP9 and AV1 say what a decoder makes. */
#pragma once

#include "lib/error.h"

#include <libavcodec/avcodec.h>

/* *ret_device: for any number of decoders; av_buffer_unref. UNAVAILABLE: there is none. */
NODISCARD int video_hardware_open(AVBufferRef **ret_device, struct error *err);
/* Before avcodec_open2. False: it has no decoder for this codec, and nothing was changed. A stream
 * of a kind that it does not know (a profile, a size) is the processor's by itself. */
bool video_hardware_attach(AVBufferRef *device, AVCodecContext *decoder);
/* Copies a frame on the GPU to memory, of yuv420p where it has 8 bits in 4:2:0; any other frame
 * stays as it is. */
NODISCARD int video_hardware_fetch(AVFrame *frame, struct error *err);
