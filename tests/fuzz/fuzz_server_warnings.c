// SPDX-License-Identifier: Apache-2.0
/* Any value of a Warning header: strings are short, not empty, and passed on once. */
#include "operator/kube/server_warnings.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void tell(void *context, const char *text) {
    int *told = context;
    if (!*text || strlen(text) > SERVER_WARNING_TEXT_MAX) {
        abort();
    }
    ++*told;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct server_warnings warnings = {0};
    AUTO(text_freep) char *value = x_strndup((const char *)data, size);
    int told = 0, again = 0;
    server_warnings_read(&warnings, value, tell, &told);
    server_warnings_read(&warnings, value, tell, &again);
    if (told > SERVER_WARNINGS_OF_ANSWER || again > 0) {
        abort();
    }
    return 0;
}
