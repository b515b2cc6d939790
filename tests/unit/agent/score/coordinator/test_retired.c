// SPDX-License-Identifier: Apache-2.0
/* Which slots of workers a summary calls retired. */
#include "agent/score/coordinator/retired.h"

#include "tests/test.h"

#include <stdio.h>
#include <string.h>

#define ENDED "exit code 139, Error: no $(GPU)"

static void greet(json_t **slots, const char *name, int deaths) {
    struct message sent = {.type = MESSAGE_HELLO, .slots = 1, .deaths = deaths, .deaths_max = 10};
    struct error err = {0};
    snprintf(sent.name, sizeof sent.name, "%s", name);
    snprintf(sent.text, sizeof sent.text, "%s", ENDED);
    AUTO(text_freep) char *text = message_format(&sent);
    AUTO(message_release) struct message got = {0};
    CHECK_OK(message_parse(text, strlen(text), &got, &err), &err);
    CHECK_INT(got.deaths, deaths);
    retired_hello(slots, &got);
}

static void check_rows(const json_t *slots, const json_t *earlier, const char *want) {
    AUTO(tree_freep) json_t *rows = retired_rows(slots, earlier);
    AUTO(text_freep) char *text = tree_canonical(rows);
    CHECK_STR(text, want);
}

static void test_the_last_of_a_slot(void) {
    AUTO(tree_freep) json_t *slots = NULL;
    check_rows(slots, NULL, "[]");
    greet(&slots, "w-3-10", 9);
    check_rows(slots, NULL, "[]");
    retired_leave(slots, "w-3-10", /* is_orderly= */ false);
    check_rows(slots, NULL, "[{\"deaths\":10,\"message\":\"" ENDED "\",\"pod\":\"w-3-10\"}]");
    greet(&slots, "w-3-10", 9); /* only its connection was lost */
    check_rows(slots, NULL, "[]");
    retired_finish(slots, "w-3-10");
    retired_leave(slots, "w-3-10", false);
    check_rows(slots, NULL, "[]");
}

static void test_others_are_not_retired(void) {
    AUTO(tree_freep) json_t *slots = NULL;
    greet(&slots, "w-0-9", 8);
    greet(&slots, "w-1", 0);
    greet(&slots, "w-2-10", 9);
    retired_leave(slots, "w-0-9", false);
    retired_leave(slots, "w-1", false);
    retired_leave(slots, "w-2-10", /* is_orderly= */ true);
    retired_leave(slots, "stranger", false);
    check_rows(slots, NULL, "[]");
}

/* Each slot once, what the operator knew first. */
static void test_earlier_ones(void) {
    AUTO(tree_freep) json_t *slots = NULL;
    AUTO(tree_freep) json_t *earlier = json_pack("[{s:s, s:i}]", "pod", "w-3-10", "deaths", 10);
    greet(&slots, "w-3-10", 9);
    retired_leave(slots, "w-3-10", false);
    check_rows(slots, earlier, "[{\"deaths\":10,\"pod\":\"w-3-10\"}]");
    check_rows(NULL, earlier, "[{\"deaths\":10,\"pod\":\"w-3-10\"}]");
}

static void test_as_many_as_there_is_room_for(void) {
    AUTO(tree_freep) json_t *slots = NULL;
    for (int i = 0; i < RETIRED_MAX + 10; i++) {
        char name[32];
        snprintf(name, sizeof name, "w-%d-10", i);
        greet(&slots, name, 9);
    }
    CHECK_INT(json_object_size(slots), RETIRED_MAX);
}

static void test_a_hello_that_is_wrong(void) {
    static const char *const rows[] = {"[0, 10]", "[9]", "9", "[9, \"x\"]", "[9, 1e9]"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep)
        char *text = x_printf("{\"type\": \"hello\", \"worker\": \"w\", \"before\": \"x\", "
                              "\"deaths\": %s}",
                              rows[i]);
        struct error err = {0};
        AUTO(message_release) struct message got = {0};
        CHECK_INT(message_parse(text, strlen(text), &got, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
    }
}

int main(void) {
    TEST(test_the_last_of_a_slot);
    TEST(test_others_are_not_retired);
    TEST(test_earlier_ones);
    TEST(test_as_many_as_there_is_room_for);
    TEST(test_a_hello_that_is_wrong);
    return TEST_END();
}
