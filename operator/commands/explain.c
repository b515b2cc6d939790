// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/explain.h"

#include "operator/commands/cli_command.h"
#include "operator/kinds/kinds.h"
#include "operator/reference.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int explain(void *context, const struct option_list *words, int *ret_code,
                   struct error *err) {
    (void)context, (void)words, (void)ret_code;
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
            return error_set(err, ERROR_UNAVAILABLE, "cannot write the page");
        }
    }
    return 0;
}

int explain_command(int argc, char **argv) {
    AUTO(text_freep) char *names = kinds_names(NULL, "a %s", "and");
    AUTO(text_freep)
    char *about =
        x_printf("Prints every field of %s as Markdown,\n"
                 "with its default, its bounds and its meaning. The page is also docs/api.md.",
                 names);
    const struct command_help help = {
        .usage = "windlass explain",
        .about = about,
        .examples = "windlass explain | grep workers",
    };
    const struct option options[] = {{0}};
    const struct cli_command command = {
        .name = "explain", .help = &help, .options = options, .run = explain};
    return cli_command_run(&command, argc, argv);
}
