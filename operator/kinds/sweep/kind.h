/* kind.h: the row of Sweep. */
#pragma once

#include "operator/kinds/kind.h"

extern const struct kind_row sweep_row;
