// SPDX-License-Identifier: Apache-2.0
#include "agent/data/rows/row_head.h"

#include "agent/data/rows/row_cells.h"
#include "lib/text/jsontext.h"

#include <stdlib.h>
#include <string.h>

enum { LINES_MAX_BYTES = 64 << 20 };

struct row_heads {
    char **columns; /* of the table, as JSON strings; owned */
    size_t count;
    bool has_file, has_row, counts, is_loose; /* is_loose: a missing column is null */
    char *file;                               /* the last item's; NULL: none yet */
    int64_t rows;                             /* of it, in this lease */
    struct buffer lines;
    struct row_columns types; /* spec.output.types */
    struct row_cells *cells;  /* for these; owned */
};

static const json_t *keys_of(const json_t *spec) {
    const json_t *keys = tree_get(spec, "output.key");
    return json_array_size(keys) ? keys : tree_get(spec, "input.table.partitionKeys");
}

static bool has_keys(const json_t *spec) {
    return json_array_size(keys_of(spec)) > 0;
}

bool row_heads_are_wanted(const json_t *spec) {
    return tree_text(spec, "output.format", NULL) != NULL;
}

bool row_heads_count(const json_t *spec) {
    return row_heads_are_wanted(spec) && tree_get(spec, "input.table") && !has_keys(spec);
}

static void add_names(json_t *names, const json_t *more) {
    size_t i;
    json_t *name;
    json_array_foreach(more, i, name) {
        json_array_append(names, name);
    }
}

json_t *row_heads_names(const json_t *spec) {
    json_t *names = json_array();
    bool is_video = tree_get(spec, "input.video"), are_files = tree_get(spec, "input.files");
    if (has_keys(spec)) {
        add_names(names, keys_of(spec));
    } else {
        json_array_append_new(names, json_string(is_video ? "frame" : "file"));
        if (!is_video && !are_files) {
            json_array_append_new(names, json_string("row"));
        }
    }
    add_names(names, tree_get(spec, "output.columns"));
    return names;
}

struct row_heads *row_heads_new(const json_t *spec) {
    if (!row_heads_are_wanted(spec)) {
        return NULL;
    }
    struct row_heads *heads = x_calloc(1, sizeof *heads);
    AUTO(tree_freep) json_t *names = json_array();
    size_t i;
    json_t *name;
    add_names(names, keys_of(spec));
    add_names(names, tree_get(spec, "output.columns"));
    heads->columns = x_calloc(json_array_size(names) + 1, sizeof *heads->columns);
    json_array_foreach(names, i, name) {
        heads->columns[heads->count++] = json_dumps(name, JSON_ENCODE_ANY | JSON_COMPACT);
    }
    heads->has_file = !has_keys(spec);
    heads->has_row = heads->has_file && !tree_get(spec, "input.files");
    heads->counts = row_heads_count(spec);
    heads->is_loose = strcmp(tree_text(spec, "input.table.format", ""), "JSONLines") == 0;
    buffer_init(&heads->lines, LINES_MAX_BYTES);
    heads->cells = x_calloc(1, sizeof *heads->cells);
    row_columns_init(&heads->types, NULL, tree_get(spec, "output.types"),
                     /* are_of_network= */ false);
    row_cells_init(heads->cells, &heads->types);
    return heads;
}

void row_heads_free(struct row_heads *heads) {
    if (heads) {
        for (size_t i = 0; i < heads->count; i++) {
            free(heads->columns[i]);
        }
        free(heads->columns);
        row_cells_release(heads->cells);
        free(heads->cells);
        row_columns_release(&heads->types);
        free(heads->file);
        buffer_release(&heads->lines);
        free(heads);
    }
}

void row_heads_start(struct row_heads *heads) {
    free(TAKE(heads->file));
    heads->rows = 0;
    buffer_clear(&heads->lines);
}

/* ---- counting ------------------------------------------------------------------------------- */

static int end_file(struct row_heads *heads, struct error *err) {
    if (!heads->file || !heads->counts) {
        return 0;
    }
    return buffer_append(&heads->lines, "[\"", 2, err) < 0 ||
                   jsontext_escape(&heads->lines, heads->file, strlen(heads->file), err) < 0
               ? -1
               : buffer_printf(&heads->lines, err, "\",%lld]\n", (long long)heads->rows);
}

void row_heads_see(struct row_heads *heads, const struct row_place *place) {
    struct error full = {0}; /* then the lines are cut, and row_heads_end says so */
    if (!place->file || !heads->counts) {
        return;
    }
    if (!heads->file || strcmp(heads->file, place->file) != 0) {
        (void)!end_file(heads, &full);
        free(heads->file);
        heads->file = x_strdup(place->file);
        heads->rows = 0;
    }
    heads->rows++;
}

int row_heads_end(struct row_heads *heads, struct buffer *lines, struct error *err) {
    if (end_file(heads, err) < 0) {
        return -1;
    }
    free(TAKE(heads->file));
    return heads->lines.size ? buffer_append(lines, heads->lines.data, heads->lines.size, err) : 0;
}

/* ---- heads ---------------------------------------------------------------------------------- */

static int add_place(const struct row_heads *heads, const struct row_place *place,
                     struct buffer *head, struct error *err) {
    int64_t row = heads->counts ? heads->rows - 1 : place->row;
    if (!place->file) {
        return buffer_printf(head, err, "\"frame\":%lld", (long long)place->row);
    }
    if (buffer_append(head, "\"file\":\"", 8, err) < 0 ||
        jsontext_escape(head, place->file, strlen(place->file), err) < 0 ||
        buffer_append(head, "\"", 1, err) < 0) {
        return -1;
    }
    return heads->has_row ? buffer_printf(head, err, ",\"row\":%lld", (long long)row) : 0;
}

static bool find(const struct row_place *place, const char *column,
                 struct jsontext_member *ret_member) {
    const char *end = place->json + place->json_size, *at = jsontext_space(place->json, end);
    bool is_found = false;
    struct jsontext_member member;
    while (jsontext_next_member(&at, end, &member)) {
        if (jsontext_is_named(&member, column)) {
            *ret_member = member; /* the last of several, like JSON parsers */
            is_found = true;
        }
    }
    return is_found;
}

static int add_column(const struct row_heads *heads, const struct row_place *place,
                      const char *column, struct buffer *head, struct error *err) {
    struct jsontext_member member = {.value = "null", .value_size = 4};
    bool is_object =
        place->json && *jsontext_space(place->json, place->json + place->json_size) == '{';
    if (!is_object || (!find(place, column, &member) && !heads->is_loose)) {
        return error_set(err, ERROR_INVALID,
                         "has no column %.100s, which spec.output.key or columns names", column);
    }
    return buffer_printf(head, err, "%s%s:", head->size ? "," : "", column) < 0
               ? -1
               : jsontext_compact(head, member.value, member.value_size, err);
}

/* Of a value that its type does not hold its item fails, before anything is scored. */
static int check_types(const struct row_heads *heads, const struct buffer *head,
                       struct error *err) {
    if (heads->types.count == 0 || head->size == 0) {
        return 0;
    }
    AUTO(text_freep) char *row = x_printf("{%.*s}", (int)head->size, head->data);
    return row_cells_check(heads->cells, row, head->size + 2, err);
}

int row_heads_add(const struct row_heads *heads, const struct row_place *place, struct buffer *head,
                  struct error *err) {
    if (heads->has_file && add_place(heads, place, head, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < heads->count; i++) {
        if (add_column(heads, place, heads->columns[i], head, err) < 0) {
            return -1;
        }
    }
    return check_types(heads, head, err);
}
