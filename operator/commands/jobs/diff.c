// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/jobs/diff.h"

#include "lib/text/shown.h"
#include "operator/commands/cli_command.h"
#include "operator/commands/jobs/job_where.h"
#include "operator/kinds/job/parameters/parameters.h"
#include "operator/resource_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
    struct job_where where;
    struct option_list files, sets;
};

static void print_value(char sign, const char *path, const json_t *value) {
    AUTO(text_freep)
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
    AUTO(text_freep) char *line = x_printf("%c %s: %s", sign, path, text);
    AUTO(text_freep) char *shown = shown_text(line, strlen(line));
    printf("%s\n", shown);
}

/* Prints the fields that differ, lists by their items; true: some do. */
static bool compare(const char *path, const json_t *then, const json_t *now);

static bool compare_member(const char *path, const json_t *then, const json_t *now) {
    if (then && now) {
        return compare(path, then, now);
    }
    print_value(then ? '-' : '+', path, then ? then : now);
    return true;
}

static bool compare_lists(const char *path, const json_t *then, const json_t *now) {
    bool differs = false;
    size_t count = MAX(json_array_size(then), json_array_size(now));
    for (size_t i = 0; i < count; i++) {
        AUTO(text_freep) char *item = x_printf("%s[%zu]", path, i);
        differs |= compare_member(item, json_array_get(then, i), json_array_get(now, i));
    }
    return differs;
}

static bool compare_objects(const char *path, const json_t *then, const json_t *now) {
    bool differs = false;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)then, key, value) {
        AUTO(text_freep) char *member = x_printf("%s.%s", path, key);
        differs |= compare_member(member, value, json_object_get(now, key));
    }
    json_object_foreach((json_t *)now, key, value) {
        AUTO(text_freep) char *member = x_printf("%s.%s", path, key);
        differs |= !json_object_get(then, key) && compare_member(member, NULL, value);
    }
    return differs;
}

/* A decimal may be a number or its text (schema_is_decimal). */
static bool is_number(const json_t *value, double *ret_number) {
    char *end = NULL;
    *ret_number =
        json_is_string(value) ? strtod(json_string_value(value), &end) : json_number_value(value);
    return json_is_number(value) || (end && end != json_string_value(value) && !*end);
}

static bool is_same_number(const json_t *then, const json_t *now) {
    double first, second;
    return (json_is_number(then) || json_is_number(now)) && is_number(then, &first) &&
           is_number(now, &second) && first == second;
}

static bool compare(const char *path, const json_t *then, const json_t *now) {
    if (json_equal(then, now) || is_same_number(then, now)) {
        return false;
    }
    if (json_is_object(then) && json_is_object(now)) {
        return compare_objects(path, then, now);
    }
    if (json_is_array(then) && json_is_array(now)) {
        return compare_lists(path, then, now);
    }
    print_value('-', path, then);
    print_value('+', path, now);
    return true;
}

/* The spec that the job has now: of a run of this machine as its manifest had it. */
static const json_t *spec_of(const struct job_found *found) {
    return found->run ? tree_get(found->run->record, "manifest.spec")
                      : json_object_get(found->job, "spec");
}

/* As kubectl, in the manifest's own namespace where none is given. */
static int find_remote(const struct request *request, const struct resource_file *file,
                       struct job_found *found, struct error *err) {
    struct job_where where = request->where;
    if (!where.remote.namespace) {
        where.remote.namespace = tree_text(file->written, "metadata.namespace", NULL);
    }
    return job_where_find(&where, tree_text(file->object, "metadata.name", ""), found, err);
}

/* *ret_is_new: neither a run of this machine nor a cluster has a job of that name. What cannot be
 * asked is an error: a job that is said to be new would be changed unseen. */
static int find(const struct request *request, const struct resource_file *file,
                struct job_found *found, bool *ret_is_new, struct error *err) {
    const struct job_where here = {.here = true};
    if (!job_where_is_remote(&request->where)) {
        if (job_where_find(&here, tree_text(file->object, "metadata.name", ""), found, err) == 0) {
            return 0;
        }
        if (err->kind != ERROR_INVALID) {
            return -1;
        }
        error_clear(err); /* no run has that name */
        *ret_is_new = request->where.here || !remote_is_configured(&request->where.remote);
    }
    if (*ret_is_new || find_remote(request, file, found, err) == 0) {
        return 0;
    }
    *ret_is_new = err->kind == ERROR_NOT_FOUND;
    if (*ret_is_new) {
        error_clear(err);
    }
    return *ret_is_new ? 0 : -1;
}

static int diff_one(const struct request *request, const struct resource_file *file, bool *ret_news,
                    struct error *err) {
    AUTO(job_found_release) struct job_found found = {0};
    const char *name = tree_text(file->object, "metadata.name", "");
    bool is_new = false;
    if (find(request, file, &found, &is_new, err) < 0) {
        return -1;
    }
    if (is_new) {
        printf("+ %s %s of %s is new\n", tree_text(file->object, "kind", ""), name, file->path);
        *ret_news = true;
        return 0;
    }
    AUTO(tree_freep) json_t *filled = parameters_fill(file->object); /* as runs record it */
    const json_t *now = json_object_get(filled ? filled : file->object, "spec");
    AUTO(tree_freep) json_t *stored = NULL;
    if (!found.run && remote_apply_dry(&found.remote, file->written, &stored, err) < 0) {
        return error_context(err, "%s", file->path);
    }
    *ret_news |= compare("spec", spec_of(&found), stored ? json_object_get(stored, "spec") : now);
    return 0;
}

static int run(void *context, const struct option_list *words, int *ret_code, struct error *err) {
    const struct request *request = context;
    AUTO(resource_files_release) struct resource_files files = {0};
    bool has_news = false;
    (void)words;
    if (request->files.count == 0) {
        return error_set(err, ERROR_INVALID, "-f FILE is missing: give a manifest (--help)");
    }
    if (resource_files_read(&request->files, RESOURCE_OF_CLUSTER, &request->sets, &files, err) <
            0 ||
        resource_files_check_sets(&files, &request->sets, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < files.count; i++) {
        if (files.at[i].why.kind) {
            *err = files.at[i].why;
            return -1;
        }
        if (diff_one(request, &files.at[i], &has_news, err) < 0) {
            return -1;
        }
    }
    *ret_code = has_news;
    return 0;
}

int diff_command(int argc, char **argv) {
    struct request request = {0};
    static const struct command_help help = {
        .usage = "windlass diff -f FILE [options]",
        .about =
            "Prints the fields of manifests that differ from the jobs of their names: from the\n"
            "manifest of the newest run on this machine, else from the job of the cluster, as\n"
            "a dry run of kubectl apply would change it. Without -n the job is looked for in the\n"
            "manifest's own namespace. If no cluster is configured, manifests without a run on\n"
            "this machine count as new.\n\n"
            "Exit codes: 0 nothing differs, 1 something does or is new, 2 manifest or usage,\n"
            "3 the cluster.",
        .examples = "windlass diff -f job.yaml\n"
                    "windlass diff -f jobs/ -n research"};
    const struct option options[] = {
        {"file", 'f', OPTION_LIST, "FILE", "Manifests: files, folders, - for standard input.",
         &request.files},
        {"set", 0, OPTION_LIST, "NAME=VALUE",
         "Changes a value of spec.parameters; may be repeated.", &request.sets},
        JOB_WHERE_ROWS(&request.where),
        {0},
    };
    const struct cli_command command = {
        .name = "diff", .help = &help, .options = options, .run = run, .context = &request};
    return cli_command_run(&command, argc, argv);
}
