/* kind.h: the row of BatchScore. */
#pragma once

#include "operator/kinds/kind.h"

extern const struct kind_row batchscore_row;
