/* box_name.h: what the names of a detector's outputs say. Pure. */
#pragma once

#include <stdbool.h>

/* What an output holds. */
enum box_name { BOX_NAME_BOXES, BOX_NAME_SCORES, BOX_NAME_CLASSES, BOX_NAME_OBJECTNESS };
bool box_name_says(const char *name, enum box_name what);
