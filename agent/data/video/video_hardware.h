/* video_hardware.h: NVIDIA's video decoder (NVDEC), through libav's hwaccel "cuda", which loads the
 * driver at run time (libcuda.so.1, libnvcuvid.so.1): building needs nothing from NVIDIA. Used by
 * workers that have GPUs (hardware.h); the processor decodes everything else. Its frames equal the
 * processor's bit for bit: H.264, HEVC, VP9 and AV1 define a decoder's output exactly. */
#pragma once

#include "agent/data/video/video_libav.h"
#include "lib/error.h"

/* *ret_device: for any number of decoders; release it with av_buffer_unref. UNAVAILABLE: there is
 * no device. */
NODISCARD int video_hardware_open(AVBufferRef **ret_device, struct error *err);
/* Call it before avcodec_open2. False: the device has no decoder for this codec, and nothing was
 * changed. libav itself falls back to the processor for streams that the device cannot decode
 * (profile, size). */
bool video_hardware_attach(AVBufferRef *device, AVCodecContext *decoder);
/* Copies a frame from the GPU to memory, as yuv420p if it is 8-bit 4:2:0; other frames are left
 * unchanged. */
NODISCARD int video_hardware_fetch(AVFrame *frame, struct error *err);
