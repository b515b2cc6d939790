// SPDX-License-Identifier: Apache-2.0
/* What a WebSocket peer may send: parsed, said again, parsed again: the same. */
#include "agent/score/message.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    struct message message, again;
    if (message_parse((const char *)data, size, &message, &err) < 0) {
        if (!err.text[0]) {
            abort(); /* a refusal without a reason */
        }
        return 0;
    }
    char *text = message_format(&message);
    if (message_parse(text, strlen(text), &again, &err) < 0) {
        abort();
    }
    if (again.type != message.type || again.lease != message.lease ||
        again.items != message.items || again.is_error != message.is_error ||
        strcmp(again.name, message.name) != 0) {
        abort();
    }
    free(text);
    message_release(&again);
    message_release(&message);
    return 0;
}
