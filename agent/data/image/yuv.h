/* yuv.h: converts 8-bit 4:2:0 and 4:4:4 frames to RGB, and RGB to 4:2:0. Nearly every video needs
 * these conversions, twice per frame; video_color.h leaves all other formats to libswscale. Chroma
 * of 4:2:0 is interpolated at its position (left of the pixel pair, between the lines: H.264 annex
 * E, chroma_sample_loc_type 0). Pure; plain loops that the compiler vectorizes, one version for
 * each processor family. */
#pragma once

#include "lib/base.h"

/* The matrix: luma = kr * R + kg * G + kb * B, kr + kg + kb = 1 (ITU-T H.273, table 4). */
struct yuv_matrix {
    double kr, kb;
    bool is_full; /* bytes 0..255; else luma 16..235 and chroma 16..240 */
};

struct yuv_planes {
    int width, height; /* of luma */
    bool is_444; /* chroma has the size of luma; else 4:2:0, half of width and height, rounded up */
    uint8_t *planes[3];
    int strides[3]; /* bytes */
};

/* rgb: room for [height, width, 3] bytes, packed. */
void yuv_to_rgb(const struct yuv_planes *yuv, const struct yuv_matrix *matrix, uint8_t *rgb);
/* u[i], v[i] = uv[2 i], uv[2 i + 1]: splits a line of NV12's chroma. */
void yuv_split(const uint8_t *uv, int pairs, uint8_t *u, uint8_t *v);
/* The other direction: fills the planes of yuv, which must be 4:2:0 with even width and height. */
void yuv_from_rgb(const uint8_t *rgb, const struct yuv_matrix *matrix,
                  const struct yuv_planes *yuv);
