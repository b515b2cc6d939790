/* jpeg_outline.h: what a JPEG's markers say, without decoding its data: enough to decide whether a
 * GPU's decoder or the processor gets the file. Source: ITU-T T.81, annex B; the colours of three
 * components are determined as in libjpeg. */
#pragma once

#include "lib/base.h"

struct jpeg_outline {
    int width, height; /* pixels, as they are stored: before any EXIF orientation */
    int components;    /* 1: grey, 3: Y, Cb and Cr */
    bool is_subsampled;
};

/* True: one whole picture up to its end marker, sequential or progressive, 8 bits, grey or YCbCr,
 * Huffman-coded. False: anything else, or broken; *ret is untouched. Never fails, for any bytes. */
bool jpeg_outline_read(const void *jpeg, size_t size, struct jpeg_outline *ret);
