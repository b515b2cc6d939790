// SPDX-License-Identifier: Apache-2.0
/* A summary.json in the output folder, which any process with access may have written. */
#include "agent/score/coordinator/summary.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct job job = {.name = "j", .uid = "u-1", .run = "0123456789abcdef", .output = "out/x"};
    int code = -1;
    json_t *words = summary_message(&job, false, (const char *)data, size, &code);
    if (words && (code < 0 || code > 1 || !json_is_string(json_object_get(words, "state")) ||
                  !json_is_array(json_object_get(words, "outputs")))) {
        abort();
    }
    json_decref(words);
    return 0;
}
