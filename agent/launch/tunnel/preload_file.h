/* preload_file.h: the library of preload.c, which is part of this program. */
#pragma once

#include "lib/error.h"

#define PRELOAD_FILE_NAME "windlass-preload.so"

/* Writes the library to folder/PRELOAD_FILE_NAME. UNSUPPORTED: builds with sanitizers have none,
 * because sanitizers have to be loaded first. */
NODISCARD int preload_file_write(const char *folder, struct error *err);
