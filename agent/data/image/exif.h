/* exif.h: the one thing of EXIF that changes how a JPEG is seen. */
#pragma once

#include "lib/base.h"

/* The orientation (1..8) that a JPEG's APP1 segment asks for; 1 when there is none. Total. */
int exif_orientation(const void *jpeg, size_t size);
