// SPDX-License-Identifier: Apache-2.0
/* A message of a peer of the gang: parsed, written and parsed again it must be the same text. */
#include "agent/launch/gang/gang_message.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    struct gang_message message, again;
    if (gang_message_read((const char *)data, size, &message, &err) < 0) {
        if (err.kind != ERROR_INVALID || !err.text[0]) {
            abort();
        }
        return 0;
    }
    AUTO(text_freep) char *text = gang_message_write(&message);
    if (gang_message_read(text, strlen(text), &again, &err) < 0) {
        abort();
    }
    AUTO(text_freep) char *same = gang_message_write(&again);
    if (strcmp(text, same) != 0) {
        abort();
    }
    gang_message_release(&again);
    gang_message_release(&message);
    return 0;
}
