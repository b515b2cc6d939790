// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/run/run_graph.h"

#include "operator/kinds/job/after/after.h"
#include "operator/kinds/job/after/after_reference.h"
#include "operator/kinds/job/after/after_volumes.h"
#include "operator/kinds/kinds.h"
#include "operator/local/runs/run_list.h"
#include "operator/local/volume.h"
#include "operator/local/volume_beside.h"
#include "operator/object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };

/* Of a run: {volume: its folder}. */
#define FOLDERS "folders"

static const json_t *entries_of(const struct resource_file *file) {
    return tree_get(file->object, "spec.after");
}

static const char *name_of(const struct resource_file *file) {
    return tree_text(file->object, "metadata.name", "");
}

static const char *namespace_of(const struct resource_file *file) {
    return tree_text(file->object, "metadata.namespace", "default");
}

/* The first job of the files that an entry of the spec.after of job `from` names, or NONE: one of
 * its namespace. */
static ssize_t find(const struct resource_files *files, size_t from, const json_t *entry,
                    size_t *ret_count) {
    const char *kind = tree_text(entry, "kind", NULL);
    ssize_t first = NONE;
    *ret_count = 0;
    for (size_t i = 0; i < files->count; i++) {
        const struct resource_file *file = &files->at[i];
        bool is_it = strcmp(name_of(file), tree_text(entry, "name", "")) == 0 && file->object &&
                     strcmp(namespace_of(file), namespace_of(&files->at[from])) == 0 &&
                     (!kind || strcmp(kind, tree_text(file->object, "kind", "")) == 0);
        first = is_it && first == NONE ? (ssize_t)i : first;
        *ret_count += is_it;
    }
    return first;
}

bool run_graph_is(const struct resource_files *files) {
    for (size_t i = 0; i < files->count; i++) {
        if (entries_of(&files->at[i])) {
            return true;
        }
    }
    return false;
}

/* ---- check ---- */

/* Whether `from` waits for the file's job, itself or by others; *way: the names on it, owned. */
static bool leads_to(const struct resource_files *files, size_t from, size_t to, bool *seen,
                     char **way) {
    const json_t *entries = entries_of(&files->at[from]);
    for (size_t i = 0; i < json_array_size(entries); i++) {
        size_t count = 0;
        ssize_t next = find(files, from, json_array_get(entries, i), &count);
        if (next == NONE) {
            continue;
        }
        size_t at = (size_t)next;
        bool is_new = !seen[at];
        seen[at] = true;
        if (at == to || (is_new && leads_to(files, at, to, seen, way))) {
            char *longer = x_printf(", %s%s", name_of(&files->at[at]), *way ? *way : "");
            free(*way);
            *way = longer;
            return true;
        }
    }
    return false;
}

static void check_one(struct resource_files *files, size_t index) {
    struct resource_file *file = &files->at[index];
    const json_t *entries = entries_of(file);
    AUTO(text_freep) char *way = NULL;
    bool *seen = x_calloc(files->count, sizeof *seen);
    if (leads_to(files, index, index, seen, &way)) {
        error_set(&file->why, ERROR_INVALID,
                  "%s: spec.after goes in a circle: %s%.300s; take one of them out", file->path,
                  name_of(file), way);
    }
    free(seen);
    for (size_t i = 0; i < json_array_size(entries); i++) {
        size_t count = 0;
        const json_t *entry = json_array_get(entries, i);
        if (find(files, index, entry, &count) != NONE && count > 1) {
            error_set(&file->why, ERROR_INVALID,
                      "%s: spec.after: %zu jobs of these files are called %s; give the kind",
                      file->path, count, tree_text(entry, "name", ""));
        }
    }
}

void run_graph_check(struct resource_files *files) {
    for (size_t i = 0; i < files->count; i++) {
        if (files->at[i].object && !files->at[i].why.kind) {
            check_one(files, i);
        }
    }
}

void run_graph_print_missing(const struct resource_files *files, const char *program) {
    for (size_t i = 0; i < files->count; i++) {
        const json_t *entries = entries_of(&files->at[i]);
        for (size_t k = 0; k < json_array_size(entries); k++) {
            size_t count = 0;
            const json_t *entry = json_array_get(entries, k);
            if (find(files, i, entry, &count) == NONE) {
                fprintf(stderr, "%s: note: %s: %s waits for %s, which is in none of these files\n",
                        program, files->at[i].path, name_of(&files->at[i]),
                        tree_text(entry, "name", ""));
            }
        }
    }
}

/* ---- run ---- */

void run_graph_init(struct run_graph *graph, const struct resource_files *files) {
    *graph = (struct run_graph){files, x_calloc(files->count, sizeof *graph->states)};
}

void run_graph_release(struct run_graph *graph) {
    free(graph->states);
    *graph = (struct run_graph){0};
}

/* The first job that this one waits for and that is in that state, or NONE. */
static ssize_t find_in_state(const struct run_graph *graph, size_t index,
                             enum run_graph_state state) {
    const json_t *entries = entries_of(&graph->files->at[index]);
    for (size_t i = 0; i < json_array_size(entries); i++) {
        size_t count = 0;
        ssize_t one = find(graph->files, index, json_array_get(entries, i), &count);
        if (one != NONE && graph->states[one] == state) {
            return one;
        }
    }
    return NONE;
}

bool run_graph_next(const struct run_graph *graph, size_t *ret_index) {
    for (size_t i = 0; i < graph->files->count; i++) {
        if (graph->states[i] == RUN_GRAPH_TODO && find_in_state(graph, i, RUN_GRAPH_TODO) == NONE) {
            *ret_index = i;
            return true;
        }
    }
    return false;
}

const char *run_graph_failed_before(const struct run_graph *graph, size_t index) {
    ssize_t one = find_in_state(graph, index, RUN_GRAPH_FAILED);
    return one == NONE ? NULL : name_of(&graph->files->at[one]);
}

bool run_graph_is_undisturbed(const struct run_graph *graph, size_t index) {
    return find_in_state(graph, index, RUN_GRAPH_DONE) == NONE;
}

/* A run of this machine, as the cluster would have it, with its folders; owned. */
static json_t *find_run(const json_t *entry, struct error *err) {
    AUTO(run_list_release) struct run_list list = {0};
    const char *name = tree_text(entry, "name", ""), *kind = tree_text(entry, "kind", NULL);
    if (run_list_read(&list, err) < 0) {
        return NULL;
    }
    const struct run_item *item = run_list_find(&list, name);
    AUTO(tree_freep) json_t *job = item ? run_list_job(item) : NULL;
    bool is_of_kind = !kind || strcmp(kind, tree_text(job, "kind", "")) == 0;
    const json_t *ended = object_succeeded(json_object_get(job, "status"));
    if (!job || !is_of_kind || strcmp(tree_text(ended, "status", ""), "True") != 0) {
        error_set(err, ERROR_INVALID,
                  "spec.after: %s is in none of these files, and its last run on this machine %s; "
                  "run it first, or give its file, too",
                  name, job && is_of_kind ? "has not succeeded" : "does not exist");
        return NULL;
    }
    json_object_set(job, FOLDERS, json_object_get(item->record, "folders"));
    return TAKE(job);
}

/* The jobs that it waits for; owned. */
static json_t *gather(const struct run_graph *graph, size_t index, struct error *err) {
    const json_t *entries = entries_of(&graph->files->at[index]);
    AUTO(tree_freep) json_t *jobs = json_array();
    for (size_t i = 0; i < json_array_size(entries); i++) {
        size_t count = 0;
        const json_t *entry = json_array_get(entries, i);
        ssize_t one = find(graph->files, index, entry, &count);
        json_t *job =
            one == NONE ? find_run(entry, err) : json_incref(graph->files->at[one].object);
        if (!job) {
            return NULL;
        }
        json_array_append_new(jobs, job);
    }
    return TAKE(jobs);
}

/* The others' outputs may be in folders beside the manifest that it did not name itself. */
static void declare_volumes(json_t *object, const char *path) {
    AUTO(text_freep) char *folder = volume_manifest_folder(path);
    free(volume_beside_declare(object, kinds_of(object)->local.within, folder));
}

/* A job that gets what others have written. */
struct fitting {
    const struct run_graph *graph;
    size_t index;
    const struct run_options *options;
    const json_t *object; /* with their outputs */
};

/* The folder of the volume of VOLUME/path, for the job of a file; owned; NULL: it has none. */
static char *folder_of(const struct fitting *fitting, const json_t *object, const char *file,
                       const char *path) {
    AUTO(text_freep) char *manifest_folder = volume_manifest_folder(file);
    struct volume_places places = {.given = fitting->options->volumes.values,
                                   .given_count = fitting->options->volumes.count,
                                   .manifest_folder = manifest_folder};
    const json_t *volume = after_volumes_find(object, path);
    struct error ignored = {0};
    char *folder = NULL;
    bool is_found = volume && !json_object_get(volume, "emptyDir") &&
                    volume_find(&places, volume, &folder, &ignored) == 0;
    return is_found ? folder : NULL;
}

/* The same of a job that it waits for. */
static char *folder_of_other(const struct fitting *fitting, const json_t *job, const char *path) {
    const struct resource_files *files = fitting->graph->files;
    AUTO(text_freep) char *volume = x_strndup(path, strcspn(path, "/"));
    const char *of_run = tree_text(json_object_get(job, FOLDERS), volume, NULL);
    for (size_t i = 0; i < files->count; i++) {
        if (files->at[i].object == job) {
            return folder_of(fitting, job, files->at[i].path, path);
        }
    }
    return of_run ? x_strdup(of_run) : NULL;
}

static int check_folders(const struct fitting *fitting, const json_t *jobs, struct error *err) {
    const struct resource_file *file = &fitting->graph->files->at[fitting->index];
    for (size_t i = 0; i < json_array_size(jobs); i++) {
        const json_t *job = json_array_get(jobs, i);
        const char *path = after_output(job);
        if (!path || strstr(path, "://") || !after_volumes_uses(file->object, job)) {
            continue;
        }
        AUTO(text_freep) char *ours = folder_of(fitting, fitting->object, file->path, path);
        AUTO(text_freep) char *theirs = folder_of_other(fitting, job, path);
        if (ours && theirs && strcmp(ours, theirs) != 0) {
            return error_set(err, ERROR_INVALID,
                             "spec.volumes: %.*s is %s here, but %s in %s, which has written to "
                             "%s: give --volume, so that it is the same folder",
                             (int)strcspn(path, "/"), path, ours, theirs,
                             tree_text(job, "metadata.name", ""), path);
        }
    }
    return 0;
}

int run_graph_fill(const struct run_graph *graph, size_t index, const struct run_options *options,
                   json_t **ret_object, struct error *err) {
    const struct resource_file *file = &graph->files->at[index];
    AUTO(tree_freep) json_t *jobs = gather(graph, index, err);
    if (!jobs) {
        return error_context(err, "%s", file->path);
    }
    AUTO(tree_freep) json_t *values = after_values(file->object, jobs);
    AUTO(tree_freep) json_t *object = json_copy(file->object);
    if (after_reference_check_values(object, values, err) < 0) {
        return error_context(err, "%s", file->path);
    }
    after_reference_fill_in(object, values);
    json_object_del(json_object_get(object, "spec"), "after");
    declare_volumes(object, file->path);
    const struct fitting fitting = {graph, index, options, object};
    if (check_folders(&fitting, jobs, err) < 0 || kinds_of(object)->check(object, err) < 0) {
        return error_context(err, "%s", file->path);
    }
    *ret_object = TAKE(object);
    return 0;
}
