// SPDX-License-Identifier: Apache-2.0
/* Answers that are older than the deletion of their object. */
#include "operator/control/gone.h"

#include "tests/test.h"

static json_t *object(const char *name, const char *uid) {
    return json_pack("{s:s, s:{s:s, s:s, s:s}}", "kind", "Pod", "metadata", "namespace", "default",
                     "name", name, "uid", uid);
}

/* Two requests about one object: the end of the first does not forget the deletion. */
static void test_two_requests_about_one_object(void) {
    AUTO(tree_freep) json_t *old = object("a", "u-1");
    AUTO(tree_freep) json_t *next = object("a", "u-2");
    AUTO(tree_freep) json_t *other = object("b", "u-1");
    struct gone *gone = gone_new();
    gone_note(gone, old); /* no request is under way */
    gone_begin(gone, old);
    gone_begin(gone, old);
    gone_begin(gone, other);
    CHECK(!gone_end(gone, other, other));
    CHECK(!gone_end(gone, old, old)); /* it was there */
    gone_begin(gone, old);
    gone_note(gone, old);
    CHECK(gone_end(gone, old, old));
    CHECK(!gone_end(gone, old, next)); /* another one of that name */
    gone_begin(gone, old);
    CHECK(!gone_end(gone, old, old)); /* all that were under way have ended */
    gone_free(gone);
}

/* Each of those that were deleted meanwhile, and an answer without an object. */
static void test_two_deletions(void) {
    AUTO(tree_freep) json_t *first = object("a", "u-1");
    AUTO(tree_freep) json_t *second = object("a", "u-2");
    AUTO(tree_freep) json_t *nameless = object("a", "");
    struct gone *gone = gone_new();
    for (int i = 0; i < 4; i++) {
        gone_begin(gone, first);
    }
    gone_note(gone, first);
    gone_note(gone, second);
    gone_note(gone, nameless);
    CHECK(!gone_end(gone, first, NULL));
    CHECK(gone_end(gone, first, second));
    CHECK(gone_end(gone, first, first));
    CHECK(!gone_end(gone, first, NULL));
    gone_free(NULL);
    gone_free(gone);
}

int main(void) {
    TEST(test_two_requests_about_one_object);
    TEST(test_two_deletions);
    return TEST_END();
}
