// SPDX-License-Identifier: Apache-2.0
/* The table of kinds. A new kind is a folder, and a row here (docs/adding/kind.md). */
#include "operator/kinds/batchscore/kind.h"
#include "operator/kinds/disttrain/kind.h"
#include "operator/kinds/sweep/kind.h"

const struct kind_row *const kind_rows[] = {
    &batchscore_row,
    &disttrain_row,
    &sweep_row,
    NULL,
};
