// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/stale.h"

#include "agent/data/kinds/output_name.h"
#include "agent/data/source/sorter.h"
#include "agent/result/output_lines.h"
#include "agent/result/result_file.h"
#include "agent/result/result_write.h"
#include "agent/score/coordinator/rerun.h"
#include "agent/score/coordinator/run_result.h"
#include "agent/score/coordinator/summary.h"
#include "agent/score/endpoint/form.h"
#include "agent/score/log/run_file.h"
#include "lib/log.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char old_mark = 'o', new_mark = 'n';
static const char found_mark = 'f'; /* the file's SHA-256 follows */

struct sweeping {
    struct prepared_job *prepared;
    const struct job *job;
    struct sorter *sorter; /* keys: name, NUL, mark */
    bool is_blind;         /* for the storage A and a are one name */
    char *name;            /* the current one; NULL before the first */
    bool is_new;           /* it belongs to this generation */
    bool is_old;           /* ... or to an earlier one */
    char sha256[65]; /* of what was found before the first one (stale_record_strangers); "": nothing
                      */
};

/* ---- what was found without .windlass ------------------------------------------------------- */

/* Of the run that is claimed, or will be. */
static char *notes_name(const struct generation *generation) {
    return generation_name(generation->home, 0, "found", "");
}

/* *ret_result: NULL: there is none, or it is a file of somebody else. */
static int read_result(struct store *output, json_t **ret_result, struct error *err) {
    AUTO(buffer_release) struct buffer text;
    struct error cause = {0};
    buffer_init(&text, RESULT_BYTES_MAX);
    *ret_result = NULL;
    if (store_get(output, RESULT_NAME, &text, NULL, &cause) < 0) {
        bool is_none = cause.kind == ERROR_NOT_FOUND || cause.kind == ERROR_INVALID;
        *err = is_none ? *err : cause;
        return is_none ? 0 : -1;
    }
    (void)!result_file_parse(text.data ? text.data : "", text.size, ret_result, &cause);
    return 0;
}

static int check_kind(const json_t *result, const struct job *job, struct error *err) {
    const char *kind = tree_text(result, "kind", ""), *name = tree_text(result, "name", "");
    return strcmp(kind, RESULT_BATCHSCORE) == 0
               ? 0
               : error_set(err, ERROR_INVALID,
                           "spec.output.path: %.120s holds the result of %.40s %.60s "
                           "(result.json): choose another output",
                           job->output, kind, name);
}

static int check_run(const json_t *result, const struct job *job, struct error *err) {
    const char *name = tree_text(result, "name", "");
    if (check_kind(result, job, err) < 0) {
        return -1;
    }
    return *job->restart || strcmp(tree_text(result, "run", ""), job->run) == 0
               ? 0
               : error_set(err, ERROR_INVALID,
                           "spec.output.path: %.120s holds the results of job %.60s (result.json), "
                           "started with a different spec, and .windlass is gone: " RESTART_HINT,
                           job->output, name);
}

int stale_check_kind(const struct prepared_job *prepared, const struct job *job,
                     struct error *err) {
    AUTO(tree_freep) json_t *result = NULL;
    if (read_result(prepared->output, &result, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    return result ? check_kind(result, job, err) : 0;
}

static int note_line(void *context, const struct output_line *line, struct error *err) {
    return output_lines_add(context, line->name, line->size_bytes, line->sha256, err);
}

/* A list that is not readable names no files: which of them are stale is then not known. */
static int note_list(struct store *output, const json_t *list, struct output_lines_writer *writer,
                     struct error *err) {
    const char *name = tree_text(list, "name", NULL);
    struct output_lines_sum sum;
    struct error cause = {0};
    if (!name) {
        return 0;
    }
    if (output_lines_add(writer, name, tree_integer(list, "bytes", 0),
                         tree_text(list, "sha256", ""), err) < 0) {
        return -1;
    }
    if (output_lines_read(output, name, note_line, writer, &sum, &cause) == 0) {
        return 0;
    }
    if (store_error_is_machine(&cause)) {
        *err = cause;
        return -1;
    }
    log_event(LOG_WARNING, "%s; files of the run before that this one does not make stay",
              cause.text);
    return 0;
}

static int note(struct store *output, const json_t *result, struct output_lines_writer *writer,
                struct error *err) {
    size_t i;
    json_t *file;
    json_array_foreach(json_object_get(result, "outputs"), i, file) {
        if (output_lines_add(writer, tree_text(file, "name", ""), tree_integer(file, "bytes", 0),
                             tree_text(file, "sha256", ""), err) < 0) {
            return -1;
        }
    }
    return note_list(output, json_object_get(result, "list"), writer, err);
}

/* For one that names none there is nothing to note; a list without lines says something else
 * (note_strangers). */
static bool names_files(const json_t *result) {
    return json_array_size(json_object_get(result, "outputs")) > 0 ||
           tree_text(result, "list.name", NULL);
}

static int note_result(struct store *output, const char *name, const json_t *result,
                       struct output_lines_sum *ret_sum, struct error *err) {
    AUTO(output_lines_freep) struct output_lines_writer *writer = NULL;
    return output_lines_begin(output, name, &writer, err) < 0 ||
                   note(output, result, writer, err) < 0
               ? -1
               : output_lines_end(TAKE(writer), ret_sum, err);
}

struct look {
    json_t *result; /* with "excluded": what of the job is below the output */
    bool has_found;
};

static int on_stranger(void *context, const char *name, const struct store_info *info,
                       struct error *err) {
    struct look *look = context;
    (void)info;
    (void)err;
    look->has_found = !result_file_is_excluded(json_object_get(look->result, "excluded"), name);
    return look->has_found;
}

/* Nothing says what the files there are. That there are some is noted as a list without lines. */
static int note_strangers(struct prepared_job *prepared, const struct job *job, struct error *err) {
    AUTO(tree_freep) json_t *result = json_object();
    AUTO(text_freep) char *name = notes_name(&prepared->known);
    AUTO(output_lines_freep) struct output_lines_writer *writer = NULL;
    struct output_lines_sum sum;
    struct look look = {.result = result};
    run_result_add_apart(job, result);
    if (store_list(prepared->output, "", NULL, on_stranger, &look, err) < 0) {
        return -1;
    }
    prepared->has_strangers = look.has_found;
    if (!look.has_found) {
        return 0;
    }
    return output_lines_begin(prepared->output, name, &writer, err) < 0
               ? -1
               : output_lines_end(TAKE(writer), &sum, err);
}

int stale_record_strangers(struct prepared_job *prepared, const struct job *job,
                           struct error *err) {
    AUTO(tree_freep) json_t *result = NULL;
    AUTO(text_freep) char *name = notes_name(&prepared->known);
    struct output_lines_sum sum = {0};
    if (read_result(prepared->output, &result, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    if (!result) {
        return note_strangers(prepared, job, err) < 0 ? error_context(err, "spec.output.path") : 0;
    }
    if (check_run(result, job, err) < 0) {
        return -1;
    }
    if (names_files(result) && note_result(prepared->output, name, result, &sum, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    log_event(LOG_INFO,
              "%s: .windlass is gone: all is made again; what is left of the %lld files in "
              "result.json is removed then",
              job->output, (long long)sum.count);
    return 0;
}

static int found_has(const struct prepared_job *prepared, bool *ret_has, struct error *err) {
    AUTO(text_freep) char *name = notes_name(&prepared->journal.generation);
    struct store_info info;
    struct error cause = {0};
    *ret_has = store_stat(prepared->output, name, &info, &cause) == 0;
    *err = *ret_has || cause.kind == ERROR_NOT_FOUND ? *err : cause;
    return *ret_has || cause.kind == ERROR_NOT_FOUND ? 0 : -1;
}

static int found_read(const struct prepared_job *prepared, output_lines_each *each, void *context,
                      struct error *err) {
    AUTO(text_freep) char *name = notes_name(&prepared->journal.generation);
    struct output_lines_sum sum;
    struct error cause = {0};
    if (output_lines_read(prepared->output, name, each, context, &sum, &cause) == 0 ||
        cause.kind == ERROR_NOT_FOUND) {
        return 0;
    }
    *err = cause;
    return -1;
}

static int found_is_same(struct store *output, const char *name, const char *sha256,
                         bool *ret_is_same, struct error *err) {
    struct store_digest hash;
    struct error cause = {0};
    if (store_hash(output, name, NULL, NULL, &hash, &cause) == 0) {
        *ret_is_same = strcmp(hash.sha256, sha256) == 0;
        return 0;
    }
    *ret_is_same = false;
    *err = store_error_is_machine(&cause) ? cause : *err;
    return store_error_is_machine(&cause) ? -1 : 0;
}

static int found_forget(const struct prepared_job *prepared, struct error *err) {
    AUTO(text_freep) char *name = notes_name(&prepared->journal.generation);
    return store_remove(prepared->output, name, err);
}

int stale_load_strangers(struct prepared_job *prepared, struct error *err) {
    AUTO(text_freep) char *name = notes_name(&prepared->journal.generation);
    struct output_lines_sum sum;
    struct error cause = {0};
    if (output_lines_read(prepared->output, name, NULL, NULL, &sum, &cause) < 0) {
        *err = cause.kind == ERROR_NOT_FOUND ? *err : cause;
        return cause.kind == ERROR_NOT_FOUND ? 0 : error_context(err, "spec.output.path");
    }
    prepared->has_strangers = sum.count == 0;
    return 0;
}

/* ---- collecting names ----------------------------------------------------------------------- */

static int add_key(struct sweeping *sweeping, const char *name, char mark, const char *sha256,
                   struct error *err) {
    AUTO(text_freep) char *key = x_printf("%s %c%s", name, mark, sha256);
    size_t length = strlen(name);
    for (size_t i = 0; sweeping->is_blind && i < length; i++) {
        key[i] = (char)tolower((unsigned char)key[i]);
    }
    key[length] = 0;
    return sorter_add(sweeping->sorter, key, length + 2 + strlen(sha256), err);
}

static int add_name(struct sweeping *sweeping, const char *name, char mark, struct error *err) {
    return add_key(sweeping, name, mark, "", err);
}

static int add_found(void *context, const struct output_line *line, struct error *err) {
    return add_key(context, line->name, found_mark, line->sha256, err);
}

/* The names of a generation's files. bits: NULL: of all items. Old ones of the present generation
 * are those of items whose result does not count any more, and may have been published; a file
 * with the name of another item without a result is not ours. */
static int add_items(struct sweeping *sweeping, int64_t number, const char *added,
                     const struct kept_bits *bits, char mark, struct error *err) {
    bool lacks = mark == old_mark && number == sweeping->prepared->journal.generation.number;
    const char *home = sweeping->prepared->journal.generation.home;
    AUTO(text_freep) char *folder = generation_name(home, number, "list", "");
    static const struct kept_bits none = {0};
    struct list_results results = kept_bits_results(bits ? bits : &none);
    struct list_results dropped = kept_bits_results(&sweeping->prepared->dropped);
    struct list_reader reader;
    int found;
    list_reader_init(&reader, sweeping->prepared->output, home, folder);
    while ((found = list_reader_next(&reader, err)) > 0) {
        bool has_result =
            reader.flag == LIST_KEPT || !bits || list_results_has(&results, reader.scored);
        bool was_dropped = lacks && list_results_has(&dropped, reader.scored);
        bool has_file = reader.name && (lacks ? was_dropped && !has_result : has_result);
        AUTO(text_freep) char *name = x_printf("%s%s", reader.name ? reader.name : "", added);
        if (has_file && add_name(sweeping, name, mark, err) < 0) {
            found = -1;
            break;
        }
    }
    list_reader_release(&reader);
    return found;
}

static int add_paths(struct sweeping *sweeping, const json_t *outputs, char mark,
                     struct error *err) {
    const char *folder = sweeping->job->output;
    size_t i, length = strlen(folder);
    json_t *path;
    json_array_foreach(outputs, i, path) {
        const char *text = json_is_string(path) ? json_string_value(path) : "";
        bool is_below = text_starts(text, folder) && text[length] == '/' && text[length + 1];
        if (is_below && add_name(sweeping, text + length + 1, mark, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static bool has_files(const json_t *spec) {
    return tree_get(spec, "input.files") &&
           strcmp(tree_text(spec, "output.mode", ""), "PerFile") == 0;
}

static int add_earlier(struct sweeping *sweeping, int64_t number, struct error *err) {
    struct prepared_job *prepared = sweeping->prepared;
    const char *home = prepared->journal.generation.home;
    AUTO(tree_freep) json_t *run = NULL;
    AUTO(tree_freep) json_t *outputs = NULL;
    AUTO(kept_bits_release) struct kept_bits bits = {0};
    AUTO(tree_freep) json_t *lines = NULL;
    if (run_file_read(prepared->output, home, number, &run, err) < 0 ||
        kept_load_made(prepared->output, home, number, &outputs, &lines, err) < 0 ||
        kept_load_bits(prepared->output, home, number, &bits, err) < 0) {
        return -1;
    }
    /* Releases without stored specs: the items' files are those of a spec like ours. */
    const json_t *spec = tree_get(run, "spec") ?: sweeping->job->spec;
    if (endpoint_form_is_batch(spec) && add_name(sweeping, ERRORS_NAME, old_mark, err) < 0) {
        return -1;
    }
    if (has_files(spec)) {
        if (add_name(sweeping, OUTPUT_LINES_NAME, old_mark, err) < 0) {
            return -1;
        }
        return add_items(sweeping, number, output_name_added(spec), bits.bits ? &bits : NULL,
                         old_mark, err);
    }
    return add_paths(sweeping, outputs, old_mark, err);
}

/* ---- removing ------------------------------------------------------------------------------- */

static int remove_if_stale(struct sweeping *sweeping, struct error *err) {
    struct store *output = sweeping->prepared->output;
    AUTO(text_freep) char *name = TAKE(sweeping->name);
    bool is_stale = sweeping->is_old;
    if (!name || sweeping->is_new) {
        return 0;
    }
    if (!is_stale && found_is_same(output, name, sweeping->sha256, &is_stale, err) < 0) {
        return -1;
    }
    return is_stale ? store_remove(output, name, err) : 0;
}

static int on_key(void *context, const char *key, size_t size, struct error *err) {
    struct sweeping *sweeping = context;
    size_t length = strlen(key) + 1;
    char mark = key[length];
    if (!sweeping->name || strcmp(sweeping->name, key) != 0) {
        if (remove_if_stale(sweeping, err) < 0) {
            return -1;
        }
        sweeping->name = x_strdup(key);
        sweeping->is_new = sweeping->is_old = false;
        *sweeping->sha256 = 0;
    }
    sweeping->is_new = sweeping->is_new || mark == new_mark;
    sweeping->is_old = sweeping->is_old || mark == old_mark;
    if (mark == found_mark) {
        snprintf(sweeping->sha256, sizeof sweeping->sha256, "%.*s", (int)(size - length - 1),
                 key + length + 1);
    }
    return 0;
}

/* The first generation of which files may be left: the newest earlier one with its mark. A log that
 * ends with success does not say that its coordinator has removed anything. */
static int find_first(const struct prepared_job *prepared, int64_t *ret_first, struct error *err) {
    const struct generation *generation = &prepared->journal.generation;
    bool is_marked = false;
    *ret_first = generation->number;
    while (*ret_first > 0 && !is_marked) {
        if (kept_is_marked(prepared->output, generation->home, --*ret_first, &is_marked, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int sweep(struct sweeping *sweeping, const json_t *outputs, const struct kept_bits *bits,
                 struct error *err) {
    const struct generation *generation = &sweeping->prepared->journal.generation;
    const char *added = output_name_added(sweeping->job->spec);
    int64_t first = 0;
    if (find_first(sweeping->prepared, &first, err) < 0) {
        return -1;
    }
    for (int64_t number = first; number < generation->number; number++) {
        if (add_earlier(sweeping, number, err) < 0) {
            return -1;
        }
    }
    bool has_errors = endpoint_form_is_batch(sweeping->job->spec); /* written with the report */
    if (found_read(sweeping->prepared, add_found, sweeping, err) < 0 ||
        add_paths(sweeping, outputs, new_mark, err) < 0 ||
        (has_errors && add_name(sweeping, ERRORS_NAME, new_mark, err) < 0) ||
        (bits && add_name(sweeping, OUTPUT_LINES_NAME, new_mark, err) < 0) ||
        (bits && add_items(sweeping, generation->number, added, bits, new_mark, err) < 0) ||
        (bits && sweeping->prepared->dropped.bits &&
         add_items(sweeping, generation->number, added, bits, old_mark, err) < 0) ||
        sorter_run(sweeping->sorter, on_key, sweeping, err) < 0) {
        return -1;
    }
    return remove_if_stale(sweeping, err);
}

int stale_remove(struct prepared_job *prepared, const struct job *job, const json_t *outputs,
                 const struct kept_bits *bits, struct error *err) {
    const struct generation *generation = &prepared->journal.generation;
    bool has_found = false;
    if (generation->number == 0 && !prepared->dropped.bits) {
        if (found_has(prepared, &has_found, err) < 0) {
            return error_context(err, "spec.output.path");
        }
        if (!has_found) {
            return 0;
        }
    }
    AUTO(text_freep)
    char *scratch =
        x_printf(".windlass/%s/stale-%lld-", generation->home, (long long)prepared->journal.epoch);
    struct sweeping sweeping = {.prepared = prepared,
                                .job = job,
                                .is_blind = output_name_is_blind(prepared->output),
                                .sorter = sorter_new(prepared->output, scratch, 0)};
    int result = sweep(&sweeping, outputs, bits, err);
    sorter_free(sweeping.sorter);
    free(sweeping.name);
    return result < 0 ? error_context(err, "spec.output.path") : 0;
}

int stale_forget(struct prepared_job *prepared, struct error *err) {
    static const char *const objects[] = {"done", "made", "rows"};
    struct store *output = prepared->output;
    const struct generation *generation = &prepared->journal.generation;
    int64_t first = 0;
    if (find_first(prepared, &first, err) < 0 || found_forget(prepared, err) < 0) {
        return -1;
    }
    for (int64_t number = first; number < generation->number; number++) {
        AUTO(text_freep) char *list = generation_name(generation->home, number, "list", "/");
        AUTO(text_freep) char *merged = generation_name(generation->home, number, "merged", "/");
        if (store_clear(output, list, err) < 0 || store_clear(output, merged, err) < 0) {
            return -1;
        }
        for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
            AUTO(text_freep)
            char *name = generation_name(generation->home, number, objects[i], "");
            if (store_remove(output, name, err) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

int stale_remove_result(struct store *output, bool all, struct error *err) {
    return result_remove(output, err) < 0 || (all && store_remove(output, SUMMARY_NAME, err) < 0)
               ? error_context(err, "spec.output.path")
               : 0;
}
