// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/explain.h"

#include "lib/options.h"
#include "operator/kinds/kinds.h"
#include "operator/reference.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int explain(struct error *err) {
    for (const struct kind_row *const *row = kind_rows; *row; row++) {
        AUTO(schema_freep) struct schema *schema = NULL;
        AUTO(text_freep) char *text = NULL;
        if (kinds_schema(*row, &schema, err) < 0 || reference_page(schema, &text, err) < 0) {
            return -1;
        }
        /* Closing the pager early is not an error. */
        if (((row != kind_rows && fputs("\n", stdout) < 0) || fputs(text, stdout) < 0 ||
             fflush(stdout) != 0) &&
            errno != EPIPE) {
            return error_set(err, ERROR_UNAVAILABLE, "the page cannot be written");
        }
    }
    return 0;
}

int explain_command(int argc, char **argv) {
    AUTO(text_freep) char *names = kinds_names(NULL, "a %s", "and");
    AUTO(text_freep)
    char *about =
        x_printf("Prints every field of %s, with its default, its bounds and its meaning,\n"
                 "as Markdown. The page is docs/api.md.",
                 names);
    const struct command_help help = {
        .usage = "windlass explain",
        .about = about,
        .examples = "windlass explain | grep workers",
    };
    const struct option options[] = {{0}};
    struct option_list words = {0};
    struct error err = {0};
    int result = options_read(argc, argv, &help, options, &words, &err);
    if (result > 0) {
        return 0;
    }
    if (result < 0 || explain(&err) < 0) {
        fprintf(stderr, "windlass explain: %s\n", err.text);
        return error_exit_code(&err);
    }
    return 0;
}
