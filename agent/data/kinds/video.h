/* video.h: the input kind "video": items are the frames of one file. */
#pragma once

#include "agent/data/input/media.h"

extern const struct media video_media;
