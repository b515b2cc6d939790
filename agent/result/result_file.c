// SPDX-License-Identifier: Apache-2.0
#include "agent/result/result_file.h"

#include "lib/digest.h"

#include <string.h>

json_t *result_file_entry(const char *name, int64_t size_bytes, const char *sha256) {
    return json_pack("{s:s, s:I, s:s}", "name", name, "bytes", (json_int_t)size_bytes, "sha256",
                     sha256);
}

json_t *result_file_list_entry(const char *name, const struct output_lines_sum *sum) {
    json_t *entry = result_file_entry(name, sum->hash.size_bytes, sum->hash.sha256);
    json_object_set_new(entry, "files", json_integer(sum->count));
    json_object_set_new(entry, "fileBytes", json_integer(sum->files_bytes));
    return entry;
}

static bool is_entry(const json_t *entry) {
    const char *name = tree_text(entry, "name", "");
    return output_line_is_name(name) && json_is_integer(json_object_get(entry, "bytes")) &&
           tree_integer(entry, "bytes", -1) >= 0 &&
           output_line_is_sha256(tree_text(entry, "sha256", NULL));
}

static int check_entries(const json_t *result, const char *field, struct error *err) {
    const json_t *list = json_object_get(result, field);
    if (!json_is_array(list) || json_array_size(list) > RESULT_FILES_MAX) {
        return error_set(err, ERROR_INVALID, "%s is not a list of up to %d files", field,
                         RESULT_FILES_MAX);
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (!is_entry(json_array_get(list, i))) {
            return error_set(err, ERROR_INVALID, "%s[%zu] is not a file's name, bytes and sha256",
                             field, i);
        }
    }
    return 0;
}

static int check_list(const json_t *result, struct error *err) {
    const json_t *list = json_object_get(result, "list");
    return !list || (is_entry(list) && tree_integer(list, "files", -1) >= 0 &&
                     tree_integer(list, "fileBytes", -1) >= 0)
               ? 0
               : error_set(err, ERROR_INVALID,
                           "list is not a file's name, bytes, sha256, files and fileBytes");
}

/* Files and folders in the output that do not belong to the result. */
static int check_excluded(const json_t *result, struct error *err) {
    const json_t *list = json_object_get(result, "excluded");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (!name || !output_line_is_name(name)) {
            return error_set(err, ERROR_INVALID,
                             "excluded[%zu] is not the name of a file or folder", i);
        }
    }
    return 0;
}

/* What has ended cannot be more than there was: such counts were not written by Windlass. */
static int check_count(const json_t *counts, const char *unit, struct error *err) {
    enum { TOTAL, DONE, FAILED, RETRIED, KEPT, LEFT_OUT, FIELDS };
    static const char *const fields[FIELDS] = {"total",   "done", "failed",
                                               "retried", "kept", "leftOut"};
    const json_t *count = json_object_get(counts, unit);
    int64_t of[FIELDS] = {0};
    for (int i = 0; count && i < FIELDS; i++) {
        const json_t *value = json_object_get(count, fields[i]);
        bool is_left_out = !value && i >= KEPT;
        of[i] = is_left_out ? 0 : json_is_integer(value) ? json_integer_value(value) : -1;
        if (of[i] < 0) {
            return error_set(err, ERROR_INVALID, "counts.%s.%s is not a number of 0 or more", unit,
                             fields[i]);
        }
    }
    if (of[DONE] > of[TOTAL] || of[FAILED] > of[TOTAL] - of[DONE]) {
        return error_set(err, ERROR_INVALID,
                         "counts.%s contradict themselves: %lld done and %lld failed of %lld", unit,
                         (long long)of[DONE], (long long)of[FAILED], (long long)of[TOTAL]);
    }
    return of[KEPT] <= of[DONE]
               ? 0
               : error_set(err, ERROR_INVALID,
                           "counts.%s.kept is %lld, expected at most the %lld that are done", unit,
                           (long long)of[KEPT], (long long)of[DONE]);
}

/* Those of a training have other fields. */
static int check_counts(const json_t *result, struct error *err) {
    const json_t *counts = json_object_get(result, "counts");
    return check_count(counts, "items", err) < 0 ? -1 : check_count(counts, "miniBatches", err);
}

int result_file_parse(const char *text, size_t size, json_t **ret_result, struct error *err) {
    static const char *const texts[] = {"kind", "name", "run", "completed"};
    AUTO(tree_freep) json_t *result = NULL;
    if (tree_parse(text, size, RESULT_BYTES_MAX, &result, err) < 0) {
        return -1;
    }
    int64_t format = tree_integer(result, "windlass", -1);
    if (format != RESULT_FORMAT) {
        return error_set(err, ERROR_INVALID,
                         "its format (field windlass) is %lld, this program reads %d",
                         (long long)format, RESULT_FORMAT);
    }
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (!json_is_string(json_object_get(result, texts[i]))) {
            return error_set(err, ERROR_INVALID, "%s is missing", texts[i]);
        }
    }
    if (check_entries(result, "outputs", err) < 0 || check_entries(result, "reports", err) < 0 ||
        check_list(result, err) < 0 || check_excluded(result, err) < 0 ||
        check_counts(result, err) < 0) {
        return -1;
    }
    *ret_result = TAKE(result);
    return 0;
}

/* Of a DistTrain: a training's has the generation of its start, a command's the list of its files.
 * "": neither is there. */
static const char *maker_of(const json_t *result) {
    return json_object_get(result, "generation") ? RESULT_TRAINER
           : json_object_get(result, "list")     ? RESULT_COMMAND
                                                 : "";
}

int result_file_check_kind(const json_t *result, const char *kind, const char *path,
                           struct error *err) {
    const char *found = tree_text(result, "kind", "");
    const char *maker = strcmp(found, RESULT_DISTTRAIN) == 0 ? maker_of(result) : "";
    bool is_train = strcmp(kind, RESULT_TRAINER) == 0 || strcmp(kind, RESULT_COMMAND) == 0;
    bool is_same = strcmp(found, is_train ? RESULT_DISTTRAIN : kind) == 0 &&
                   (!*maker || strcmp(maker, kind) == 0);
    return is_same ? 0
                   : error_set(err, ERROR_INVALID,
                               "%s holds the result of %.40s %.60s%s%s (" RESULT_NAME
                               "): choose another output",
                               path, found, tree_text(result, "name", "?"),
                               *maker ? ", made by its " : "", maker);
}

const json_t *result_file_find(const json_t *result, const char *name) {
    const json_t *found = tree_find(json_object_get(result, "outputs"), "name", name);
    return found ? found : tree_find(json_object_get(result, "reports"), "name", name);
}

bool result_file_is_excluded(const json_t *excluded, const char *name) {
    for (size_t i = 0; i < json_array_size(excluded); i++) {
        const char *one = json_string_value(json_array_get(excluded, i));
        size_t length = one ? strlen(one) : 0;
        if (length && strncmp(name, one, length) == 0 && (!name[length] || name[length] == '/')) {
            return true;
        }
    }
    return false;
}

bool result_file_completes(const char *text, size_t size, const char *run, const char *summary,
                           size_t summary_size) {
    AUTO(tree_freep) json_t *result = NULL;
    struct error ignored = {0};
    char hex[65];
    if (result_file_parse(text, size, &result, &ignored) < 0 ||
        strcmp(tree_text(result, "run", ""), run) != 0) {
        return false;
    }
    const json_t *entry = result_file_find(result, "summary.json");
    digest_sha256(summary, summary_size, hex);
    return entry && strcmp(tree_text(entry, "sha256", ""), hex) == 0;
}
