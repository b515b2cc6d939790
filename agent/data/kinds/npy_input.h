/* npy_input.h: the input kind "npy": the slices along the first axis of the arrays in one file or
 * below a folder (npy.h), by the names of their files. A line is a mini-batch: a range of one file,
 * with the file's change token: ["x.npy",0,64,"7x17"]; it has miniBatchSize slices (auto: one), the
 * last of a file maybe fewer. A broken listing goes on behind (file, slice).
 *
 * All arrays have slices of one type and shape, or the listing is INVALID. A file that has changed
 * since it was listed is INVALID for a reader; one that is gone fails its items. */
#pragma once

#include "agent/data/input/media.h"

extern const struct input_kind npy_input;
extern const struct media npy_media;
