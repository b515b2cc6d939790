// SPDX-License-Identifier: Apache-2.0
#include "agent/data/media.h"

#include "agent/data/files.h"
#include "agent/data/video.h"

static const struct media *const table[] = {&video_media, &files_media};

int media_find(const json_t *spec, const struct media **ret_media, struct error *err) {
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (json_object_get(tree_get(spec, "input"), table[i]->name)) {
            *ret_media = table[i];
            return 0;
        }
    }
    return error_set(err, ERROR_INVALID, "spec.input: one of video, files is expected");
}
