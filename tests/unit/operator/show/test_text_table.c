// SPDX-License-Identifier: Apache-2.0
#include "operator/show/text_table.h"

#include "tests/test.h"

#include <stdlib.h>

static void test_columns_are_aligned_and_cut(void) {
    struct text_table *table = text_table_new();
    text_table_add(table, (const char *const[]){"NAME", "STATE", "MESSAGE"}, 3);
    text_table_add(table, (const char *const[]){"grün-länger", "Running", "all\nis\x1b[2J well"},
                   3);
    text_table_add(table, (const char *const[]){"b", NULL, ""}, 3);
    static const struct {
        const char *indent;
        int width;
        const char *text;
    } rows[] = {
        {"", 0,
         "NAME          STATE     MESSAGE\n"
         "grün-länger   Running   all is\\x1B[2J well\n"
         "b\n"},
        {"  ", 29,
         "  NAME          STATE     MES\n"
         "  grün-länger   Running   all\n"
         "  b\n"},
        {"", 3, "NAM\ngrü\nb\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *text = text_table_format(table, rows[i].indent, rows[i].width);
        CHECK_STR(text, rows[i].text);
    }
    text_table_free(table);
}

static void test_ages(void) {
    static const struct {
        int64_t seconds;
        const char *text;
    } rows[] = {{-5, "0s"},         {0, "0s"},
                {119, "119s"},      {120, "2m"},
                {200, "3m20s"},     {600, "10m"},
                {3600, "60m"},      {3 * 3600, "3h"},
                {20000, "5h33m"},   {9 * 3600 + 60, "9h"},
                {47 * 3600, "47h"}, {86400 * 2, "2d"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[32];
        text_table_age(rows[i].seconds * 1000, text);
        CHECK_STR(text, rows[i].text);
    }
}

int main(void) {
    TEST(test_columns_are_aligned_and_cut);
    TEST(test_ages);
    return TEST_END();
}
