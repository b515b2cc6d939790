// SPDX-License-Identifier: Apache-2.0
#include "agent/score/post/post_kind.h"

#include <string.h>

const struct post_kind *const post_kinds[] = {&post_image, &post_classes,   &post_values,
                                              &post_raw,   &post_embedding, &post_boxes,
                                              &post_mask,  &post_text,      NULL};

const struct post_kind *post_kind_find(const char *name) {
    for (const struct post_kind *const *row = post_kinds; *row; row++) {
        if (strcmp((*row)->name, name) == 0) {
            return *row;
        }
    }
    return NULL;
}
