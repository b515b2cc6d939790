/* lz_block.h: unpacks blocks of Snappy (format_description.txt of Google's snappy) and LZ4
 * (lz4_Block_format.md). Both are literals and copies of what is before. Of our own: Snappy's
 * library is C++, which the static windlass-shim does without. Pure. */
#pragma once

#include "lib/base.h"

/* Exactly size_out bytes must come out. False: damaged. */
bool lz_block_snappy(const uint8_t *in, size_t size_in, uint8_t *out, size_t size_out);
bool lz_block_lz4(const uint8_t *in, size_t size_in, uint8_t *out, size_t size_out);
