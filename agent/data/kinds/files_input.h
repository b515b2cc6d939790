/* files_input.h: the input kind "files": a line is a file's path below the folder, as a JSON string
 * ("2019/a.jpg").
 *
 * spec.input.files.pattern: name_pattern.h; `*.jpg` at any depth, or `2019/[ab]*.png`. Names that
 * begin with a dot are skipped, and so are links to folders, and the output's folder if it is
 * inside the input's. An item that cannot be scored is a line with its name and the cause, {"name":
 * "caf\\xe9.jpg", "fault": "..."}, and its reader returns it as a failed item: a name that is not
 * UTF-8, a link that leaves the volume or is broken, an output that cannot have its name
 * (output_name.h).
 *
 * order: Name (default): by the bytes of the path; an interrupted listing continues after the last
 * name. Modified: by time, then by path; queries the storage for every file; a file that changes
 * while a listing is interrupted may be listed twice. manifest: a text file with one path below the
 * folder per line; its order is kept, all its lines are items, and the pattern is ignored.
 *
 * For the scorer onnx an item is a PICTURE, for command a PATH. A file that no longer exists or
 * cannot be decoded is a failed item. */
#pragma once

#include "agent/data/input/input.h"

extern const struct input_kind files_input;
