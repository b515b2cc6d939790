// SPDX-License-Identifier: Apache-2.0
/* The table of rows: a page that has seen a version gets what is newer, and no more. */
#include "operator/commands/ui/ui_table.h"

#include "tests/test.h"

#include <stdlib.h>

static bool set(struct ui_table *table, const char *key, int done) {
    return ui_table_set(table, json_pack("[s, i]", key, done));
}

/* The answer, read: its version becomes *since. */
static json_t *news(struct ui_table *table, int64_t *since) {
    AUTO(text_freep) char *text = ui_table_news(table, *since);
    json_t *tree = text ? json_loads(text, 0, NULL) : NULL;
    CHECK(tree);
    *since = tree_integer(tree, "version", -1);
    return tree;
}

static size_t size(const json_t *tree, const char *member) {
    return json_array_size(json_object_get(tree, member));
}

static void only_changes_are_told(void) {
    struct ui_table *table = ui_table_new();
    int64_t since = 0;
    set(table, "run/a", 1);
    set(table, "run/b", 1);
    AUTO(tree_freep) json_t *first = news(table, &since);
    CHECK(tree_bool(first, "all", false));
    CHECK_INT(size(first, "jobs"), 2);
    int64_t seen = since;
    set(table, "run/a", 1); /* the same again */
    AUTO(tree_freep) json_t *second = news(table, &since);
    CHECK(!tree_bool(second, "all", true));
    CHECK_INT(size(second, "jobs") + size(second, "gone"), 0);
    CHECK_INT(since, seen);
    set(table, "run/a", 2);
    ui_table_remove(table, "run/b");
    ui_table_remove(table, "run/never");
    AUTO(tree_freep) json_t *third = news(table, &since);
    CHECK_INT(size(third, "jobs"), 1);
    CHECK_STR(tree_text(third, "jobs[0][0]", ""), "run/a");
    CHECK_INT(size(third, "gone"), 1);
    CHECK_STR(tree_text(third, "gone[0]", ""), "run/b");
    ui_table_free(table);
}

/* A list removes what it does not have, of its own prefix alone, also when two are read by turns.
 */
static void a_list_removes_what_it_lacks(void) {
    struct ui_table *table = ui_table_new();
    int64_t since = 0;
    set(table, "run/a", 1);
    set(table, "run/b", 1);
    set(table, "job/X/n/a", 1);
    set(table, "job/X/n/b", 1);
    ui_table_begin(table, "run/");
    ui_table_begin(table, "job/X/");
    ui_table_keep(table, "run/a");
    set(table, "job/X/n/b", 2);
    ui_table_end(table, "run/");
    ui_table_end(table, "job/X/");
    AUTO(tree_freep) json_t *all = news(table, &since);
    CHECK_INT(size(all, "jobs"), 2);
    CHECK(!strcmp(tree_text(all, "jobs[0][0]", ""), "run/a"));
    CHECK(!strcmp(tree_text(all, "jobs[1][0]", ""), "job/X/n/b"));
    ui_table_free(table);
}

/* Who has missed more removals than are remembered gets all rows. */
static void forgotten_removals_and_other_versions_give_all(void) {
    struct ui_table *table = ui_table_new();
    int64_t since = 0;
    set(table, "run/stays", 1);
    AUTO(tree_freep) json_t *first = news(table, &since);
    int64_t old = since;
    for (int i = 0; i <= UI_TABLE_GONE_MAX; i++) {
        set(table, "run/short", i);
        ui_table_remove(table, "run/short");
    }
    AUTO(tree_freep) json_t *late = news(table, &old);
    CHECK(tree_bool(late, "all", false));
    CHECK_INT(size(late, "jobs"), 1);
    int64_t future = old + 1000; /* of another process */
    AUTO(tree_freep) json_t *other = news(table, &future);
    CHECK(tree_bool(other, "all", false));
    ui_table_free(table);
}

static void rows_are_bounded(void) {
    struct ui_table *table = ui_table_new();
    int64_t since = 0;
    for (int i = 0; i < UI_TABLE_ROWS_MAX + 1; i++) {
        AUTO(text_freep) char *key = x_printf("run/%d", i);
        set(table, key, 0);
    }
    AUTO(tree_freep) json_t *all = news(table, &since);
    CHECK_INT(size(all, "jobs"), UI_TABLE_ROWS_MAX);
    CHECK(tree_bool(all, "cut", false));
    ui_table_free(table);
}

static bool is_cut(struct ui_table *table) {
    int64_t since = 1;
    AUTO(tree_freep) json_t *tree = news(table, &since);
    return tree_bool(tree, "cut", false);
}

/* A list says whether its own jobs have room; another list that is read does not change that. */
static void each_list_is_cut_by_itself(void) {
    struct ui_table *table = ui_table_new();
    ui_table_begin(table, "job/X/");
    for (int i = 0; i < UI_TABLE_ROWS_MAX; i++) {
        AUTO(text_freep) char *key = x_printf("job/X/n/%d", i);
        CHECK(set(table, key, 0));
    }
    ui_table_end(table, "job/X/");
    CHECK(!is_cut(table));
    ui_table_begin(table, "run/");
    CHECK(!set(table, "run/a", 0));
    CHECK(is_cut(table));
    ui_table_end(table, "run/");
    ui_table_begin(table, "job/Y/");
    ui_table_end(table, "job/Y/");
    CHECK(is_cut(table));
    ui_table_begin(table, "run/"); /* looked at again, and not read */
    CHECK(ui_table_lacks_room(table, "run/a"));
    ui_table_end(table, "run/");
    CHECK(is_cut(table));
    ui_table_remove(table, "job/X/n/7");
    ui_table_begin(table, "run/");
    CHECK(!ui_table_lacks_room(table, "run/a"));
    CHECK(set(table, "run/a", 0));
    ui_table_end(table, "run/");
    CHECK(!is_cut(table));
    ui_table_free(table);
}

static void a_note_is_news(void) {
    struct ui_table *table = ui_table_new();
    int64_t since = 0;
    AUTO(tree_freep) json_t *first = news(table, &since);
    int64_t before = since;
    ui_table_note(table, "denied\x1b[2J");
    ui_table_note(table, "denied\x1b[2J");
    AUTO(tree_freep) json_t *second = news(table, &since);
    CHECK_INT(since, before + 1);
    CHECK(!strchr(tree_text(second, "note", ""), 27));
    CHECK(strstr(tree_text(second, "note", ""), "denied"));
    ui_table_free(table);
}

int main(void) {
    TEST(only_changes_are_told);
    TEST(a_list_removes_what_it_lacks);
    TEST(forgotten_removals_and_other_versions_give_all);
    TEST(rows_are_bounded);
    TEST(each_list_is_cut_by_itself);
    TEST(a_note_is_news);
    return TEST_END();
}
