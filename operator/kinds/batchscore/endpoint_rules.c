// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/endpoint_rules.h"

#include "operator/kinds/batchscore/spec.h"

#include <string.h>

#define FIELD "scorer.endpoint"

static bool has(const json_t *spec, const char *field) {
    return tree_get(spec, field) != NULL;
}

/* Lines of a batch file are requests as they are. */
static int check_input(const json_t *spec, struct error *err) {
    if (!has(spec, "input.files") && !has(spec, "input.table")) {
        return job_refuse(err, FIELD, "scores files and tables; for video and npy use scorer.onnx");
    }
    bool is_lines = strcmp(tree_text(spec, "input.table.format", ""), "JSONLines") == 0;
    return is_lines || has(spec, FIELD ".request")
               ? 0
               : job_refuse(
                     err, FIELD ".request",
                     "is needed, unless each row is a whole request: a line of a batch file, "
                     "with input.table.format: JSONLines");
}

int endpoint_rules_check(const json_t *spec, struct error *err) {
    static const char *const places[] = {"url", "urls"};
    if (!job_only_one(tree_get(spec, FIELD), places, ARRAY_LEN(places))) {
        return job_refuse(err, FIELD, "exactly one of url and urls must be given");
    }
    return check_input(spec, err);
}
