// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/kinds.h"

#include "tests/test.h"

static void test_every_row_is_found_by_its_name(void) {
    size_t count = 0;
    for (const struct kind_row *const *row = kind_rows; *row; row++, count++) {
        AUTO(tree_freep) json_t *object = json_pack("{s:s}", "kind", (*row)->loop->name);
        CHECK(kinds_find((*row)->loop->name) == *row);
        CHECK(kinds_of(object) == *row);
    }
    CHECK(count >= 3);
    CHECK(!kinds_find("Pod") && !kinds_find("") && !kinds_find("batchscore"));
    CHECK_STR(kinds_first(), kind_rows[0]->loop->name);
}

static void test_definitions_are_read(void) {
    for (const struct kind_row *const *row = kind_rows; *row; row++) {
        struct error err = {0};
        AUTO(schema_freep) struct schema *own = NULL;
        AUTO(schema_freep) struct schema *made = NULL;
        /* One of its owners has gone. */
        CHECK_OK(kinds_schema(*row, &own, &err), &err);
        const struct schema *first = own;
        schema_freep(&own);
        CHECK_OK(kinds_schema(*row, &own, &err), &err);
        CHECK(own == first);
        CHECK_STR(schema_kind(own), (*row)->loop->name);
        CHECK_STR(schema_api_version(own), (*row)->loop->api_version);
        CHECK_OK(kinds_children_schema(*row, &made, &err), &err);
        CHECK((made != NULL) == ((*row)->children != NULL));
        CHECK(!made || strcmp(schema_kind(made), (*row)->children->kind) == 0);
    }
}

static bool is_none(const struct kind_row *row UNUSED) {
    return false;
}

static bool is_first(const struct kind_row *row) {
    return row == kind_rows[0];
}

static bool is_not_first(const struct kind_row *row) {
    return row != kind_rows[0];
}

static void test_names_are_a_list_for_people(void) {
    static const struct {
        kinds_filter *has;
        const char *format, *word, *text;
    } rows[] = {
        {NULL, "%s", "or", "BatchScore, DistTrain or Sweep"},
        {NULL, "%ss", "and", "BatchScores, DistTrains and Sweeps"},
        {is_not_first, "a %s", "or", "a DistTrain or a Sweep"},
        {is_first, "a %s", "or", "a BatchScore"},
        {is_none, "%s", "or", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *text = kinds_names(rows[i].has, rows[i].format, rows[i].word);
        CHECK_STR(text, rows[i].text);
    }
}

int main(void) {
    TEST(test_every_row_is_found_by_its_name);
    TEST(test_definitions_are_read);
    TEST(test_names_are_a_list_for_people);
    return TEST_END();
}
