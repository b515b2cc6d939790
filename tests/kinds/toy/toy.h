/* toy.h: the kind Toy. */
#pragma once

#include "operator/kinds/kind.h"

extern const struct kind_row toy_row;
