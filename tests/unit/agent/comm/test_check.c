// SPDX-License-Identifier: Apache-2.0
/* The check that users run finds faults, even if only one rank is wrong by one bit. */
#include "agent/comm/check.h"

#include "tests/test.h"
#include "tests/unit/agent/comm/threads_comm.h"

enum { RANKS = 3 };

static struct {
    struct check_options options[RANKS];
    struct check_result results[RANKS];
    struct error errors[RANKS];
    int codes[RANKS];
} seen;

static void *check(void *context) {
    struct comm *comm = context;
    int rank = comm->rank;
    seen.codes[rank] =
        check_run(comm, &seen.options[rank], &seen.results[rank], &seen.errors[rank]);
    return NULL;
}

static void begin(struct meeting *meeting) {
    memset(&seen, 0, sizeof seen);
    for (int i = 0; i < RANKS; i++) {
        seen.options[i] = (struct check_options){
            .megabytes = 3, .fusion_mib = 64, .rounds = 2, .timeout_ms = 60000};
    }
    meeting_init(meeting, RANKS);
}

static void end(struct meeting *meeting, const char *wanted) {
    meeting_run(meeting, check);
    for (int i = 0; i < RANKS; i++) {
        CHECK_INT(seen.codes[i], wanted ? -1 : 0);
        CHECK(!atomic_load(&meeting->ranks[i].comm.is_lost));
        CHECK(strstr(seen.errors[i].text, wanted ? wanted : "") == seen.errors[i].text);
        if (!wanted) {
            CHECK_STR(seen.errors[i].text, "");
            CHECK_INT(seen.results[i].bucket_count, 2);
            CHECK(seen.results[i].median_ms > 0);
            free(seen.results[i].hosts);
        } else if (test_failures) {
            printf("# %s\n", seen.errors[i].text);
        }
    }
    CHECK_INT(atomic_load(&meeting->mismatches), 0);
    meeting_release(meeting);
}

static void all_is_well(void) {
    struct meeting meeting;
    begin(&meeting);
    end(&meeting, NULL);
}

/* Facts, hosts: 6 calls; whole numbers: 2 buckets; random ones: 2; verdicts: 1; then rounds of a
 * barrier, 2 buckets, verdicts. */
static void a_wrong_bit_is_found(void) {
    static const struct {
        int call;
        const char *wanted;
    } rows[] = {{6, "the sum is wrong on rank 1: whole numbers: number 0 of 750000 is"},
                {7, "the sum is wrong on rank 1: whole numbers: number "},
                {9, "the sum of the same numbers has other bits on rank 1 "},
                {12, "the sum is wrong on rank 1: ones: number 0 of 750000 is"},
                {17, "the sum is wrong on rank 1: ones: number "}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct meeting meeting;
        begin(&meeting);
        meeting.ranks[1].corrupt_at = rows[i].call;
        end(&meeting, rows[i].wanted);
        CHECK_INT(seen.errors[0].kind, ERROR_FAILED);
    }
}

static void other_options_are_named(void) {
    static const struct {
        struct check_options options;
        const char *wanted;
    } rows[] = {
        {{2, 64, 2, 60000, NULL, NULL},
         "--megabytes differs: \"2\" on rank 2, \"3\" on rank 0; all"},
        {{3, 1, 2, 60000, NULL, NULL}, "--fusion differs: \"1\" on rank 2, \"64\" on rank 0; all"},
        {{3, 64, 9, 60000, NULL, NULL}, "--rounds differs: \"9\" on rank 2, \"2\" on rank 0; all"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct meeting meeting;
        begin(&meeting);
        seen.options[2] = rows[i].options;
        end(&meeting, rows[i].wanted);
        CHECK_INT(seen.errors[1].kind, ERROR_INVALID);
    }
}

int main(void) {
    TEST(all_is_well);
    TEST(a_wrong_bit_is_found);
    TEST(other_options_are_named);
    return TEST_END();
}
