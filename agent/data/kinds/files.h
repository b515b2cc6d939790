/* files.h: the input kind "files": images in a folder of a volume and its subfolders
 * (files_input.h: which of them). A result has its input's path below the output and its format
 * (JPEG of quality 92, PNG of 8 bits); a record or a program's JSON has ".json" added to it. */
#pragma once

#include "agent/data/input/media.h"

extern const struct media files_media;
