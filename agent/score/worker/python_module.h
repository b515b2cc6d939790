/* python_module.h: windlass.py, which a user's program in Python imports (docs/scorers.md). It
 * comes with our programs: in the folder python/ beside them, or ../share/windlass/python/. */
#pragma once

#include "lib/error.h"

#define PYTHON_MODULE_FOLDER "python"
#define PYTHON_MODULE_NAME "windlass.py"

/* The folder that has it; NULL: none has. The caller frees. */
char *python_module_find(void);
