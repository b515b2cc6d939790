/* jpeg_outline.h: what a JPEG's markers say, without a look into its data: enough to tell the files
 * that a GPU's decoder is given from those that are the processor's from the start. Source: ITU-T
 * T.81, annex B; which colours three components are: as libjpeg takes them. */
#pragma once

#include "lib/base.h"

struct jpeg_outline {
    int width, height; /* pixels, as they are stored: before any EXIF orientation */
    int components;    /* 1: grey, 3: Y, Cb and Cr */
    bool is_subsampled;
};

/* True: one whole picture, sequential or progressive, of 8 bits, grey or YCbCr, in Huffman's coding
 * and up to its end marker. False: any other, or broken; *ret is untouched. Total. */
bool jpeg_outline_read(const void *jpeg, size_t size, struct jpeg_outline *ret);
