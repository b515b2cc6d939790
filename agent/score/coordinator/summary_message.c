// SPDX-License-Identifier: Apache-2.0
/* Reads a summary. Separate from summary.c so that a worker, which tidies up after a run that has
 * ended, does not link the report (build/windlass-shim). */
#include "agent/score/coordinator/summary.h"

#include "agent/result/result_file.h"

#include <stdlib.h>
#include <string.h>

static bool copy_count(const json_t *tree, const char *field, json_t *words) {
    static const char *const numbers[] = {"total", "done", "failed", "retried"};
    const json_t *from = json_object_get(tree, field);
    json_t *count = json_object();
    json_object_set_new(words, field, count);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        json_t *number = json_object_get(from, numbers[i]);
        if (!json_is_integer(number)) {
            return false;
        }
        json_object_set(count, numbers[i], number);
    }
    static const char *const others[] = {"kept", "leftOut"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        json_t *number = json_object_get(from, others[i]);
        if (json_is_integer(number)) {
            json_object_set(count, others[i], number);
        }
    }
    return true;
}

static bool copy_texts(const json_t *tree, json_t *words) {
    static const char *const texts[] = {"state", "message", "itemsPerSecond"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        json_t *text = json_object_get(tree, texts[i]);
        if (!json_is_string(text)) {
            return false;
        }
        json_object_set(words, texts[i], text);
    }
    json_t *outputs = json_object_get(tree, "outputs"), *output;
    size_t i;
    bool is_sound = json_is_array(outputs);
    json_array_foreach(outputs, i, output) {
        is_sound = is_sound && json_is_string(output);
    }
    json_object_set(words, "outputs", outputs);
    return is_sound;
}

/* What the outputs lack (media.h); summaries of earlier releases may not say it. */
static bool copy_lost(const json_t *tree, json_t *words) {
    json_t *lost = json_object_get(tree, "lost"), *row;
    size_t i;
    bool is_sound = !lost || json_is_array(lost);
    json_array_foreach(lost, i, row) {
        is_sound = is_sound && tree_text(row, "what", NULL) && tree_text(row, "why", NULL);
    }
    if (lost) {
        json_object_set(words, "lost", lost);
    }
    return is_sound;
}

/* True if the exit code is a verdict, not that of a coordinator that was stopped. */
static bool is_verdict(const json_t *tree) {
    const char *state = tree_text(tree, "state", "");
    int64_t code = tree_integer(tree, "exitCode", -1);
    return (code == 0 && strcmp(state, run_progress_state_name(PROGRESS_SUCCEEDED)) == 0) ||
           (code == 1 && strcmp(state, run_progress_state_name(PROGRESS_FAILED)) == 0);
}

json_t *summary_message(const struct job *job, bool any_uid, const char *text, size_t size,
                        int *ret_exit_code) {
    struct error ignored = {0};
    AUTO(tree_freep) json_t *tree = NULL;
    AUTO(tree_freep) json_t *words = json_object();
    if (tree_parse(text, size, SUMMARY_BYTES_MAX, &tree, &ignored) < 0 || !is_verdict(tree) ||
        (!any_uid && strcmp(tree_text(tree, "uid", ""), job->uid) != 0) ||
        strcmp(tree_text(tree, "run", ""), job->run) != 0 || !copy_texts(tree, words) ||
        !copy_lost(tree, words) || !copy_count(tree, "miniBatches", words) ||
        !copy_count(tree, "items", words)) {
        return NULL;
    }
    AUTO(text_freep) char *summary = x_printf("%s/summary.json", job->output);
    json_object_set_new(words, "workers", json_integer(0));
    json_object_set_new(words, "secondsLeft", json_integer(0));
    json_object_set_new(words, "summary", json_string(summary));
    if (json_is_string(json_object_get(tree, "failedLog"))) {
        json_object_set(words, "failedLog", json_object_get(tree, "failedLog"));
    }
    json_object_set_new(words, "report", json_boolean(tree_bool(tree, "report", false)));
    json_object_set(words, "result", json_object_get(tree, "result")); /* for the caller below */
    *ret_exit_code = (int)tree_integer(tree, "exitCode", 1);
    return TAKE(words);
}

/* An output is the output's folder, which exists, or an object in it. */
static bool is_there(const struct job *job, struct store *output, const char *spec_path) {
    size_t length = strlen(job->output);
    struct store_info info;
    struct error ignored = {0};
    return strcmp(spec_path, job->output) == 0 ||
           (text_starts(spec_path, job->output) && spec_path[length] == '/' &&
            store_stat(output, spec_path + length + 1, &info, &ignored) == 0);
}

/* result.json is written last: without it the run has not ended. */
static bool has_result(const struct job *job, struct store *output, const struct buffer *summary) {
    AUTO(buffer_release) struct buffer text;
    struct error ignored = {0};
    buffer_init(&text, RESULT_BYTES_MAX);
    return store_get(output, RESULT_NAME, &text, NULL, &ignored) == 0 && text.data &&
           result_file_completes(text.data, text.size, job->run, summary->data, summary->size);
}

json_t *summary_read_message(const struct job *job, bool any_uid, int *ret_exit_code) {
    struct error ignored = {0};
    AUTO(store_freep) struct store *output = NULL;
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, SUMMARY_BYTES_MAX);
    if (store_open(job->output, /* writes= */ false, &output, &ignored) < 0 ||
        store_get(output, SUMMARY_NAME, &text, NULL, &ignored) < 0) {
        return NULL;
    }
    AUTO(tree_freep)
    json_t *words =
        summary_message(job, any_uid, text.data ? text.data : "", text.size, ret_exit_code);
    size_t i;
    json_t *path;
    if (json_object_get(words, "result") && !has_result(job, output, &text)) {
        return NULL;
    }
    json_object_del(words, "result");
    json_array_foreach(json_object_get(words, "outputs"), i, path) {
        if (!is_there(job, output, json_string_value(path))) {
            return NULL;
        }
    }
    return TAKE(words);
}
