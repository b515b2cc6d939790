// SPDX-License-Identifier: Apache-2.0
/* Two electors and one object that both read and write, with a clock that the test sets. */
#include "operator/kube/election.h"

#include "tests/test.h"

static int64_t now_ms;
static json_t *stored; /* the server's */
static int version;

static void reset(void) {
    tree_freep(&stored);
    now_ms = 1000;
    version = 0;
}

static json_t *with_version(json_t *lease_new) {
    json_object_set_new(json_object_get(lease_new, "metadata"), "resourceVersion",
                        json_integer(++version));
    return lease_new;
}

/* Acts as the server. */
static enum election_act act(struct election *election, bool is_reachable) {
    int64_t due_ms = now_ms;
    enum election_act what = election_next(election, now_ms, &due_ms);
    if (what == ELECTION_WAIT) {
        CHECK(due_ms > now_ms);
        return what;
    }
    if (what == ELECTION_STEP_DOWN) {
        return what;
    }
    election->acted_ms = now_ms;
    if (!is_reachable) {
        election_failed(election);
        return what;
    }
    if (what == ELECTION_READ) {
        AUTO(tree_freep) json_t *copy = stored ? json_deep_copy(stored) : NULL;
        election_read(election, copy, now_ms);
        return what;
    }
    AUTO(tree_freep) json_t *claim = election_claim(election, "ns", "lease", false, now_ms);
    bool is_fresh = what == ELECTION_CREATE
                        ? !stored
                        : stored && tree_integer(claim, "metadata.resourceVersion", -1) ==
                                        tree_integer(stored, "metadata.resourceVersion", -2);
    if (!is_fresh) {
        election_failed(election);
        return what;
    }
    tree_freep(&stored);
    stored = with_version(json_deep_copy(claim));
    AUTO(tree_freep) json_t *copy = json_deep_copy(stored);
    election_stored(election, copy);
    return what;
}

static void pass(int64_t ms, struct election *a, bool a_reaches, struct election *b,
                 bool b_reaches) {
    for (int64_t end_ms = now_ms + ms; now_ms < end_ms; now_ms += 100) {
        for (int i = 0; i < 4; i++) {
            if (a) {
                act(a, a_reaches);
            }
            if (b) {
                act(b, b_reaches);
            }
        }
        CHECK(!(a && b && a->is_held && b->is_held)); /* never two */
    }
}

static void test_one_takes_it_and_keeps_it(void) {
    struct election a, b;
    reset();
    election_init(&a, "a");
    election_init(&b, "b");
    pass(60000, &a, true, &b, true);
    CHECK(a.is_held && !b.is_held);
    CHECK_STR(tree_text(stored, "spec.holderIdentity", NULL), "a");
    CHECK_STR(tree_text(stored, "spec.acquireTime", NULL), "1970-01-01T00:00:01.000000Z");
    CHECK_INT(tree_integer(stored, "spec.leaseTransitions", -1), 0);
    CHECK(version >= 29 && version <= 32); /* a renewal every two seconds */
    election_release(&a);
    election_release(&b);
}

/* Two replicas, and three: how often they ask. */
static void test_a_standby_asks_little(void) {
    enum { MINUTES = 10 };
    struct election a, b, c;
    int reads = 0, claims = 0, together = 0;
    reset();
    election_init(&a, "a");
    election_init(&b, "b");
    election_init(&c, "c");
    pass(5000, &a, true, &b, true);
    for (int64_t end_ms = now_ms + MINUTES * 60000; now_ms < end_ms; now_ms += 100) {
        claims += act(&a, true) == ELECTION_UPDATE;
        bool b_reads = act(&b, true) == ELECTION_READ, c_reads = act(&c, true) == ELECTION_READ;
        reads += b_reads;
        together += b_reads && c_reads;
    }
    printf("# a minute: %d by the leader, %d by a standby\n", claims / MINUTES, reads / MINUTES);
    CHECK(a.is_held && claims <= 30 * MINUTES);
    CHECK(reads <= 30 * MINUTES && reads >= 23 * MINUTES);
    CHECK(together < reads); /* they spread */
    election_release(&a);
    election_release(&b);
    election_release(&c);
}

static void test_a_dead_leader_is_replaced_in_time(void) {
    struct election a, b;
    reset();
    election_init(&a, "a");
    election_init(&b, "b");
    pass(5000, &a, true, &b, true);
    CHECK(a.is_held);
    int64_t died_ms = now_ms;
    while (!b.is_held && now_ms < died_ms + 20000) {
        pass(100, NULL, false, &b, true);
    }
    CHECK(now_ms - died_ms <= 12000);
    CHECK(now_ms - died_ms >= 8000);
    CHECK_INT(tree_integer(stored, "spec.leaseTransitions", -1), 1);
    election_release(&a);
    election_release(&b);
}

static void test_a_leader_that_is_cut_off_stops_first(void) {
    struct election a, b;
    reset();
    election_init(&a, "a");
    election_init(&b, "b");
    pass(5000, &a, true, &b, true);
    pass(30000, &a, false, &b, true); /* `pass` checks that never both lead */
    CHECK(a.is_lost && !a.is_held);
    CHECK(b.is_held);
    pass(30000, &a, true, &b, true); /* an elector that lost it never comes back */
    CHECK(a.is_lost && b.is_held);
    election_release(&a);
    election_release(&b);
}

static void test_a_short_cut_is_survived(void) {
    struct election a, b;
    reset();
    election_init(&a, "a");
    election_init(&b, "b");
    pass(5000, &a, true, &b, true);
    for (int i = 0; i < 10; i++) {
        pass(4000, &a, false, &b, true);
        pass(5000, &a, true, &b, true);
    }
    CHECK(a.is_held);
    election_release(&a);
    election_release(&b);
}

static void test_what_was_given_back_is_taken_at_once(void) {
    struct election a, b;
    reset();
    election_init(&a, "a");
    election_init(&b, "b");
    pass(5000, &a, true, &b, true);
    CHECK(a.is_held);
    json_t *left = election_claim(&a, "ns", "lease", true, 99);
    CHECK_STR(tree_text(left, "spec.holderIdentity", NULL), "");
    tree_freep(&stored);
    stored = with_version(left);
    int64_t left_ms = now_ms;
    while (!b.is_held && now_ms < left_ms + 5000) {
        pass(100, NULL, false, &b, true);
    }
    CHECK(now_ms - left_ms <= ELECTION_POLL_MS * 6 / 5 + 200);
    election_release(&a);
    election_release(&b);
}

static void test_a_leader_sees_that_another_took_it(void) {
    struct election a;
    reset();
    election_init(&a, "a");
    pass(3000, &a, true, NULL, false);
    CHECK(a.is_held);
    json_object_set_new(json_object_get(stored, "spec"), "holderIdentity", json_string("thief"));
    stored = with_version(stored);
    pass(4000, &a, true, NULL, false);
    CHECK(a.is_lost);
    CHECK_STR(tree_text(stored, "spec.holderIdentity", NULL), "thief");
    election_release(&a);
}

/* A webhook that changes Leases, or a proxy that answers in the server's place: it no longer counts
 * when the Lease is over, so it must not lead on. */
static void test_a_renewal_that_is_stored_as_anothers(void) {
    static const char *const answers[] = {"{}", "{\"spec\":{\"holderIdentity\":\"thief\"}}"};
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        struct election a;
        reset();
        election_init(&a, "a");
        pass(3000, &a, true, NULL, false);
        CHECK(a.is_held);
        AUTO(tree_freep) json_t *lease = json_loads(answers[i], 0, NULL);
        election_stored(&a, lease);
        CHECK(a.is_lost && !a.is_held);
        election_release(&a);
    }
}

/* Nor may a standby claim as fast as such answers come. */
static void test_a_claim_that_is_stored_as_anothers(void) {
    static const char *const answers[] = {"{}", "{\"spec\":{\"holderIdentity\":\"\"}}",
                                          "{\"spec\":{\"holderIdentity\":\"thief\"}}"};
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        struct election a;
        int64_t due_ms = 0;
        reset();
        election_init(&a, "a");
        CHECK_INT(act(&a, true), ELECTION_READ);
        CHECK_INT(election_next(&a, now_ms, &due_ms), ELECTION_CREATE);
        a.acted_ms = now_ms;
        AUTO(tree_freep) json_t *lease = json_loads(answers[i], 0, NULL);
        election_stored(&a, lease);
        CHECK(!a.is_held && !a.is_lost);
        CHECK_INT(election_next(&a, now_ms, &due_ms), ELECTION_WAIT);
        CHECK_INT(due_ms, now_ms + a.poll_ms);
        CHECK_INT(election_next(&a, due_ms, &due_ms), ELECTION_READ);
        election_release(&a);
    }
}

/* Foreign content of the object must not confuse an elector. */
static void test_odd_leases(void) {
    static const struct {
        const char *spec;
        int64_t free_after_ms;
    } rows[] = {
        {"{}", 100},
        {"{\"holderIdentity\": \"\"}", 100},
        {"{\"holderIdentity\": \"x\"}", 10100},
        {"{\"holderIdentity\": \"x\", \"leaseDurationSeconds\": 3}", 3100},
        {"{\"holderIdentity\": \"x\", \"leaseDurationSeconds\": -5}", 1100},
        {"[]", 100},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct election a;
        reset();
        election_init(&a, "a");
        stored = with_version(json_pack("{s:{s:s}, s:o}", "metadata", "name", "lease", "spec",
                                        json_loads(rows[i].spec, 0, NULL)));
        int64_t start_ms = now_ms;
        while (!a.is_held && now_ms < start_ms + 20000) {
            pass(100, &a, true, NULL, false);
        }
        CHECK(a.is_held);
        CHECK_INT(now_ms - start_ms, rows[i].free_after_ms);
        election_release(&a);
    }
}

int main(void) {
    TEST(test_one_takes_it_and_keeps_it);
    TEST(test_a_standby_asks_little);
    TEST(test_a_dead_leader_is_replaced_in_time);
    TEST(test_a_leader_that_is_cut_off_stops_first);
    TEST(test_a_short_cut_is_survived);
    TEST(test_what_was_given_back_is_taken_at_once);
    TEST(test_a_leader_sees_that_another_took_it);
    TEST(test_a_renewal_that_is_stored_as_anothers);
    TEST(test_a_claim_that_is_stored_as_anothers);
    TEST(test_odd_leases);
    tree_freep(&stored);
    return TEST_END();
}
