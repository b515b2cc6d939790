// SPDX-License-Identifier: Apache-2.0
/* What a coordinator reports, in status: what requests to model servers have cost. The rest:
 * test_reconcile.c. */
#include "operator/kinds/batchscore/status.h"
#include "tests/test.h"

/* A coordinator that replaces another learns of its workers one after the other. */
static void test_counts_of_requests_never_fall(void) {
    static const struct {
        const char *told;
        int tokens_in, tokens_out, median_ms;
        const char *cost, *per_1000;
    } rows[] = {
        {"{\"tokensIn\": 70, \"tokensOut\": 7, \"medianMilliseconds\": 9, \"cost\": \"1.5\","
         " \"costPer1000\": \"3\"}",
         70, 7, 9, "1.5", "3"},
        {"{\"tokensIn\": 20, \"tokensOut\": 2, \"medianMilliseconds\": 5, \"cost\": \"0.4\","
         " \"costPer1000\": \"1\"}",
         70, 7, 5, "1.5", "3"},
        {"{}", 70, 7, -1, "1.5", "3"},
        {"{\"tokensIn\": 90, \"tokensOut\": 6, \"medianMilliseconds\": 5, \"cost\": \"11\","
         " \"costPer1000\": \"4\"}",
         90, 7, 5, "11", "4"},
    };
    AUTO(tree_freep) json_t *status = json_object();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep)
        json_t *progress = json_pack("{s:o}", "requests", json_loads(rows[i].told, 0, NULL));
        batchscore_status_live(status, progress);
        CHECK_INT(tree_integer(status, "requests.tokensIn", -1), rows[i].tokens_in);
        CHECK_INT(tree_integer(status, "requests.tokensOut", -1), rows[i].tokens_out);
        CHECK_INT(tree_integer(status, "requests.medianMilliseconds", -1), rows[i].median_ms);
        CHECK_STR(tree_text(status, "requests.cost", ""), rows[i].cost);
        CHECK_STR(tree_text(status, "requests.costPer1000", ""), rows[i].per_1000);
    }
}

int main(void) {
    TEST(test_counts_of_requests_never_fall);
    return TEST_END();
}
