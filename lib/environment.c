// SPDX-License-Identifier: Apache-2.0
#include "lib/environment.h"

#include <stdlib.h>
#include <string.h>

int environment_missing(const char *name, struct error *err) {
    return error_set(err, ERROR_INVALID,
                     "the environment variable %s is missing: this command is started by windlass",
                     name);
}

int environment_read(const char *name, const char **ret_value, struct error *err) {
    const char *value = getenv(name);
    if (!value || !*value) {
        return environment_missing(name, err);
    }
    *ret_value = value;
    return 0;
}
