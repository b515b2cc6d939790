/* kind.h: the row of DistTrain. */
#pragma once

#include "operator/kinds/kind.h"

extern const struct kind_row disttrain_row;
