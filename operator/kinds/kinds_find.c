// SPDX-License-Identifier: Apache-2.0
/* Finds the row of a kind, and its definition, which is parsed once. */
#include "operator/kinds/kinds.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct kind_row *kinds_find(const char *kind) {
    const struct kind_row *const *row = kind_rows;
    while (*row && strcmp((*row)->loop->name, kind) != 0) {
        row++;
    }
    return *row;
}

const struct kind_row *kinds_of(const json_t *object) {
    const struct kind_row *row = kinds_find(tree_text(object, "kind", ""));
    assert(row);
    return row;
}

/* The definitions that were asked for. They are long, and every resource that is read asks for its
 * own: each is parsed once, and kept until the program ends. */
static struct parsed {
    struct parsed *next;
    const struct kind_row *row;
    struct schema *schema;
} * all_parsed;

int kinds_schema(const struct kind_row *row, struct schema **ret_schema, struct error *err) {
    struct parsed *parsed = all_parsed;
    while (parsed && parsed->row != row) {
        parsed = parsed->next;
    }
    if (!parsed) {
        struct schema *schema = NULL;
        if (schema_parse(row->crd, strlen(row->crd), &schema, err) < 0) {
            return -1;
        }
        parsed = x_calloc(1, sizeof *parsed);
        *parsed = (struct parsed){all_parsed, row, schema};
        all_parsed = parsed;
    }
    *ret_schema = schema_share(parsed->schema);
    return 0;
}

int kinds_children_schema(const struct kind_row *row, struct schema **ret_schema,
                          struct error *err) {
    *ret_schema = NULL;
    return row->children ? kinds_schema(kinds_find(row->children->kind), ret_schema, err) : 0;
}

const struct ending_kind *kinds_ending(const struct kind_row *row) {
    static const struct ending_kind none = {0};
    return row->ending ? row->ending : &none;
}

const char *kinds_first(void) {
    return kind_rows[0]->loop->name;
}

const struct kind_row *kinds_having(kinds_filter *has) {
    const struct kind_row *const *row = kind_rows;
    while (*row && !has(*row)) {
        row++;
    }
    return *row;
}

/* The format with the name in place of %s; owned. */
static char *fill_in(const char *format, const char *name) {
    const char *mark = strstr(format, "%s");
    assert(mark);
    return x_printf("%.*s%s%s", (int)(mark - format), format, name, mark + 2);
}

char *kinds_names(kinds_filter *has, const char *format, const char *word) {
    char *all = x_strdup("");
    size_t left = 0;
    for (const struct kind_row *const *row = kind_rows; *row; row++) {
        left += !has || has(*row);
    }
    for (const struct kind_row *const *row = kind_rows; *row; row++) {
        if (has && !has(*row)) {
            continue;
        }
        AUTO(text_freep) char *one = fill_in(format, (*row)->loop->name);
        AUTO(text_freep) char *last = left == 2 ? x_printf(" %s ", word) : NULL;
        char *longer = x_printf("%s%s%s", all, one, last ? last : left > 2 ? ", " : "");
        free(all);
        all = longer;
        left--;
    }
    return all;
}
