// SPDX-License-Identifier: Apache-2.0
/* Any strings as message and values: the line is one JSON object that ends with the only line
 * break, also when it is cut. The first byte chooses the room. */
#include "lib/text/log_json.h"

#include "lib/tree.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) {
        return 0;
    }
    size_t room = LOG_JSON_ROOM_MIN + data[0] * 8U;
    char *line = x_malloc(room), name[16]; /* on the heap: ASan sees a byte too far */
    struct log_json json;
    log_json_begin(&json, line, room);
    const char *at = (const char *)data + 1, *end = (const char *)data + size;
    for (int i = 0; at < end; i++) {
        AUTO(text_freep) char *value = x_strndup(at, (size_t)(end - at));
        snprintf(name, sizeof name, "m%d", i);
        log_json_add(&json, name, value, i % 2 ? 64 : 0);
        at += strlen(value) + 1;
    }
    size_t used = log_json_end(&json);
    AUTO(tree_freep) json_t *tree = json_loadb(line, used, JSON_REJECT_DUPLICATES, NULL);
    if (used > room || !json_is_object(tree) || memchr(line, '\n', used) != line + used - 1) {
        abort();
    }
    free(line);
    return 0;
}
