// SPDX-License-Identifier: Apache-2.0
/* Answers of a scheduled-events address: parsed or refused with a reason, and only events that take
 * machines away are reported. The same bytes as the answers of other clouds, and as a token. */
#include "agent/launch/pod/notice_cloud.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_as_others(const struct notice_answer *answer) {
    char key[NOTICE_KEY_MAX + 1] = "";
    for (size_t i = 0; i < NOTICE_CLOUDS; i++) {
        struct error err = {0};
        struct notice_event event = {.left_ms = -1};
        int found = notice_clouds[i].read(answer, "vm_1", 1474309740000, &event, &err);
        if ((found < 0) != (err.kind != ERROR_NONE) || (found == 1 && event.left_ms < 0)) {
            abort();
        }
    }
    struct error err = {0};
    if (notice_read_key(answer, key, &err) == 0 && (!*key || strpbrk(key, " \r\n:"))) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const types[] = {"Preempt", "Terminate", "Reboot", "Redeploy"};
    struct error err = {0};
    struct notice_event event = {.left_ms = -1};
    int found = notice_read((const char *)data, size, "vm_1", 1474309740000, &event, &err);
    bool is_known = false;
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        is_known = is_known || strcmp(event.type, types[i]) == 0;
    }
    bool is_soon = event.left_ms >= 0 &&
                   (event.left_ms <= NOTICE_AHEAD_MS || strcmp(event.type, "Preempt") == 0);
    if ((found < 0) != (err.kind != ERROR_NONE) || (found == 1 && !(is_known && is_soon))) {
        abort();
    }
    read_as_others(&(struct notice_answer){200, (const char *)data, size});
    AUTO(text_freep) char *text = x_strndup((const char *)data, size);
    if (notice_time(text) < -1) {
        abort();
    }
    return 0;
}
