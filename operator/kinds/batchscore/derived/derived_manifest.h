/* derived_manifest.h: the manifest of a network and an input (`windlass score`). Pure. */
#pragma once

#include "operator/kinds/kind_score.h"

/* INVALID: something is neither in the network nor given; the message names all the options that
 * say it. */
NODISCARD int derived_manifest(const struct kind_score *job, struct kind_scored *ret_made,
                               struct error *err);
