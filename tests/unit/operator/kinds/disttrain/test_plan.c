// SPDX-License-Identifier: Apache-2.0
/* Every decision of the plan is a row (tests/plan_rows.h) in tests/data/plan-dt; "notYet": parts
 * that are not supported yet. */
#include "operator/kinds/disttrain/plan.h"

#include "operator/kinds/job/cache_transform.h"
#include "tests/plan_rows.h"
#include "tests/test.h"

/* For a job that has ended the controller keeps less of its pods (cache_transform.h): the same pods
 * are deleted, and the same remain. */
static int check_trimmed(const struct disttrain_observed *all, int64_t now_ms,
                         const struct plan_result *result, struct error *err) {
    AUTO(tree_freep) json_t *pods = json_array();
    AUTO(plan_result_release) struct plan_result other = {0};
    struct disttrain_observed less = *all;
    size_t i;
    json_t *pod;
    json_array_foreach((json_t *)all->job.pods, i, pod) {
        json_t *kept = cache_transform_leftover(pod);
        json_object_set(json_object_get(kept, "metadata"), "name", tree_get(pod, "metadata.name"));
        json_array_append_new(pods, kept);
    }
    less.job.pods = pods;
    if (disttrain_decide(&less, now_ms, &other, err) < 0) {
        return -1;
    }
    bool is_same = result->delete_count == other.delete_count;
    for (size_t k = 0; k < other.delete_count; k++) {
        is_same &= plan_result_deletes(result, other.delete[k].object);
    }
    return is_same ? 0 : error_set(err, ERROR_INVALID, "of pods that are trimmed others go");
}

static int plan(const json_t *row, const struct job_observed *observed, const json_t *runs,
                int64_t now_ms, struct plan_result *ret_result, struct error *err) {
    (void)row;
    (void)runs;
    struct disttrain_observed all = {.job = *observed};
    int done = disttrain_decide(&all, now_ms, ret_result, err);
    bool is_over = done == 0 && observed->pods && conditions_is_finished(observed->object);
    return is_over ? check_trimmed(&all, now_ms, ret_result, err) : done;
}

static const struct plan_rows goldens = {.folder = "tests/data/plan-dt", .plan = plan};

/* The Service selects only the first pod, and none of another job of that name. */
static void test_hub(void) {
    AUTO(tree_freep) json_t *base = plan_rows_base(&goldens);
    struct credentials credentials = {.secret = "digits-1a2b",
                                      .token = "TOKEN",
                                      .certificate = "CERTIFICATE",
                                      .certificate_sha256 = "ab12",
                                      .key = "KEY"};
    AUTO(tree_freep)
    json_t *service =
        owned_service(json_object_get(base, "object"), &disttrain_words.hub, &credentials, "{}");
    const json_t *selector = tree_get(service, "spec.selector");
    CHECK_STR(tree_text(service, "metadata.name", ""), "digits-hub");
    CHECK_STR(json_string_value(json_object_get(selector, "windlass.dev/job")), "digits");
    CHECK_STR(json_string_value(json_object_get(selector, "windlass.dev/role")), "member");
    CHECK_STR(json_string_value(json_object_get(selector, "windlass.dev/index")), "0");
}

int main(void) {
    int failures = plan_rows_check(&goldens, 25);
    TEST(test_hub);
    return failures ? 1 : TEST_END();
}
