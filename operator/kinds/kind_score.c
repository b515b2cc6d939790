// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/kind_score.h"

#include <stdlib.h>

void kind_scored_release(struct kind_scored *made) {
    json_decref(made->object);
    json_decref(made->remarks);
    free(made->summary);
    *made = (struct kind_scored){0};
}
