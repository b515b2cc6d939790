// SPDX-License-Identifier: Apache-2.0
/* operator/kinds/kinds.c with one more row; the linker takes this table, as it comes first. */
#include "operator/kinds/batchscore/kind.h"
#include "operator/kinds/disttrain/kind.h"
#include "operator/kinds/sweep/kind.h"
#include "tests/kinds/toy/toy.h"

const struct kind_row *const kind_rows[] = {
    &batchscore_row, &disttrain_row, &sweep_row, &toy_row, NULL,
};
