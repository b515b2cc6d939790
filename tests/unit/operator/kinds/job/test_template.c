// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/template.h"

#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { ENTRIES = 100000, PROCESSOR_SECONDS = 100 };

/* A user's template costs the controller time in proportion to its size: one comparison of each
 * entry with each other is 5 * 10^9 of them here, some ten minutes. */
static void a_template_of_many_entries(void) {
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_CPU, &limit) == 0);
    limit.rlim_cur = PROCESSOR_SECONDS;
    CHECK(setrlimit(RLIMIT_CPU, &limit) == 0); /* SIGXCPU ends this program */
    AUTO(tree_freep)
    json_t *pod = json_pack("{s:{}, s:{s:[{s:s, s:s}]}}", "metadata", "spec", "containers", "name",
                            "agent", "image", "ours");
    json_t *containers = json_array();
    for (int i = 0; i < ENTRIES; i++) {
        char name[32];
        snprintf(name, sizeof name, "c%d", i);
        json_array_append_new(containers, json_pack("{s:s, s:i}", "name", name, "tty", i));
    }
    json_array_append_new(containers, json_pack("{s:s, s:b}", "name", "c7", "stdin", 1));
    json_array_append_new(containers, json_pack("{s:s, s:b}", "name", "agent", "stdin", 1));
    AUTO(tree_freep) json_t *template = json_pack("{s:{s:o}}", "spec", "containers", containers);
    template_apply(pod, template);
    const json_t *made = tree_get(pod, "spec.containers");
    CHECK_INT(json_array_size(made), ENTRIES + 1);
    const json_t *agent = json_array_get(made, 0), *twice = json_array_get(made, 8);
    CHECK_STR(tree_text(agent, "image", ""), "ours");
    CHECK(tree_bool(agent, "stdin", false));
    CHECK_STR(tree_text(twice, "name", ""), "c7");
    CHECK(tree_bool(twice, "stdin", false));
    CHECK_INT(tree_integer(twice, "tty", 0), 7);
}

/* A port's number and a text are different keys. */
static void entries_by_number(void) {
    AUTO(tree_freep)
    json_t *pod =
        json_pack("{s:{}, s:{s:[{s:s, s:[{s:i, s:s}]}]}}", "metadata", "spec", "containers", "name",
                  "agent", "ports", "containerPort", 8443, "name", "hub");
    AUTO(tree_freep)
    json_t *template = json_pack("{s:{s:[{s:s, s:[{s:i, s:i}, {s:s}, {s:i}]}]}}", "spec",
                                 "containers", "name", "agent", "ports", "containerPort", 8443,
                                 "hostPort", 1, "containerPort", "8443", "containerPort", 80);
    template_apply(pod, template);
    const json_t *ports = tree_get(json_array_get(tree_get(pod, "spec.containers"), 0), "ports");
    CHECK_INT(json_array_size(ports), 3);
    CHECK_STR(tree_text(json_array_get(ports, 0), "name", ""), "hub");
    CHECK_INT(tree_integer(json_array_get(ports, 0), "hostPort", 0), 1);
    CHECK_INT(tree_integer(json_array_get(ports, 2), "containerPort", 0), 80);
}

int main(void) {
    TEST(a_template_of_many_entries);
    TEST(entries_by_number);
    return TEST_END();
}
