// SPDX-License-Identifier: Apache-2.0
/* A record that all ranks have ended, from a folder that users' programs write: as it is, and with
 * the code that the job's token would give it. What is read is written again as the same. */
#include "agent/launch/proof/ended.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct ended_place place = {.run = "r", .uid = "u", .token = "t", .attempt = 3};

static void read_text(const char *text, size_t size) {
    struct error err = {0};
    AUTO(ended_freep) struct ended *ended = NULL, *again = NULL;
    if (ended_read(&place, 2, text, size, &ended, &err) < 0) {
        if (!err.text[0] || ended) {
            abort();
        }
        return;
    }
    AUTO(text_freep) char *once_more = ended_write(&place, 2, ended);
    if (ended_read(&place, 2, once_more, strlen(once_more), &again, &err) < 0 || !again != !ended ||
        (ended && !json_equal(ended->end, again->end))) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    struct ended ended = {.attempt = 2};
    read_text((const char *)data, size);
    if (tree_parse((const char *)data, size, ENDED_BYTES_MAX, &ended.end, &err) == 0) {
        AUTO(text_freep) char *text = ended_write(&place, 2, &ended);
        read_text(text, strlen(text));
        json_decref(ended.end);
    }
    return 0;
}
