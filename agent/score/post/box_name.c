// SPDX-License-Identifier: Apache-2.0
#include "agent/score/post/box_name.h"

#include <stddef.h>
#include <string.h>

static const char *const name_words[][5] = {
    [BOX_NAME_BOXES] = {"box", "loc", NULL},
    [BOX_NAME_SCORES] = {"score", "conf", "logit", "prob", NULL},
    [BOX_NAME_CLASSES] = {"class", "cls", "label", NULL},
    [BOX_NAME_OBJECTNESS] = {"obj", NULL},
};

bool box_name_says(const char *name, enum box_name what) {
    for (const char *const *word = name_words[what]; *word; word++) {
        if (strcasestr(name, *word)) {
            return true;
        }
    }
    return false;
}
