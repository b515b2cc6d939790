/* temporary_file.h: a file that is gone when it is closed, whatever ends the process. */
#pragma once

#include "lib/error.h"

#include <stdio.h>

/* An empty one for reading and writing, without a name, in $TMPDIR, else in /tmp; the caller
 * closes. NULL: the error names the folder. */
FILE *temporary_file_open(struct error *err);
