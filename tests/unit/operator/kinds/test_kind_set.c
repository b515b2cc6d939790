// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/kinds.h"

#include "tests/test.h"

static const struct job_options options = {.agent_image = "registry.test/agent:1"};

static void check_maker(const struct kind *kind, const struct kind_row *row,
                        const struct job_options *jobs) {
    const struct maker_options *maker = kind->options;
    CHECK(maker && maker->jobs == jobs);
    CHECK_STR(maker ? schema_kind(maker->made) : "", row->children->kind);
}

/* On a cluster: all kinds in the order of the table, each with its options. */
static void test_all_kinds_for_a_cluster(void) {
    struct error err = {0};
    struct kind_set *set = NULL;
    CHECK_OK(kind_set_new(NULL, &options, &set, &err), &err);
    const struct kind *const *kinds = kind_set_kinds(set);
    size_t count = 0;
    for (; kinds[count] && kind_rows[count]; count++) {
        const struct kind_row *row = kind_rows[count];
        CHECK_STR(kinds[count]->name, row->loop->name);
        CHECK(kinds[count]->reconcile == row->loop->reconcile);
        if (row->children) {
            check_maker(kinds[count], row, &options);
        } else {
            CHECK(kinds[count]->options == &options);
        }
    }
    CHECK(!kinds[count] && !kind_rows[count]);
    kind_set_free(set);
}

/* On this machine: one kind, behind the kind that it makes. */
static void test_one_kind_for_this_machine(void) {
    for (const struct kind_row *const *row = kind_rows; *row; row++) {
        struct error err = {0};
        struct kind_set *set = NULL;
        CHECK_OK(kind_set_new(*row, &options, &set, &err), &err);
        const struct kind *const *kinds = kind_set_kinds(set);
        size_t own = (*row)->children ? 1 : 0;
        CHECK_STR(kinds[own]->name, (*row)->loop->name);
        CHECK(!kinds[own + 1]);
        if ((*row)->children) {
            CHECK_STR(kinds[0]->name, (*row)->children->kind);
            check_maker(kinds[1], *row, NULL); /* a pod's image is ignored here */
        }
        kind_set_free(set);
    }
    kind_set_free(NULL);
}

int main(void) {
    TEST(test_all_kinds_for_a_cluster);
    TEST(test_one_kind_for_this_machine);
    return TEST_END();
}
