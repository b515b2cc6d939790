// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/check.h"

#include "operator/commands/cli_command.h"
#include "operator/kinds/kinds.h"
#include "operator/resource.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct command_help help = {
    .usage = "windlass check -f FILE [--show | --pods]",
    .about =
        "Checks a manifest as a cluster does: fields, types, bounds and the rules between\n"
        "fields. Prints OK, or what is wrong and in which line (exit code 2). Features that this\n"
        "version does not support yet are refused, except with --show and --pods.",
    .examples = "windlass check -f examples/style-transfer/batchscore.yaml --show",
};

static void print(const json_t *tree) {
    AUTO(text_freep) char *text = json_dumps(tree, JSON_INDENT(2));
    printf("%s\n", text);
}

/* Values that only the cluster knows are printed as placeholders. */
static int print_pods(const json_t *object, struct error *err) {
    static const struct endpoint endpoint = {.address = "SERVICE-ADDRESS",
                                             .port = JOB_PORT,
                                             .certificate_sha256 = "CERTIFICATE-SHA256",
                                             .secret = "secret-of-the-job"};
    AUTO(tree_freep) json_t *pods = NULL;
    AUTO(schema_freep) struct schema *made = NULL;
    const struct kind_row *row = kinds_of(object);
    if (kinds_made_schema(row, &made, err) < 0 ||
        row->pods(object, &endpoint, made, &pods, err) < 0) {
        return -1;
    }
    AUTO(tree_freep)
    json_t *list = json_pack("{s:s, s:s, s:O}", "apiVersion", "v1", "kind", "List", "items", pods);
    print(list);
    return 0;
}

struct request {
    const char *file;
    bool show, pods;
};

static int check(const struct request *request, struct error *err) {
    const char *file = request->file;
    AUTO(tree_freep) json_t *object = NULL;
    if (!file) {
        return error_set(err, ERROR_INVALID, "-f FILE is missing: give a manifest (--help)");
    }
    int result = request->show || request->pods ? resource_load(file, &object, err)
                                                : resource_load_today(file, &object, err);
    if (result < 0) {
        return -1;
    }
    if (request->pods) {
        return print_pods(object, err);
    }
    if (request->show) {
        print(object);
    } else {
        printf("%s: %s %s is OK\n", file, tree_text(object, "kind", ""),
               tree_text(object, "metadata.name", ""));
    }
    return 0;
}

/* The help of --pods; the caller frees it. */
static char *about_pods(void) {
    char *all = x_strdup("Print the first pods that the job would get, as JSON:");
    for (const struct kind_row *const *row = kind_rows; *row; row++) {
        char *longer = x_printf("%s%s for a %s %s", all, row == kind_rows ? "" : ";",
                                (*row)->loop->name, (*row)->pods_about);
        free(all);
        all = longer;
    }
    char *text = x_printf("%s.", all);
    free(all);
    return text;
}

static int run(void *context, const struct option_list *words, int *ret_code, struct error *err) {
    (void)words, (void)ret_code;
    int result = check(context, err);
    if (result < 0 && err->kind == ERROR_NOT_FOUND) {
        err->kind = ERROR_INVALID; /* a wrong argument: exit code 2 */
    }
    return result;
}

int check_command(int argc, char **argv) {
    struct request request = {0};
    AUTO(text_freep) char *pods_help = about_pods();
    const struct option options[] = {
        {"file", 'f', OPTION_TEXT, "FILE", "The manifest (YAML or JSON).", &request.file},
        {"show", 0, OPTION_FLAG, NULL, "Print the resource as JSON, with its defaults.",
         &request.show},
        {"pods", 0, OPTION_FLAG, NULL, pods_help, &request.pods},
        {0},
    };
    const struct cli_command command = {
        .name = "check", .help = &help, .options = options, .run = run, .context = &request};
    return cli_command_run(&command, argc, argv);
}
