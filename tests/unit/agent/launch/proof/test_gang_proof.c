// SPDX-License-Identifier: Apache-2.0
/* The exits that a proof keeps one by one: of whole launches, with the pod of each rank, bounded.
 */
#include "agent/launch/proof/gang_proof.h"

#include "tests/test.h"

#include <stdlib.h>

enum { SLOTS = 2 };

static struct gang_rank_report report(const char *launch, int size, int rank, bool is_proxy) {
    return (struct gang_rank_report){
        .launch = launch, .size = size, .rank = rank, .index = rank / SLOTS, .is_proxy = is_proxy};
}

/* code: of the last rank; the others end with 0. */
static void run(struct gang_proof *proof, const char *launch, int size, int code, bool is_proxy) {
    for (int i = 0; i < size; i++) {
        struct gang_rank_report one = report(launch, size, i, is_proxy);
        gang_proof_started(proof, &one);
    }
    for (int i = 0; i < size; i++) {
        struct gang_rank_report one = report(launch, size, i, is_proxy);
        one.code = i == size - 1 ? code : 0;
        gang_proof_ended(proof, &one);
    }
}

static void exits_of_whole_launches(void) {
    struct gang_proof *proof = gang_proof_new();
    size_t count = 7;
    (void)gang_proof_exits(proof, &count);
    CHECK_INT(count, 0);
    run(proof, "proxy", 1, 0, true);
    const struct gang_exit *exits = gang_proof_exits(proof, &count);
    CHECK_INT(count, 1);
    run(proof, "bad", 2, 7, false); /* made good by the next one: its exits prove nothing */
    run(proof, "one", 3, 0, false);
    run(proof, "two", 4, 0, false);
    exits = gang_proof_exits(proof, &count);
    CHECK_INT(count, 7);
    for (size_t i = 0; i < count; i++) {
        int rank = i < 3 ? (int)i : (int)i - 3;
        CHECK_INT(exits[i].launch, i >= 3);
        CHECK_INT(exits[i].rank, rank);
        CHECK_INT(exits[i].index, rank / SLOTS);
    }
    gang_proof_free(proof);
}

static void too_many_are_counted(void) {
    enum { HALF = GANG_EXITS_MAX / 2 + 1 };
    struct gang_proof *proof = gang_proof_new();
    size_t count = 0;
    int64_t all = 0;
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        run(proof, name, HALF, 0, false);
    }
    run(proof, "small", 2, 0, false); /* a later one may have room */
    const struct gang_exit *exits = gang_proof_exits(proof, &count);
    CHECK_INT(count, HALF + 2);
    CHECK_INT(exits[HALF].launch, 3);
    CHECK_INT(gang_proof_find_by(proof, &all), GANG_PROOF_RANKS);
    CHECK_INT(all, 3 * HALF + 2);
    gang_proof_free(proof);
}

int main(void) {
    TEST(exits_of_whole_launches);
    TEST(too_many_are_counted);
    return TEST_END();
}
