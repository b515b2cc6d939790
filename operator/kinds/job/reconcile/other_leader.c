// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/other_leader.h"

#include <string.h>

enum {
    HOLD_MS = 2000,
    DOUBLINGS_MAX = 5,
};

void other_leader_note_own(struct other_leader *other,
                           const char digest[static SPEC_SNAPSHOT_DIGEST]) {
    memcpy(other->made, digest, SPEC_SNAPSHOT_DIGEST);
}

int64_t other_leader_hold_ms(struct other_leader *other, const json_t *service, int64_t now_ms) {
    char digest[SPEC_SNAPSHOT_DIGEST];
    if (!service || !spec_snapshot_digest_of(service, digest) || strcmp(other->made, digest) == 0) {
        other->seen[0] = 0;
        return 0;
    }
    if (strcmp(other->seen, digest) != 0) {
        memcpy(other->seen, digest, sizeof digest);
        other->seen_ms = now_ms;
        other->count++;
    }
    int64_t hold_ms = (int64_t)HOLD_MS << MIN(other->count - 1, DOUBLINGS_MAX);
    return MAX(other->seen_ms + hold_ms - now_ms, 0);
}
