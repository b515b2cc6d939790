// SPDX-License-Identifier: Apache-2.0
#include "lib/secret.h"

#include <stdlib.h>
#include <string.h>

char *secret_take(const char *name) {
    char *value = getenv(name);
    if (!value || !*value) {
        return NULL;
    }
    char *copy = x_strdup(value);
    explicit_bzero(value, strlen(value));
    unsetenv(name);
    return copy;
}

void secret_forget(char **secret) {
    if (*secret) {
        explicit_bzero(*secret, strlen(*secret));
    }
    free(TAKE(*secret));
}
