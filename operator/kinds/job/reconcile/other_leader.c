// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/other_leader.h"

#include <string.h>

enum {
    HOLD_MS = 2000,
    DOUBLINGS_MAX = 5,
    OTHERS_MAX = 10, /* records of others, each of which is given its own time */
};

static bool is_own(const struct other_leader *other, const char *digest) {
    for (size_t i = 0; i < ARRAY_LEN(other->made); i++) {
        if (strcmp(other->made[i], digest) == 0) {
            return true;
        }
    }
    return false;
}

void other_leader_note_own(struct other_leader *other,
                           const char digest[static SPEC_SNAPSHOT_DIGEST]) {
    other->is_left = false;
    if (!is_own(other, digest)) {
        memmove(other->made + 1, other->made, sizeof other->made - sizeof other->made[0]);
        memcpy(other->made[0], digest, sizeof other->made[0]);
    }
}

static void forget_seen(struct other_leader *other) {
    other->seen[0] = 0;
    other->is_left = false;
}

void other_leader_note_begun(struct other_leader *other) {
    forget_seen(other);
    other->count = 0;
}

int64_t other_leader_hold_ms(struct other_leader *other, const json_t *service, int64_t now_ms) {
    char digest[SPEC_SNAPSHOT_DIGEST];
    if (!service || !spec_snapshot_digest_of(service, digest) || is_own(other, digest)) {
        forget_seen(other);
        return 0;
    }
    if (!other->is_left || strcmp(other->seen, digest) != 0) {
        other->count += strcmp(other->seen, digest) != 0;
        memcpy(other->seen, digest, sizeof digest);
        if (!other->is_left || other->count <= OTHERS_MAX) {
            other->seen_ms = now_ms;
        }
        other->is_left = true;
    }
    int64_t hold_ms = (int64_t)HOLD_MS << MIN(other->count - 1, DOUBLINGS_MAX);
    return MAX(other->seen_ms + hold_ms - now_ms, 0);
}
