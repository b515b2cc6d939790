/* picture_name.h: whether a file is a picture that Windlass reads, by the ending of its name: .jpg,
 * .jpeg or .png, in any case (file_type.c has the table). What its bytes are is
 * agent/data/image/image.h. Pure. */
#pragma once

#include <stdbool.h>

/* "a/b.JPG"; not ".jpg" and "a/.jpg", hidden files. */
bool picture_name_is_known(const char *name);
/* An ending without its dot: "jpg". */
bool picture_name_is_ending(const char *ending);
