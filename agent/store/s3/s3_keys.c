// SPDX-License-Identifier: Apache-2.0
#include "agent/store/s3/s3_keys.h"

#include "agent/store/cloud/cloud_client.h"
#include "lib/time/clock.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_BYTES_MAX = 16 << 10 };
#define LASTS_MS_MAX ((int64_t)366 * 86400 * 1000)

bool s3_is_word(const char *text) {
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++) {
        if (text[i] <= ' ' || text[i] >= 127) {
            return false;
        }
    }
    return size && size <= WORD_BYTES_MAX;
}

int s3_keep_keys(const struct s3_keys *keys, const char *shown, struct cloud_grant *grant,
                 struct error *err) {
    if (!keys->name || !keys->secret || !s3_is_word(keys->name) || !s3_is_word(keys->secret) ||
        (keys->session && !s3_is_word(keys->session))) {
        return error_set(err, ERROR_UNAVAILABLE, "%s: the answer has no valid keys", shown);
    }
    if (keys->ends) {
        int64_t lasts_ms = cloud_date_ns(keys->ends) / 1000000 - clock_wall_ms();
        if (lasts_ms <= 0) {
            return error_set(err, ERROR_UNAVAILABLE,
                             "%s: the keys have ended already (or this machine's clock is ahead)",
                             shown);
        }
        grant->lasts_ms = MIN(lasts_ms, LASTS_MS_MAX);
    }
    grant->name = x_strdup(keys->name);
    grant->bytes = x_strdup(keys->secret);
    grant->size = strlen(keys->secret);
    grant->session = x_strdup(keys->session);
    return 1;
}
