// SPDX-License-Identifier: Apache-2.0
/* Every decision of the plan is a row (tests/plan_rows.h) in tests/data/plan-dt; "notYet": what is
 * not carried out. */
#include "operator/kinds/disttrain/plan.h"

#include "tests/plan_rows.h"
#include "tests/test.h"

static int plan(const json_t *row, const struct job_observed *observed, const json_t *runs,
                int64_t now_ms, json_t **ret_result, struct error *err) {
    (void)runs;
    struct disttrain_observed all = {.job = *observed, .not_yet = tree_text(row, "notYet", NULL)};
    return disttrain_plan(&all, now_ms, ret_result, err);
}

static const struct plan_rows goldens = {.folder = "tests/data/plan-dt", .plan = plan};

/* The Service is for the first pod alone, and for none of another job of that name. */
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
