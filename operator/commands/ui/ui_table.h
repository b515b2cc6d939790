/* ui_table.h: the rows of all jobs that `windlass ui` shows, each with the version of the table in
 * which it changed last: a page that has seen a version asks for what is newer, and while nothing
 * changes the answer is a few bytes. Any thread. */
#pragma once

#include "lib/tree.h"

enum {
    UI_TABLE_ROWS_MAX = 20000, /* further jobs are left out */
    UI_TABLE_GONE_MAX = 4096,  /* removed keys that are remembered */
};

struct ui_table;

struct ui_table *ui_table_new(void);
void ui_table_free(struct ui_table *table); /* accepts NULL */

/* row: an array whose first member is the key; taken over. False: it has no room, and its list
 * counts as cut until it is read again. */
bool ui_table_set(struct ui_table *table, json_t *row_new);
/* Whether a row that had no room has none now, either; then its list stays cut. */
bool ui_table_lacks_room(struct ui_table *table, const char *key);
void ui_table_remove(struct ui_table *table, const char *key);
/* A complete list of the rows whose keys have this prefix begins, and ends: those that were not set
 * or kept in between are removed. */
void ui_table_begin(struct ui_table *table, const char *prefix);
void ui_table_keep(struct ui_table *table, const char *key);
void ui_table_end(struct ui_table *table, const char *prefix);
/* Why the list may be incomplete; NULL: it is complete. */
void ui_table_note(struct ui_table *table, const char *text);

/* {"version", "all": every row follows, "jobs": [rows], "gone": [keys], "cut": some jobs
 * have no room, "note"} for a page that has seen version `since` (0: nothing); owned. */
char *ui_table_news(struct ui_table *table, int64_t since);
