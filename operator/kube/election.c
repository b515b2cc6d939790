// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/election.h"

#include "lib/time/clock.h"

#include <stdlib.h>
#include <string.h>

void election_init(struct election *election, const char *identity) {
    *election = (struct election){
        .identity = identity, .acted_ms = INT64_MIN / 2, .poll_ms = ELECTION_POLL_MS};
}

void election_release(struct election *election) {
    tree_freep(&election->seen);
}

static bool is_ours(const struct election *election) {
    return strcmp(tree_text(election->seen, "spec.holderIdentity", ""), election->identity) == 0;
}

/* When the Lease that was seen is over, if it is not renewed. */
static int64_t end_of_lease(const struct election *election) {
    int64_t lease_s = tree_integer(election->seen, "spec.leaseDurationSeconds", ELECTION_LEASE_S);
    int64_t lease_ms = MIN(MAX(lease_s, 1), 3600) * 1000;
    return election->changed_ms + lease_ms;
}

static bool is_free(const struct election *election, int64_t now_ms) {
    const char *holder = tree_text(election->seen, "spec.holderIdentity", "");
    return !*holder || is_ours(election) || now_ms >= end_of_lease(election);
}

static enum election_act next_of_leader(struct election *election, int64_t now_ms,
                                        int64_t *ret_due_ms) {
    int64_t give_up_ms = election->renewed_ms + ELECTION_GIVE_UP_MS;
    if (now_ms >= give_up_ms || (election->is_known && !is_ours(election))) {
        election->is_held = false;
        election->is_lost = true;
        return ELECTION_STEP_DOWN;
    }
    if (!election->is_known) { /* a renewal failed: read the current state */
        *ret_due_ms = MIN(election->acted_ms + ELECTION_AGAIN_MS, give_up_ms);
        return now_ms < *ret_due_ms ? ELECTION_WAIT : ELECTION_READ;
    }
    bool is_late = election->acted_ms > election->renewed_ms; /* read again, but not renewed */
    *ret_due_ms = MIN(election->acted_ms + ELECTION_RENEW_MS, give_up_ms);
    return now_ms < *ret_due_ms && !is_late ? ELECTION_WAIT : ELECTION_UPDATE;
}

enum election_act election_next(struct election *election, int64_t now_ms, int64_t *ret_due_ms) {
    if (election->is_lost) {
        *ret_due_ms = INT64_MAX;
        return ELECTION_WAIT;
    }
    if (election->is_held) {
        return next_of_leader(election, now_ms, ret_due_ms);
    }
    if (election->is_known && (!election->seen || is_free(election, now_ms))) {
        return election->seen ? ELECTION_UPDATE : ELECTION_CREATE;
    }
    *ret_due_ms = election->acted_ms + election->poll_ms;
    if (now_ms >= *ret_due_ms) {
        election->poll_ms = ELECTION_POLL_MS + arc4random_uniform(ELECTION_POLL_MS / 5);
        return ELECTION_READ;
    }
    if (election->is_known) {
        *ret_due_ms = MIN(*ret_due_ms, end_of_lease(election));
    }
    return ELECTION_WAIT;
}

static void set_time(json_t *spec, const char *field, int64_t wall_ms) {
    char text[21];
    clock_format(wall_ms, text);
    json_object_set_new(spec, field, json_sprintf("%.19s.%03d000Z", text, (int)(wall_ms % 1000)));
}

json_t *election_claim(const struct election *election, const char *namespace, const char *name,
                       bool is_leaving, int64_t wall_ms) {
    json_t *lease = election->seen ? json_deep_copy(election->seen)
                                   : json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion",
                                               "coordination.k8s.io/v1", "kind", "Lease",
                                               "metadata", "namespace", namespace, "name", name);
    json_t *spec = json_object_get(lease, "spec");
    if (!json_is_object(spec)) {
        spec = json_object();
        json_object_set_new(lease, "spec", spec);
    }
    if (!election->is_held) {
        int64_t transitions = tree_integer(spec, "leaseTransitions", -1) + 1;
        json_object_set_new(spec, "leaseTransitions", json_integer(transitions));
        set_time(spec, "acquireTime", wall_ms);
    }
    set_time(spec, "renewTime", wall_ms);
    json_object_set_new(spec, "holderIdentity", json_string(is_leaving ? "" : election->identity));
    json_object_set_new(spec, "leaseDurationSeconds",
                        json_integer(is_leaving ? 1 : ELECTION_LEASE_S));
    return lease;
}

static void set_seen(struct election *election, const json_t *lease) {
    json_t *copy = lease ? json_incref((json_t *)lease) : NULL;
    tree_freep(&election->seen);
    election->seen = copy;
    election->is_known = true;
}

void election_read(struct election *election, const json_t *lease, int64_t now_ms) {
    bool is_same =
        lease && election->seen &&
        json_equal(json_object_get(lease, "spec"), json_object_get(election->seen, "spec"));
    if (!is_same) {
        election->changed_ms = now_ms;
    }
    set_seen(election, lease);
}

void election_stored(struct election *election, const json_t *lease) {
    bool was_held = election->is_held;
    set_seen(election, lease);
    election->is_held = is_ours(election);
    /* A claim that was not stored as such is made again after the next read, and not at once. */
    election->is_known = election->is_held || was_held;
    /* A webhook changed it, or a proxy answered. No renewal would end such a leadership. */
    election->is_lost |= was_held && !election->is_held;
    /* The others count from the write, which was after the request and before its answer. */
    election->changed_ms = election->renewed_ms = election->acted_ms;
}

void election_failed(struct election *election) {
    election->is_known = false;
}
