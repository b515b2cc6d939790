// SPDX-License-Identifier: Apache-2.0
#include "agent/data/kinds/name_set.h"

#include "tests/test.h"

#include <stdio.h>

static bool add(struct name_set *set, const char *name) {
    return name_set_add(set, 'o', name, strlen(name));
}

static bool has(const struct name_set *set, const char *name) {
    return name_set_has(set, 'o', name, strlen(name));
}

static void names_that_differ_in_case(void) {
    static const struct {
        const char *name, *other;
        bool are_one; /* where case is ignored */
    } rows[] = {{"a.txt", "A.TXT", true},
                {"a.txt", "b.txt", false},
                {"\xC3\xA4", "\xC3\x84", true},          /* a with two dots */
                {"\xD1\x8F", "\xD0\xAF", true},          /* ya */
                {"\xCF\x83", "\xCF\x82", true},          /* two small forms of sigma */
                {"\xE6\x97\xA5", "\xE6\x9C\xAC", false}, /* letters without case */
                {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x81", false},
                {"", "a", false}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct name_set *blind = name_set_new(true), *exact = name_set_new(false);
        CHECK(add(blind, rows[i].name) && add(exact, rows[i].name));
        CHECK(has(blind, rows[i].name) && has(exact, rows[i].name));
        CHECK_INT(has(blind, rows[i].other), rows[i].are_one);
        CHECK(!has(exact, rows[i].other));
        CHECK(!name_set_has(exact, 'f', rows[i].name, strlen(rows[i].name)));
        name_set_free(blind);
        name_set_free(exact);
    }
}

static void many_names_are_kept_and_a_maximum_holds(void) {
    struct name_set *set = name_set_new(false);
    char name[32];
    int added = 0;
    for (int i = 0; i < NAME_SET_MAX; i++) {
        added += name_set_add(set, 'o', name, (size_t)snprintf(name, sizeof name, "in/%d", i));
    }
    CHECK_INT(added, NAME_SET_MAX);
    for (int i = 0; i < NAME_SET_MAX; i += 997) {
        CHECK(name_set_has(set, 'o', name, (size_t)snprintf(name, sizeof name, "in/%d", i)));
    }
    CHECK(!has(set, "in/-1"));
    CHECK(!add(set, "in/-1"));
    CHECK(add(set, "in/0"));
    name_set_free(set);
}

int main(void) {
    TEST(names_that_differ_in_case);
    TEST(many_names_are_kept_and_a_maximum_holds);
    return TEST_END();
}
