/* files.h: the input kind "files": items are the pictures below a folder of a volume.
 *
 * spec.input.files.pattern: `*`, `?` and `[a-z]` as in a shell. Without a slash it is held against
 * the last part of the name, at any depth (`*.jpg`); with one against the whole path below the
 * folder, where `*` does not cross a slash (`2019/[ab]*.png`). Names that begin with a dot are
 * skipped, and so are links to folders, links that leave the volume, names that are no UTF-8, and
 * the output's folder where it lies inside the input's. Sorted by the bytes of the path. A result
 * has its input's path below the output and its format (JPEG of quality 92, PNG of 8 bits); a
 * record has ".json" added to it. */
#pragma once

#include "agent/data/media.h"

extern const struct media files_media;
