/* files_input.h: the input kind "files": a line is a file's path below the folder, as a JSON string
 * ("2019/a.jpg").
 *
 * spec.input.files.pattern: pattern.h; `*.jpg` at any depth, or `2019/[ab]*.png`. Names that begin
 * with a dot are skipped, and so are links to folders, links that leave the volume, names that are
 * not UTF-8, and the output's folder if it is inside the input's.
 *
 * order: Name (default): the bytes of the path; a broken listing goes on behind the last name.
 * Modified: by time, then by path; asks the storage about every file; a file that is changed just
 * while a listing breaks may come twice. manifest: a text file with one path below the folder a
 * line, in its order; nothing is left out, nothing is looked for, no pattern counts.
 *
 * For the scorer onnx an item is a PICTURE, for command a PATH. A file that is gone or cannot be
 * decoded is an item that has failed. */
#pragma once

#include "agent/data/input/input.h"

extern const struct input_kind files_input;
