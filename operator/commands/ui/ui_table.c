// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/ui/ui_table.h"

#include "lib/buffer.h"
#include "operator/commands/ui/ui_text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { NEWS_MAX = 64 << 20, LISTS_MAX = 16 };

struct row {
    char *key, *text;
    int64_t version;
    bool is_old; /* the list that is being read has not had it yet */
};

struct gone {
    char *key;
    int64_t version;
};

/* What is listed as one. */
struct list {
    char *prefix;
    bool is_cut;      /* some of its jobs have no room */
    bool will_be_cut; /* the same of the list that is being read */
};

struct ui_table {
    pthread_mutex_t lock;
    struct row *rows;
    size_t count;
    struct list lists[LISTS_MAX + 1]; /* the last: keys of no list */
    size_t list_count;
    json_t *places; /* key -> index in rows */
    struct gone gone[UI_TABLE_GONE_MAX];
    size_t gone_at;    /* the next to be overwritten */
    int64_t version;   /* grows with each change */
    int64_t forgotten; /* what was removed up to this version is not known any more */
    json_t *note;
};

struct ui_table *ui_table_new(void) {
    struct ui_table *table = x_calloc(1, sizeof *table);
    pthread_mutex_init(&table->lock, NULL);
    table->places = json_object();
    table->note = json_string("");
    table->version = 1;
    return table;
}

void ui_table_free(struct ui_table *table) {
    if (!table) {
        return;
    }
    for (size_t i = 0; i < table->count; i++) {
        free(table->rows[i].key);
        free(table->rows[i].text);
    }
    for (size_t i = 0; i < UI_TABLE_GONE_MAX; i++) {
        free(table->gone[i].key);
    }
    for (size_t i = 0; i < table->list_count; i++) {
        free(table->lists[i].prefix);
    }
    free(table->rows);
    json_decref(table->places);
    json_decref(table->note);
    pthread_mutex_destroy(&table->lock);
    free(table);
}

static struct row *find(struct ui_table *table, const char *key) {
    const json_t *place = json_object_get(table->places, key);
    return place ? &table->rows[json_integer_value(place)] : NULL;
}

static struct list *list_of_key(struct ui_table *table, const char *key) {
    for (size_t i = 0; i < table->list_count; i++) {
        if (text_starts(key, table->lists[i].prefix)) {
            return &table->lists[i];
        }
    }
    return &table->lists[LISTS_MAX];
}

static struct list *list_of_prefix(struct ui_table *table, const char *prefix) {
    for (size_t i = 0; i < table->list_count; i++) {
        if (strcmp(prefix, table->lists[i].prefix) == 0) {
            return &table->lists[i];
        }
    }
    if (table->list_count == LISTS_MAX) {
        return &table->lists[LISTS_MAX];
    }
    table->lists[table->list_count].prefix = x_strdup(prefix);
    return &table->lists[table->list_count++];
}

static void cut(struct ui_table *table, const char *key) {
    struct list *list = list_of_key(table, key);
    list->is_cut = list->will_be_cut = true;
}

static bool is_any_cut(const struct ui_table *table) {
    bool found = false;
    for (size_t i = 0; i < LISTS_MAX + 1; i++) {
        found |= table->lists[i].is_cut;
    }
    return found;
}

static struct row *add(struct ui_table *table, const char *key) {
    if (table->count >= UI_TABLE_ROWS_MAX) {
        return NULL;
    }
    if (table->count % 256 == 0) {
        table->rows = x_realloc_array(table->rows, table->count + 256, sizeof *table->rows);
    }
    struct row *row = &table->rows[table->count];
    *row = (struct row){.key = x_strdup(key)};
    json_object_set_new(table->places, key, json_integer((json_int_t)table->count++));
    return row;
}

bool ui_table_set(struct ui_table *table, json_t *row_new) {
    AUTO(tree_freep) json_t *values = row_new;
    AUTO(text_freep) char *text = tree_compact(values);
    const char *key = json_string_value(json_array_get(values, 0));
    pthread_mutex_lock(&table->lock);
    struct row *row = find(table, key);
    row = row ? row : add(table, key);
    if (row) {
        row->is_old = false;
    }
    if (!row) {
        cut(table, key);
    }
    if (row && (!row->text || strcmp(row->text, text) != 0)) {
        free(row->text);
        row->text = TAKE(text);
        row->version = ++table->version;
    }
    pthread_mutex_unlock(&table->lock);
    return row != NULL;
}

bool ui_table_lacks_room(struct ui_table *table, const char *key) {
    pthread_mutex_lock(&table->lock);
    bool is_full = table->count >= UI_TABLE_ROWS_MAX;
    if (is_full) {
        cut(table, key);
    }
    pthread_mutex_unlock(&table->lock);
    return is_full;
}

/* The last row takes its place. */
static void drop(struct ui_table *table, struct row *row) {
    struct gone *gone = &table->gone[table->gone_at++ % UI_TABLE_GONE_MAX];
    table->forgotten = gone->key ? gone->version : table->forgotten;
    free(gone->key);
    *gone = (struct gone){.key = row->key, .version = ++table->version};
    json_object_del(table->places, row->key);
    free(row->text);
    struct row *last = &table->rows[--table->count];
    if (row != last) {
        *row = *last;
        json_object_set_new(table->places, row->key, json_integer((json_int_t)(row - table->rows)));
    }
}

void ui_table_remove(struct ui_table *table, const char *key) {
    pthread_mutex_lock(&table->lock);
    struct row *row = find(table, key);
    if (row) {
        drop(table, row);
    }
    pthread_mutex_unlock(&table->lock);
}

void ui_table_begin(struct ui_table *table, const char *prefix) {
    pthread_mutex_lock(&table->lock);
    list_of_prefix(table, prefix)->will_be_cut = false;
    for (size_t i = 0; i < table->count; i++) {
        table->rows[i].is_old |= text_starts(table->rows[i].key, prefix);
    }
    pthread_mutex_unlock(&table->lock);
}

void ui_table_keep(struct ui_table *table, const char *key) {
    pthread_mutex_lock(&table->lock);
    struct row *row = find(table, key);
    if (row) {
        row->is_old = false;
    }
    pthread_mutex_unlock(&table->lock);
}

void ui_table_end(struct ui_table *table, const char *prefix) {
    pthread_mutex_lock(&table->lock);
    for (size_t i = table->count; i-- > 0;) {
        struct row *row = &table->rows[i];
        if (row->is_old && text_starts(row->key, prefix)) {
            drop(table, row);
        }
    }
    struct list *list = list_of_prefix(table, prefix);
    list->is_cut = list->will_be_cut;
    pthread_mutex_unlock(&table->lock);
}

void ui_table_note(struct ui_table *table, const char *text) {
    json_t *note = ui_text(text, UI_TEXT_LINE);
    pthread_mutex_lock(&table->lock);
    if (!json_equal(note, table->note)) {
        table->version++;
    }
    json_decref(table->note);
    table->note = note;
    pthread_mutex_unlock(&table->lock);
}

static int add_rows(const struct ui_table *table, int64_t since, struct buffer *text,
                    struct error *err) {
    int result = 0;
    const char *comma = "";
    for (size_t i = 0; i < table->count && result == 0; i++) {
        if (table->rows[i].version > since) {
            result = buffer_printf(text, err, "%s%s", comma, table->rows[i].text);
            comma = ",";
        }
    }
    return result;
}

static int add_gone(const struct ui_table *table, int64_t since, struct buffer *text,
                    struct error *err) {
    int result = 0;
    const char *comma = "";
    for (size_t i = 0; i < UI_TABLE_GONE_MAX && since > 0 && result == 0; i++) {
        if (table->gone[i].key && table->gone[i].version > since) {
            AUTO(tree_freep) json_t *key = json_string(table->gone[i].key);
            AUTO(text_freep) char *quoted = json_dumps(key, JSON_ENCODE_ANY);
            result = buffer_printf(text, err, "%s%s", comma, quoted);
            comma = ",";
        }
    }
    return result;
}

char *ui_table_news(struct ui_table *table, int64_t since) {
    AUTO(buffer_release) struct buffer text = {0};
    struct error err = {0};
    buffer_init(&text, NEWS_MAX);
    pthread_mutex_lock(&table->lock);
    int64_t from = since > table->version || since <= table->forgotten ? 0 : since;
    AUTO(text_freep) char *note = json_dumps(table->note, JSON_ENCODE_ANY);
    int result = buffer_printf(&text, &err,
                               "{\"version\":%lld,\"all\":%s,\"cut\":%s,\"note\":%s,"
                               "\"jobs\":[",
                               (long long)table->version, from ? "false" : "true",
                               is_any_cut(table) ? "true" : "false", note);
    if (result == 0 && add_rows(table, from, &text, &err) == 0 &&
        buffer_printf(&text, &err, "],\"gone\":[") == 0 &&
        add_gone(table, from, &text, &err) == 0) {
        result = buffer_printf(&text, &err, "]}");
    }
    pthread_mutex_unlock(&table->lock);
    return result < 0 || err.kind ? NULL : buffer_take(&text, NULL);
}
