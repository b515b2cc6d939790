// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/run/run_help.h"

#include "operator/kinds/kinds.h"
#include "tests/test.h"

/* Each kind contributes its paragraph and its meaning of --workers, in the order of the table. */
static void test_kinds_contribute(void) {
    AUTO(run_help_release) struct run_help help = {0};
    run_help_make(&help);
    const char *workers = help.workers;
    for (const struct kind_row *const *row = kind_rows; *row; row++) {
        const struct kind_local *local = &(*row)->local;
        CHECK(strstr(help.file, (*row)->loop->name) != NULL);
        CHECK(!local->about || strstr(help.about, local->about) != NULL);
        if (local->workers_about) {
            workers = strstr(workers, local->workers_about);
            CHECK(workers != NULL);
            workers = workers ? workers : "";
        }
        AUTO(text_freep) char *article = x_printf("a %s's", (*row)->loop->name);
        CHECK((strstr(help.secrets, article) != NULL) == local->has_secrets);
    }
    CHECK(text_ends(help.about, "130 interrupted."));
    CHECK(text_ends(help.workers, ")."));
}

int main(void) {
    TEST(test_kinds_contribute);
    return TEST_END();
}
