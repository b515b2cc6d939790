// SPDX-License-Identifier: Apache-2.0
#include "agent/result/verify.h"

#include "agent/data/source/sorter.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *const verify_fault_names[] = {"missing",  "changed", "denied",
                                          "repeated", "extra",   "newer"};
static_assert(ARRAY_LEN(verify_fault_names) == VERIFY_FAULT_COUNT, "one name per fault");

/* The last byte of a key, behind the name and a NUL. */
enum { IS_NAMED = 1, IS_THERE = 2 };

struct verification {
    const struct verify_options *options;
    struct verify_report report;
    struct sorter *sorter;
    int64_t files, bytes; /* named by result.json */
    /* while the sorted keys are read: */
    char last[STORE_NAME_MAX + 1];
    int last_named;
};

void verify_report_release(struct verify_report *report) {
    for (int i = 0; i < VERIFY_FAULT_COUNT; i++) {
        tree_freep(&report->names[i]);
    }
}

static void note(struct verification *verification, enum verify_fault fault, const char *name) {
    struct verify_report *report = &verification->report;
    if (report->counts[fault]++ < VERIFY_NAMES_MAX) {
        json_t *text = json_string(name);
        /* A name that is not UTF-8 is shown by its bytes that are ASCII. */
        if (!text) {
            AUTO(text_freep) char *shown = x_strdup(name);
            for (char *at = shown; *at; at++) {
                *at = *at & 0x80 ? '?' : *at;
            }
            text = json_string(shown);
        }
        json_array_append_new(report->names[fault], text);
    }
}

static int report_progress(const struct verification *verification, struct error *err) {
    const struct verify_options *options = verification->options;
    return !options->progress || options->progress(options->context, &verification->report,
                                                   verification->files, verification->bytes)
               ? 0
               : error_set(err, ERROR_CANCELLED, "interrupted");
}

static int add_key(struct verification *verification, const char *name, char kind,
                   struct error *err) {
    char key[STORE_NAME_MAX + 2];
    size_t size = strlen(name) + 1;
    memcpy(key, name, size);
    key[size] = kind;
    return sorter_add(verification->sorter, key, size + 1, err);
}

/* ---- what is named -------------------------------------------------------------------------- */

/* 1: the file is as named; 0: it is not, which was noted. */
static int check_file(struct verification *verification, const char *name, int64_t size_bytes,
                      const char *sha256, struct error *err) {
    struct store *output = verification->options->output;
    struct store_info info;
    struct error why = {0};
    struct store_digest hash = {0};
    verification->report.files++;
    if (add_key(verification, name, IS_NAMED, err) < 0) {
        return -1;
    }
    int result = store_stat(output, name, &info, &why);
    bool is_same = result == 0 && info.size_bytes == size_bytes;
    if (is_same) {
        result = store_hash(output, name, NULL, NULL, &hash, &why);
        is_same = result == 0 && hash.size_bytes == size_bytes && strcmp(hash.sha256, sha256) == 0;
        verification->report.bytes += hash.size_bytes;
    }
    if (result < 0 && store_error_is_machine(&why) && why.kind != ERROR_DENIED) {
        *err = why;
        return -1;
    }
    if (!is_same) {
        note(verification,
             why.kind == ERROR_NOT_FOUND ? VERIFY_MISSING
             : why.kind == ERROR_DENIED  ? VERIFY_DENIED
                                         : VERIFY_CHANGED,
             name);
    }
    return report_progress(verification, err) < 0 ? -1 : is_same;
}

static int check_entry(struct verification *verification, const json_t *entry, struct error *err) {
    return check_file(verification, tree_text(entry, "name", ""), tree_integer(entry, "bytes", -1),
                      tree_text(entry, "sha256", ""), err);
}

static int check_entries(struct verification *verification, const char *field, struct error *err) {
    const json_t *list = json_object_get(verification->options->result, field);
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (check_entry(verification, json_array_get(list, i), err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int on_line(void *context, const struct output_line *line, struct error *err) {
    return check_file(context, line->name, line->size_bytes, line->sha256, err) < 0 ? -1 : 0;
}

/* The list itself is as named when its lines are read: it is opened by its change token. */
static int check_list(struct verification *verification, struct error *err) {
    const json_t *list = json_object_get(verification->options->result, "list");
    struct output_lines_sum sum = {0};
    struct error why = {0};
    int64_t denied = verification->report.counts[VERIFY_DENIED];
    int is_same = list ? check_entry(verification, list, err) : 0;
    if (is_same <= 0) {
        verification->report.lacks_list = verification->report.counts[VERIFY_DENIED] > denied;
        return is_same;
    }
    const char *name = tree_text(list, "name", "");
    int result =
        output_lines_read(verification->options->output, name, on_line, verification, &sum, &why);
    bool is_meant = result == 0 && strcmp(sum.hash.sha256, tree_text(list, "sha256", "")) == 0 &&
                    sum.count == tree_integer(list, "files", -1) &&
                    sum.files_bytes == tree_integer(list, "fileBytes", -1);
    if (result < 0 && why.kind != ERROR_INVALID && why.kind != ERROR_CONFLICT &&
        why.kind != ERROR_NOT_FOUND) {
        *err = why;
        return -1;
    }
    if (!is_meant) {
        note(verification, VERIFY_CHANGED, name);
    }
    return 0;
}

/* ---- what is there -------------------------------------------------------------------------- */

static bool is_apart(const struct verification *verification, const char *name) {
    return strcmp(name, RESULT_NAME) == 0 || strcmp(name, RESULT_ENVELOPE_NAME) == 0 ||
           result_file_is_excluded(json_object_get(verification->options->result, "excluded"),
                                   name);
}

static int on_there(void *context, const char *name, const struct store_info *info,
                    struct error *err) {
    bool is_folder = info && info->is_folder; /* a link, whose files are not of this folder */
    return is_folder || is_apart(context, name) ? 0 : add_key(context, name, IS_THERE, err);
}

/* Keys of one name come together, those of named files first. */
static int on_key(void *context, const char *key, size_t size, struct error *err UNUSED) {
    struct verification *verification = context;
    bool is_named = size > 1 && key[size - 1] == IS_NAMED;
    bool is_again = strcmp(key, verification->last) == 0;
    if (!is_again) {
        memcpy(verification->last, key, size - 1);
        verification->last_named = 0;
    }
    if (is_named && ++verification->last_named == 2) {
        note(verification, VERIFY_REPEATED, key);
    } else if (!is_named && verification->last_named == 0 && !verification->report.lacks_list) {
        note(verification, VERIFY_EXTRA, key);
    }
    return 0;
}

/* ---- a training that has begun since -------------------------------------------------------- */

enum { GENERATION_DIGITS = 12 };

struct newest {
    size_t folder;                      /* bytes of a name before the number */
    char digits[GENERATION_DIGITS + 1]; /* of the highest; names come in the order of their bytes */
};

static int on_claim(void *context, const char *name, const struct store_info *info UNUSED,
                    struct error *err UNUSED) {
    struct newest *newest = context;
    const char *digits = name + newest->folder;
    if (strlen(digits) == GENERATION_DIGITS && strspn(digits, "0123456789") == GENERATION_DIGITS) {
        memcpy(newest->digits, digits, GENERATION_DIGITS + 1);
    }
    return 0;
}

/* A start that another one has overtaken may have written its result after it: this is not the
 * result of the training that runs now. */
static int check_generation(struct verification *verification, struct error *err) {
    const json_t *result = verification->options->result;
    const char *run = tree_text(result, "run", "");
    int64_t generation = tree_integer(result, "generation", 0);
    struct newest newest = {.digits = ""};
    if (generation <= 0 || strlen(run) != 16 || strspn(run, "0123456789abcdef") != 16) {
        return 0; /* not a training, or of an earlier release */
    }
    AUTO(text_freep) char *folder = x_printf(".windlass/%s/claim/", run);
    newest.folder = strlen(folder);
    if (store_list(verification->options->output, folder, NULL, on_claim, &newest, err) < 0) {
        return -1;
    }
    verification->report.lacks_claims = !*newest.digits;
    if (strtoll(newest.digits, NULL, 10) > generation) {
        AUTO(text_freep) char *name = x_printf("%s%s", folder, newest.digits);
        note(verification, VERIFY_NEWER, name);
    }
    return 0;
}

static void count_named(struct verification *verification) {
    static const char *const fields[] = {"outputs", "reports"};
    const json_t *result = verification->options->result;
    for (size_t f = 0; f < ARRAY_LEN(fields); f++) {
        const json_t *list = json_object_get(result, fields[f]);
        verification->files += (int64_t)json_array_size(list);
        for (size_t i = 0; i < json_array_size(list); i++) {
            verification->bytes += tree_integer(json_array_get(list, i), "bytes", 0);
        }
    }
    if (json_object_get(result, "list")) {
        verification->files += 1 + tree_integer(result, "list.files", 0);
        verification->bytes +=
            tree_integer(result, "list.bytes", 0) + tree_integer(result, "list.fileBytes", 0);
    }
}

int verify_output(const struct verify_options *options, struct verify_report *ret_report,
                  struct error *err) {
    struct verification verification = {.options = options};
    for (int i = 0; i < VERIFY_FAULT_COUNT; i++) {
        verification.report.names[i] = json_array();
    }
    verification.sorter = sorter_new(options->scratch, "names-", 0);
    count_named(&verification);
    int result =
        check_entries(&verification, "outputs", err) < 0 || check_list(&verification, err) < 0 ||
                check_entries(&verification, "reports", err) < 0 ||
                check_generation(&verification, err) < 0 ||
                store_list_links(options->output, "", NULL, on_there, &verification, err) < 0 ||
                sorter_run(verification.sorter, on_key, &verification, err) < 0
            ? -1
            : 0;
    sorter_free(verification.sorter);
    if (result < 0) {
        verify_report_release(&verification.report);
        return -1;
    }
    *ret_report = verification.report;
    return 0;
}
