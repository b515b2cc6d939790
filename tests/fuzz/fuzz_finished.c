// SPDX-License-Identifier: Apache-2.0
/* The record of a finished training: it is refused with a reason, or it is the same record when it
 * is written and read again. */
#include "agent/store/finished.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct finished finished, again;
    struct error err = {0};
    if (finished_read((const char *)data, size, &finished, &err) < 0) {
        if (!err.text[0]) {
            abort();
        }
        return 0;
    }
    AUTO(text_freep) char *text = finished_write(&finished);
    if (finished_read(text, strlen(text), &again, &err) < 0) {
        abort();
    }
    AUTO(text_freep) char *once_more = finished_write(&again);
    if (strcmp(text, once_more) != 0 || finished.count > FINISHED_OBJECTS_MAX) {
        abort();
    }
    return 0;
}
