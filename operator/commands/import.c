// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/import.h"

#include "lib/file.h"
#include "operator/commands/cli_command.h"
#include "operator/kinds/kinds.h"
#include "operator/resource.h"

#include <stdio.h>
#include <string.h>

enum { FILE_BYTES_MAX = 1 << 20 };

/* The kind that imports jobs of another system. */
static const struct kind_row *find_row(void) {
    const struct kind_row *const *row = kind_rows;
    while (*row && !(*row)->import) {
        row++;
    }
    return *row;
}

struct request {
    const struct kind_row *row;
    const char *name; /* of the job; NULL: the file's */
};

static int import(const struct request *request, const char *path, struct error *err) {
    AUTO(text_freep) char *standard = cli_command_job_name(path);
    AUTO(text_freep) char *job_text = NULL;
    AUTO(text_freep) char *text = NULL;
    AUTO(tree_freep) json_t *job = NULL;
    AUTO(tree_freep) json_t *object = NULL;
    size_t size;
    if (file_read(path, FILE_BYTES_MAX, &job_text, &size, err) < 0) {
        return -1;
    }
    if (tree_parse(job_text, size, FILE_BYTES_MAX, &job, err) < 0 ||
        request->row->import(job, request->name ? request->name : standard, &text, err) < 0) {
        return error_context(err, "%s", path);
    }
    /* The result must be a manifest that a cluster accepts. */
    if (resource_parse("the manifest of it", text, strlen(text), &object, err) < 0) {
        return error_context(err, "%s", path);
    }
    if (fputs(text, stdout) < 0 || fflush(stdout) != 0) {
        return error_set(err, ERROR_UNAVAILABLE, "cannot write the manifest");
    }
    return 0;
}

static int run(void *context, const struct option_list *words, int *ret_code, struct error *err) {
    (void)ret_code;
    int result = import(context, words->values[0], err);
    if (result < 0 && err->kind == ERROR_NOT_FOUND) {
        err->kind = ERROR_INVALID; /* a wrong argument: exit code 2 */
    }
    return result;
}

int import_command(int argc, char **argv) {
    const struct kind_row *row = find_row();
    struct request request = {.row = row};
    if (!row) {
        fprintf(stderr, "windlass import: no kind of this build supports import\n");
        return 2;
    }
    AUTO(text_freep)
    char *about = x_printf(
        "Converts a job of Azure Batch AI (job.json) to a %s manifest, on standard output.\n"
        "Comments in it say what is left to do and what has no counterpart. Keys and passwords\n"
        "in the file are not copied; the comments say which Secrets to create.",
        row->loop->name);
    AUTO(text_freep)
    char *name_help = x_printf("The %s's name (default: the file's).", row->loop->name);
    const struct command_help help = {
        .usage = "windlass import job.json [--name NAME]",
        .about = about,
        .examples = "windlass import job.json --name cifar > cifar.yaml",
        .words_min = 1,
        .words_max = 1,
    };
    const struct option options[] = {
        {"name", 0, OPTION_TEXT, "NAME", name_help, &request.name},
        {0},
    };
    const struct cli_command command = {
        .name = "import", .help = &help, .options = options, .run = run, .context = &request};
    return cli_command_run(&command, argc, argv);
}
