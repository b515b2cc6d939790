// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/not_yet.h"

#include "operator/kinds/batchscore/spec.h"

static int refuse(const char *field, const char *instead, struct error *err) {
    return error_set(err, ERROR_INVALID,
                     "spec.%s: is not carried out yet by version " WINDLASS_VERSION "; %s", field,
                     instead);
}

int not_yet_check(const json_t *object, struct error *err) {
    const json_t *spec = json_object_get(object, "spec");
    for (const char *const *field = batchscore_path_fields; *field; field++) {
        if (text_starts(tree_text(spec, *field, ""), "az://")) {
            return refuse(*field, "az:// comes; until then mount the container as a volume", err);
        }
    }
    return 0;
}
