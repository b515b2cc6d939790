// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/check.h"

#include "operator/commands/check_server.h"
#include "operator/commands/cli_command.h"
#include "operator/commands/run/run_graph.h"
#include "operator/kinds/job/guard/job_policy.h"
#include "operator/kinds/job/parameters/parameters.h"
#include "operator/kinds/kinds.h"
#include "operator/resource_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct command_help help = {
    .usage = "windlass check -f FILE [-f FILE ...] [--show | --pods | --server]",
    .about =
        "Checks manifests as a cluster does: fields, types, bounds and the rules between\n"
        "fields. Prints OK, or what is wrong and in which line (exit code 2), for each "
        "resource of\n"
        "each FILE. Features that this version does not support yet are refused, except with\n"
        "--show and --pods. FILE is a file with one or more resources, a folder (its *.yaml, "
        "*.yml\n"
        "and *.json), or - for standard input.\n\n"
        "--server then asks the API server what it would say to each resource that is OK, by\n"
        "a dry run of kubectl apply: its definition's rules, admission policies and webhooks,\n"
        "your rights, fields of an existing job that cannot change. Nothing is stored. What\n"
        "it refuses has exit code 2; its warnings go to standard error.",
    .examples = "windlass check -f examples/style-transfer/batchscore.yaml --show\n"
                "windlass check -f jobs/ -f more.yaml\n"
                "windlass check -f job.yaml --set day=2026-11-22 --show | kubectl apply -f -\n"
                "kustomize build overlay | windlass check -f -\n"
                "windlass check -f jobs/ --server -n research",
};

static void print(const json_t *tree) {
    AUTO(text_freep) char *text = json_dumps(tree, JSON_INDENT(2));
    printf("%s\n", text);
}

/* Values that only the cluster knows are placeholders. Adds them to the list. */
static int add_pods(json_t *list, const json_t *object, struct error *err) {
    static const struct endpoint endpoint = {.address = "SERVICE-ADDRESS",
                                             .port = JOB_PORT,
                                             .certificate_sha256 = "CERTIFICATE-SHA256",
                                             .secret = "secret-of-the-job"};
    AUTO(tree_freep) json_t *pods = NULL;
    AUTO(schema_freep) struct schema *made = NULL;
    const struct kind_row *row = kinds_of(object);
    if (kinds_children_schema(row, &made, err) < 0 ||
        row->pods(object, &endpoint, made, &pods, err) < 0) {
        return -1;
    }
    json_array_extend(list, pods);
    return 0;
}

static void print_list(json_t *items) {
    AUTO(tree_freep)
    json_t *list = json_pack("{s:s, s:s, s:O}", "apiVersion", "v1", "kind", "List", "items", items);
    print(list);
}

struct request {
    struct option_list files, sets;
    bool show, pods, server;
    const char *policy;          /* --job-policy */
    struct remote_options where; /* of --server */
};

static void print_error(void *context, const char *text, const char *lines) {
    (void)context;
    fprintf(stderr, "windlass check: %s\n%s", text, isatty(STDERR_FILENO) ? lines : "");
}

/* Prints all errors of the resources that are refused. Returns the exit code. */
static int print_errors(const struct resource_files *files) {
    int code = 0;
    for (size_t i = 0; i < files->count; i++) {
        const struct error *why = &files->at[i].why;
        resource_file_errors(&files->at[i], print_error, NULL);
        code = why->kind == ERROR_NOT_FOUND ? 2 : why->kind ? error_exit_code(why) : code;
    }
    return code;
}

static int print_all(const struct request *request, const struct resource_files *files,
                     struct error *err) {
    AUTO(tree_freep) json_t *items = json_array();
    for (size_t i = 0; i < files->count; i++) {
        json_t *object = files->at[i].object;
        AUTO(tree_freep) json_t *filled = request->pods ? parameters_fill(object) : NULL;
        if (!request->pods) {
            json_array_append(items, object);
        } else if (add_pods(items, filled ? filled : object, err) < 0) {
            return error_context(err, "%s", files->at[i].path);
        }
    }
    if (request->show && !request->pods && files->count == 1) {
        print(json_array_get(items, 0));
    } else {
        print_list(items);
    }
    return 0;
}

static int check_request(const struct request *request, struct error *err) {
    const struct remote_options *where = &request->where;
    if (request->files.count == 0) {
        return error_set(err, ERROR_INVALID, "-f FILE is missing: give a manifest (--help)");
    }
    if (request->server && (request->show || request->pods)) {
        return error_set(
            err, ERROR_INVALID,
            "--server asks the API server, --show and --pods do not: give one of them");
    }
    if (!request->server && (where->namespace || where->context || where->kubeconfig)) {
        return error_set(err, ERROR_INVALID, "-n, --context and --kubeconfig require --server");
    }
    return 0;
}

/* What an administrator's policy says to the manifests that are right otherwise. */
static int check_policy(const struct request *request, struct resource_files *files,
                        struct error *err) {
    AUTO(tree_freep) json_t *policy = NULL;
    if (request->policy && job_policy_read(request->policy, &policy, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < files->count; i++) {
        struct resource_file *file = &files->at[i];
        AUTO(tree_freep) json_t *filled = file->object ? parameters_fill(file->object) : NULL;
        if (file->object && !file->why.kind &&
            job_policy_check(policy, filled ? filled : file->object, &file->why) < 0) {
            (void)error_context(&file->why, "%s", file->path);
        }
    }
    return 0;
}

static int check(const struct request *request, int *ret_code, struct error *err) {
    AUTO(resource_files_release) struct resource_files files = {0};
    bool prints = request->show || request->pods;
    if (check_request(request, err) < 0 ||
        resource_files_read(&request->files, prints ? RESOURCE_OF_CLUSTER : RESOURCE_SUPPORTED,
                            &request->sets, &files, err) < 0 ||
        resource_files_check_sets(&files, &request->sets, err) < 0 ||
        check_policy(request, &files, err) < 0) {
        return -1;
    }
    run_graph_check(&files);
    if (request->server && check_server_ask(&request->where, &files, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < files.count && !prints; i++) {
        const json_t *object = files.at[i].object;
        if (object && !files.at[i].why.kind) {
            printf("%s: %s %s is OK%s\n", files.at[i].path, tree_text(object, "kind", ""),
                   tree_text(object, "metadata.name", ""),
                   request->server ? ", says the API server, too" : "");
        }
    }
    fflush(stdout);
    *ret_code = print_errors(&files);
    if (*ret_code == 0 && !prints) {
        run_graph_print_missing(&files, "windlass check");
    }
    return prints && *ret_code == 0 ? print_all(request, &files, err) : 0;
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
    (void)words;
    int result = check(context, ret_code, err);
    if (result < 0 && err->kind == ERROR_NOT_FOUND) {
        err->kind = ERROR_INVALID; /* a wrong argument: exit code 2 */
    }
    return result;
}

int check_command(int argc, char **argv) {
    struct request request = {0};
    AUTO(text_freep) char *pods_help = about_pods();
    const struct option options[] = {
        {"file", 'f', OPTION_LIST, "FILE", "Manifests (YAML or JSON); may be repeated.",
         &request.files},
        {"set", 0, OPTION_LIST, "NAME=VALUE",
         "Changes a value of spec.parameters; may be repeated.", &request.sets},
        {"show", 0, OPTION_FLAG, NULL, "Print the resource as JSON, with its defaults.",
         &request.show},
        {"pods", 0, OPTION_FLAG, NULL, pods_help, &request.pods},
        {"server", 0, OPTION_FLAG, NULL, "Ask the API server, too, by a dry run.", &request.server},
        {"job-policy", 0, OPTION_TEXT, "JSON|FILE",
         "Also check against the controller's --job-policy.", &request.policy},
        REMOTE_ROWS(&request.where),
        {0},
    };
    const struct cli_command command = {
        .name = "check", .help = &help, .options = options, .run = run, .context = &request};
    return cli_command_run(&command, argc, argv);
}
