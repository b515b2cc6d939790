/* npy_input.h: the input kind "npy": the slices along the first axis of the arrays (npy.h) in one
 * file, or in the files below a folder in the order of their names. A line is a mini-batch: a range
 * of one file, with the file's change token: ["x.npy",0,64,"7x17"]; it has miniBatchSize slices
 * (auto: one), and the last of a file may have fewer. An interrupted listing continues after (file,
 * slice).
 *
 * The slices of all arrays must have one type and shape, or the listing fails with INVALID. A
 * reader fails with INVALID if a file has changed since it was listed; the items of a missing file
 * fail. */
#pragma once

#include "agent/data/input/media.h"

extern const struct input_kind npy_input;
extern const struct media npy_media;
