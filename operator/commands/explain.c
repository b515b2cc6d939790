// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/explain.h"

#include "operator/commands/cli_command.h"
#include "operator/kinds/kinds.h"
#include "operator/reference.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int print(const char *text, bool is_first, struct error *err) {
    /* Closing the pager early is not an error. */
    if (((!is_first && fputs("\n", stdout) < 0) || fputs(text, stdout) < 0 ||
         fflush(stdout) != 0) &&
        errno != EPIPE) {
        return error_set(err, ERROR_UNAVAILABLE, "cannot write to standard output: %m");
    }
    return 0;
}

static int explain_all(struct error *err) {
    for (const struct kind_row *const *row = kind_rows; *row; row++) {
        AUTO(schema_freep) struct schema *schema = NULL;
        AUTO(text_freep) char *text = NULL;
        if (kinds_schema(*row, &schema, err) < 0 || reference_page(schema, &text, err) < 0 ||
            print(text, row == kind_rows, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Whether the first name of `field` is the kind, as kubectl takes it; *ret_rest: what follows. */
static bool names_kind(const struct schema *schema, const char *field, const char **ret_rest) {
    const json_t *names = tree_get(schema_crd(schema), "spec.names");
    const char *const known[] = {tree_text(names, "kind", ""), tree_text(names, "plural", ""),
                                 tree_text(names, "singular", ""),
                                 tree_text(names, "shortNames[0]", "")};
    size_t length = strcspn(field, ".");
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (strlen(known[i]) == length && strncasecmp(known[i], field, length) == 0) {
            *ret_rest = field + length + (field[length] == '.');
            return true;
        }
    }
    return false;
}

/* Without a kind every kind that has the field is shown; if none has it, the error is of the kind
 * that has the most of its names. */
static int explain_field(const char *field, struct error *err) {
    bool is_named = false, is_shown = false;
    int deepest = -1;
    const char *path = field;
    for (const struct kind_row *const *row = kind_rows; *row && !is_named; row++) {
        AUTO(schema_freep) struct schema *schema = NULL;
        if (kinds_schema(*row, &schema, err) < 0) {
            return -1;
        }
        is_named = names_kind(schema, field, &path);
    }
    for (const struct kind_row *const *row = kind_rows; *row; row++) {
        AUTO(schema_freep) struct schema *schema = NULL;
        AUTO(text_freep) char *text = NULL;
        struct error why;
        const char *rest;
        int depth = 0;
        if (kinds_schema(*row, &schema, err) < 0) {
            return -1;
        }
        if (is_named && !names_kind(schema, field, &rest)) {
            continue;
        }
        if (reference_field(schema, path, &text, &depth, &why) == 0) {
            if (print(text, !is_shown, err) < 0) {
                return -1;
            }
            is_shown = true;
        } else if (depth > deepest) {
            deepest = depth;
            *err = why;
        }
    }
    return is_shown ? 0 : -1;
}

static int explain(void *context, const struct option_list *words, int *ret_code,
                   struct error *err) {
    (void)context, (void)ret_code;
    return words->count == 0 ? explain_all(err) : explain_field(words->values[0], err);
}

int explain_command(int argc, char **argv) {
    AUTO(text_freep) char *names = kinds_names(NULL, "a %s", "and");
    AUTO(text_freep)
    char *about = x_printf(
        "Prints every field of %s as Markdown,\n"
        "with its default, its bounds and its meaning. The page is also docs/api.md.\n\n"
        "With FIELD: that field and the fields in it, as plain text. FIELD may begin with\n"
        "a kind, and `spec` may be left out.",
        names);
    const struct command_help help = {
        .usage = "windlass explain [FIELD]",
        .about = about,
        .examples = "windlass explain scorer.onnx.inputs\n"
                    "windlass explain | grep workers",
        .words_max = 1,
    };
    const struct option options[] = {{0}};
    const struct cli_command command = {
        .name = "explain", .help = &help, .options = options, .run = explain};
    return cli_command_run(&command, argc, argv);
}
