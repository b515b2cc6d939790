// SPDX-License-Identifier: Apache-2.0
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

int kinds_schema(const struct kind_row *row, struct schema **ret_schema, struct error *err) {
    return schema_parse(row->crd, strlen(row->crd), ret_schema, err);
}

int kinds_made_schema(const struct kind_row *row, struct schema **ret_schema, struct error *err) {
    *ret_schema = NULL;
    return row->made ? kinds_schema(kinds_find(row->made->kind), ret_schema, err) : 0;
}

const char *kinds_first(void) {
    return kind_rows[0]->loop->name;
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
