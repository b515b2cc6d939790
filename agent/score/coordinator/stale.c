// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/stale.h"

#include "agent/data/kinds/output_name.h"
#include "agent/data/source/sorter.h"
#include "agent/result/output_lines.h"
#include "agent/result/result_write.h"
#include "agent/score/coordinator/summary.h"
#include "agent/score/log/run_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char old_mark = 'o', new_mark = 'n';

struct sweeping {
    struct prepared_job *prepared;
    const struct job *job;
    struct sorter *sorter; /* keys: name, NUL, mark */
    bool is_blind;         /* for the storage A and a are one name */
    char *name;            /* the current one; NULL before the first */
    bool is_new;           /* it belongs to this generation */
};

/* ---- collecting names ----------------------------------------------------------------------- */

static int add_name(struct sweeping *sweeping, const char *name, char mark, struct error *err) {
    AUTO(text_freep) char *key = x_printf("%s %c", name, mark);
    size_t length = strlen(name);
    for (size_t i = 0; sweeping->is_blind && i < length; i++) {
        key[i] = (char)tolower((unsigned char)key[i]);
    }
    key[length] = 0;
    return sorter_add(sweeping->sorter, key, length + 2, err);
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

static int settle(struct sweeping *sweeping, struct error *err) {
    bool is_stale = sweeping->name && !sweeping->is_new;
    int result = is_stale ? store_remove(sweeping->prepared->output, sweeping->name, err) : 0;
    free(TAKE(sweeping->name));
    return result;
}

static int on_key(void *context, const char *key, size_t size, struct error *err) {
    struct sweeping *sweeping = context;
    if (!sweeping->name || strcmp(sweeping->name, key) != 0) {
        if (settle(sweeping, err) < 0) {
            return -1;
        }
        sweeping->name = x_strdup(key);
        sweeping->is_new = false;
    }
    sweeping->is_new = sweeping->is_new || key[size - 1] == new_mark;
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
    if (add_paths(sweeping, outputs, new_mark, err) < 0 ||
        (bits && add_name(sweeping, OUTPUT_LINES_NAME, new_mark, err) < 0) ||
        (bits && add_items(sweeping, generation->number, added, bits, new_mark, err) < 0) ||
        (bits && sweeping->prepared->dropped.bits &&
         add_items(sweeping, generation->number, added, bits, old_mark, err) < 0) ||
        sorter_run(sweeping->sorter, on_key, sweeping, err) < 0) {
        return -1;
    }
    return settle(sweeping, err);
}

int stale_remove(struct prepared_job *prepared, const struct job *job, const json_t *outputs,
                 const struct kept_bits *bits, struct error *err) {
    const struct generation *generation = &prepared->journal.generation;
    if (generation->number == 0 && !prepared->dropped.bits) {
        return 0;
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
    if (find_first(prepared, &first, err) < 0) {
        return -1;
    }
    for (int64_t number = first; number < generation->number; number++) {
        AUTO(text_freep) char *list = generation_name(generation->home, number, "list", "/");
        if (store_clear(output, list, err) < 0) {
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

int stale_unsay(struct store *output, bool all, struct error *err) {
    return result_remove(output, err) < 0 || (all && store_remove(output, SUMMARY_NAME, err) < 0)
               ? error_context(err, "spec.output.path")
               : 0;
}
