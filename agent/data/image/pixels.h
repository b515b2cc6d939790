/* pixels.h: converts rows of interleaved bytes (RGBRGB…) to planes of floats and back. Pure. Plain
 * loops that the compiler vectorizes, one version for each processor family; the loader chooses the
 * right one (ifunc). */
#pragma once

#include "lib/base.h"

/* planes[c][x] = row[3 * x + c] * scale[c] + shift[c], for x in 0..width-1 */
void pixels_to_planes(const uint8_t *row, int64_t width, const float scale[3], const float shift[3],
                      float *const planes[3]);

/* row[3 * x + c] = planes[c][x] * scale + shift, converted to an integer in 0..255. False if a
 * value is NaN (its byte in the row is then unspecified). */
bool pixels_from_planes(const float *const planes[3], int64_t width, float scale, float shift,
                        uint8_t *row);
