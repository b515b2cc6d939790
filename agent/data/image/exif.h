/* exif.h: the EXIF orientation of a JPEG. */
#pragma once

#include "lib/base.h"

/* The orientation (1..8) in a JPEG's APP1 segment; 1 if there is none. Never fails, for any
 * bytes. */
int exif_orientation(const void *jpeg, size_t size);
