/* captions.h: closed captions (CEA-608 and CEA-708) that are in the pictures themselves, as
 * American broadcasts and discs have them: ATSC A/53 Part 4, user data "GA94" of MPEG-2, H.264,
 * HEVC, AV1. Pictures that are encoded again have none. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether these bytes of an encoded picture hold a caption. Fillers, which many encoders send all
 * the time, do not count. */
bool captions_found(const uint8_t *bytes, size_t size);
