// SPDX-License-Identifier: Apache-2.0
/* How long a job's Service is left to the controller that wrote it, in a time that the test steps.
 */
#include "operator/kinds/job/reconcile/other_leader.h"

#include "operator/kinds/job/owned.h"
#include "tests/test.h"

enum { LONGEST_MS = 64000 };

/* With the record of a run; owned by the caller. */
static json_t *service_of(int run) {
    AUTO(text_freep)
    char *begun = x_printf("{\"generation\":1,\"run\":\"r%d\",\"specHash\":\"h\"}", run);
    return json_pack("{s:{s:{s:s, s:s, s:s}}}", "metadata", "annotations", ANNOTATION_SECRET,
                     "job-1", ANNOTATION_CERTIFICATE_SHA256, "c", ANNOTATION_SPEC_SNAPSHOT, begun);
}

static int64_t hold_of(struct other_leader *other, int run, int64_t now_ms) {
    AUTO(tree_freep) json_t *service = service_of(run);
    return other_leader_hold_ms(other, service, now_ms);
}

static void write_own(struct other_leader *other, int run) {
    AUTO(tree_freep) json_t *service = service_of(run);
    char digest[SPEC_SNAPSHOT_DIGEST];
    CHECK(spec_snapshot_digest_of(service, digest));
    other_leader_note_own(other, digest);
}

static void test_each_other_record_is_left_longer(void) {
    static const int holds_ms[] = {2000, 4000, 8000, 16000, 32000, 64000, 64000};
    struct other_leader other = {0};
    int64_t now_ms = 1000;
    for (int i = 0; i < (int)ARRAY_LEN(holds_ms); i++) {
        CHECK_INT(hold_of(&other, i, now_ms), holds_ms[i]);
        CHECK_INT(hold_of(&other, i, now_ms + 500), holds_ms[i] - 500);
        CHECK_INT(hold_of(&other, i, now_ms + holds_ms[i]), 0);
        now_ms += holds_ms[i];
        CHECK_INT(hold_of(&other, i, now_ms + 1), 0); /* it stays ours to write */
    }
    CHECK_INT(other_leader_hold_ms(&other, NULL, now_ms), 0);
}

/* Writes anew that failed: what is stored is an earlier record of ours. */
static void test_own_records_whose_successors_failed(void) {
    struct other_leader other = {0};
    for (int run = 0; run < OTHER_LEADER_OWN; run++) {
        write_own(&other, run);
        write_own(&other, run); /* tried again: the same one */
    }
    for (int run = 0; run < OTHER_LEADER_OWN; run++) {
        CHECK_INT(hold_of(&other, run, 1000), 0);
    }
    CHECK_INT(other.count, 0);
    CHECK_INT(hold_of(&other, 99, 1000), 2000);
}

static void test_a_job_that_has_begun_counts_anew(void) {
    struct other_leader other = {0};
    for (int run = 0; run < 6; run++) {
        hold_of(&other, run, 1000);
    }
    CHECK_INT(hold_of(&other, 6, 1000), LONGEST_MS);
    other_leader_note_begun(&other);
    CHECK_INT(hold_of(&other, 6, 1000), 2000);
}

/* Somebody writes another record every minute, which is before its time is over. Whenever the
 * Service may be written, it is; not more often than once in the longest hold. */
static void test_who_writes_each_minute_holds_no_job_for_ever(void) {
    enum { MINUTES = 120 };
    struct other_leader other = {0};
    int own = 0, late = 0;
    int64_t now_ms = 1000, last_ms = 0;
    for (int minute = 0; minute < MINUTES; minute++) {
        for (int second = 0; second < 60; second++, now_ms += 1000) {
            bool is_ours = own > 0 && last_ms / 60000 == now_ms / 60000 && last_ms > 0;
            if (!is_ours && hold_of(&other, 1000 + minute, now_ms) == 0) {
                CHECK(minute < 10 || now_ms - last_ms >= LONGEST_MS);
                write_own(&other, own++);
                last_ms = now_ms;
                late += minute >= MINUTES / 2;
            }
        }
    }
    printf("# %d writes in %d minutes, %d of them in the second half\n", own, MINUTES, late);
    CHECK(late >= MINUTES / 4);
}

int main(void) {
    TEST(test_each_other_record_is_left_longer);
    TEST(test_own_records_whose_successors_failed);
    TEST(test_a_job_that_has_begun_counts_anew);
    TEST(test_who_writes_each_minute_holds_no_job_for_ever);
    return TEST_END();
}
