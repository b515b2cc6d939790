// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/not_yet.h"

#include "operator/kinds/batchscore/spec.h"

#include <string.h>

/* works: the value with which the field may stand there; NULL: none. */
static const struct {
    const char *field, *works, *instead;
} fields[] = {
    {"trigger", NULL, "take it out"},
    {"schedule", NULL, "take it out, and let a CronJob apply the manifest"},
    {"rerun", "Never", "take it out"},
};

static bool is_as(const json_t *value, const char *works) {
    const char *text = json_string_value(value);
    return works && text && strcmp(text, works) == 0;
}

static int refuse(const char *field, const char *instead, struct error *err) {
    return error_set(err, ERROR_INVALID,
                     "spec.%s: is not carried out yet by version " WINDLASS_VERSION "; %s", field,
                     instead);
}

int not_yet_check(const json_t *object, struct error *err) {
    const json_t *spec = json_object_get(object, "spec");
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const json_t *value = tree_get(spec, fields[i].field);
        if (value && !is_as(value, fields[i].works)) {
            return refuse(fields[i].field, fields[i].instead, err);
        }
    }
    for (const char *const *field = batchscore_path_fields; *field; field++) {
        if (text_starts(tree_text(spec, *field, ""), "az://")) {
            return refuse(*field, "az:// comes; until then mount the container as a volume", err);
        }
    }
    return 0;
}
