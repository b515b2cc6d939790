/* exif.h: the EXIF orientation of a JPEG. */
#pragma once

#include "lib/base.h"

/* The orientation (1..8) that a JPEG's APP1 segment asks for; 1 when there is none. Total. */
int exif_orientation(const void *jpeg, size_t size);
