// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/run/run_outputs.h"

#include "lib/file.h"
#include "operator/commands/run/run_inputs.h"
#include "operator/kinds/kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RESULT_BYTES_MAX = 4 << 20, LINE_BYTES_MAX = 64 << 10 };

struct look {
    const json_t *object, *job, *folders;
};

/* Whether that file is in the folder, with that size. */
static bool has_file(const char *folder, const char *name, int64_t size_bytes) {
    AUTO(text_freep) char *path = file_join(folder, name);
    struct stat status;
    return *name && stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           status.st_size == size_bytes;
}

static bool has_entry(const char *folder, const json_t *entry) {
    return has_file(folder, tree_text(entry, "name", ""), tree_integer(entry, "bytes", -1));
}

static bool has_entries(const char *folder, const json_t *entries) {
    for (size_t i = 0; i < json_array_size(entries); i++) {
        if (!has_entry(folder, json_array_get(entries, i))) {
            return false;
        }
    }
    return true;
}

/* A line of a list of files: [NAME, SIZE, SHA-256]. */
static bool has_line(const char *folder, const char *line, size_t size) {
    AUTO(tree_freep) json_t *tree = NULL;
    struct error ignored = {0};
    if (size > LINE_BYTES_MAX || tree_parse(line, size, LINE_BYTES_MAX, &tree, &ignored) < 0) {
        return false;
    }
    const char *name = json_string_value(json_array_get(tree, 0));
    return has_file(folder, name ? name : "", json_integer_value(json_array_get(tree, 1)));
}

/* The list may have millions of lines; it has the size that result.json says. */
static bool has_list(const char *folder, const json_t *list) {
    if (!list) {
        return true;
    }
    AUTO(text_freep) char *path = file_join(folder, tree_text(list, "name", ""));
    FILE *file = has_entry(folder, list) ? fopen(path, "re") : NULL;
    AUTO(text_freep) char *line = NULL;
    size_t room = 0;
    ssize_t size = 0;
    bool is_whole = file;
    while (is_whole && (size = getline(&line, &room, file)) > 0) {
        is_whole = has_line(folder, line, (size_t)size);
    }
    if (file) {
        is_whole = !ferror(file) && is_whole;
        fclose(file);
    }
    return is_whole;
}

/* A job that had nothing to do keeps the result of its earlier run; one with processes of its own,
 * whose exits its result has, writes it each time. */
static bool is_of_job(const struct look *look, const json_t *result) {
    const char *uid = tree_text(look->job, "metadata.uid", "");
    return strcmp(tree_text(result, "kind", ""), tree_text(look->object, "kind", "")) == 0 &&
           strcmp(tree_text(result, "name", ""), tree_text(look->object, "metadata.name", "")) ==
               0 &&
           (!json_object_get(result, "proof") || strcmp(tree_text(result, "uid", ""), uid) == 0);
}

static bool has_result(const struct look *look, const char *folder) {
    AUTO(text_freep) char *path = file_join(folder, "result.json");
    AUTO(text_freep) char *text = NULL;
    AUTO(tree_freep) json_t *result = NULL;
    struct error ignored = {0};
    size_t size = 0;
    return file_read(path, RESULT_BYTES_MAX, &text, &size, &ignored) == 0 &&
           tree_parse(text, size, RESULT_BYTES_MAX, &result, &ignored) == 0 &&
           is_of_job(look, result) && has_entries(folder, json_object_get(result, "outputs")) &&
           has_entries(folder, json_object_get(result, "reports")) &&
           has_list(folder, json_object_get(result, "list"));
}

/* path: VOLUME/path; NULL: the job has no such output. */
static bool is_there(const struct look *look, const char *path, bool needs_result) {
    AUTO(text_freep) char *folder = path ? run_inputs_path(path, look->folders) : NULL;
    return !path ||
           (folder && access(folder, F_OK) == 0 && (!needs_result || has_result(look, folder)));
}

bool run_outputs_are_whole(const json_t *object, const json_t *job, const json_t *folders) {
    const struct look look = {.object = object, .job = job, .folders = folders};
    const json_t *within = tree_get(object, kinds_of(object)->local.within);
    const json_t *outputs = json_object_get(within, "outputs");
    bool is_below = within != tree_get(object, "spec"); /* its jobs have folders below */
    bool has_results = !is_below && !tree_get(job, "status.proof.resultMessage");
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        const char *path = tree_text(json_array_get(outputs, i), "path", NULL);
        if (!is_there(&look, path, has_results)) {
            return false;
        }
    }
    return is_there(&look, tree_text(object, "spec.output.path", NULL), true) &&
           is_there(&look, tree_text(object, "spec.register.path", NULL), false) &&
           is_there(&look, tree_text(within, "trainer.output.path", NULL), !is_below);
}
