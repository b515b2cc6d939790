// SPDX-License-Identifier: Apache-2.0
/* The runs of a series as objects, and as lines of its status. */
#include "lib/time/clock.h"
#include "operator/kinds/batchscore/series.h"
#include "operator/kinds/job/parameters/parameters.h"
#include "operator/schema.h"

#include <stdlib.h>
#include <string.h>

enum { RUN_TEXT_MAX = 8 << 10, MESSAGE_MAX = 512 };

bool series_is(const json_t *object) {
    const json_t *spec = json_object_get(object, "spec");
    return json_object_get(spec, "trigger") || json_object_get(spec, "schedule") ||
           strcmp(tree_text(spec, "rerun", ""), "OnChange") == 0;
}

bool series_is_run(const json_t *object) {
    return owned_annotation(object, ANNOTATION_RUN) != NULL;
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* NULL: the annotation was removed. Owned. */
static json_t *read_start(const json_t *run) {
    const char *text = owned_annotation(run, ANNOTATION_RUN);
    struct error ignored = {0};
    json_t *start = NULL;
    if (!text || tree_parse(text, strlen(text), RUN_TEXT_MAX, &start, &ignored) < 0) {
        return NULL;
    }
    if (tree_integer(start, "number", 0) < 1 || clock_parse(tree_text(start, "time", "")) < 0) {
        tree_freep(&start);
    }
    return start;
}

static void copy(json_t *to, const char *name, const json_t *from, const char *path) {
    json_t *value = tree_get(from, path);
    if (value) {
        json_object_set(to, name, value);
    }
}

static json_t *line_of(const json_t *run) {
    json_t *line = read_start(run);
    if (!line) {
        return NULL;
    }
    const json_t *condition = conditions_find(run, "Succeeded");
    json_object_set_new(line, "name", json_string(tree_text(run, "metadata.name", "")));
    json_object_set_new(line, "state", json_string(tree_text(condition, "reason", "Pending")));
    copy(line, "output", run, "spec.output.path");
    if (conditions_is_finished(run)) { /* a series reports results, not progress */
        int64_t start_ms = clock_parse(tree_text(run, "status.startTime", ""));
        int64_t end_ms = clock_parse(tree_text(run, "status.completionTime", ""));
        bool is_known = start_ms > 0 && end_ms >= start_ms;
        json_object_set_new(line, "seconds",
                            json_integer(is_known ? (end_ms - start_ms) / 1000 : 0));
        copy(line, "items", run, "status.items");
        copy(line, "message", condition, "message");
    }
    return line;
}

static bool is_over(const json_t *line) {
    return json_object_get(line, "seconds") != NULL;
}

static const json_t *find_line(const json_t *lines, int64_t number) {
    for (size_t i = 0; i < json_array_size(lines); i++) {
        if (tree_integer(json_array_get(lines, i), "number", 0) == number) {
            return json_array_get(lines, i);
        }
    }
    return NULL;
}

/* Newest first; an existing number is left unchanged. */
static void put_line(json_t *lines, json_t *line_new) {
    int64_t number = tree_integer(line_new, "number", 0);
    size_t at = 0;
    while (at < json_array_size(lines) &&
           tree_integer(json_array_get(lines, at), "number", 0) > number) {
        at++;
    }
    if (number < 1 || find_line(lines, number)) {
        json_decref(line_new);
    } else {
        json_array_insert_new(lines, at, line_new);
    }
}

json_t *series_lines(const json_t *object, const json_t *runs) {
    json_t *lines = json_array();
    const json_t *before = tree_get(object, "status.runs");
    for (size_t i = 0; i < json_array_size(runs); i++) {
        json_t *line = line_of(json_array_get(runs, i));
        if (line) {
            put_line(lines, line);
        }
    }
    for (size_t i = 0; i < json_array_size(before); i++) {
        const json_t *old = json_array_get(before, i);
        bool is_here = find_line(lines, tree_integer(old, "number", 0)) != NULL;
        json_t *line = json_copy((json_t *)old);
        if (!is_here && !is_over(old)) { /* the run was deleted before its end */
            json_object_set_new(line, "state", json_string("Deleted"));
            json_object_set_new(line, "seconds", json_integer(0));
        }
        put_line(lines, line);
    }
    while (json_array_size(lines) > SERIES_RUNS_KEPT) {
        json_array_remove(lines, json_array_size(lines) - 1);
    }
    return lines;
}

int64_t series_number(const json_t *lines) {
    return tree_integer(json_array_get(lines, 0), "number", 0);
}

static json_t *start_json(const struct series_start *start) {
    char time[21];
    clock_format(start->time_ms, time);
    return json_pack("{s:I, s:s, s:s*, s:s*}", "number", (json_int_t)start->number, "time", time,
                     "mark", start->mark, "input", start->input);
}

json_t *series_refused(const struct series_start *start, const char *problem) {
    json_t *line = start_json(start);
    AUTO(text_freep) char *message = x_strndup(problem, MESSAGE_MAX);
    json_object_del(line, "input");
    json_object_set_new(line, "name", json_string(""));
    json_object_set_new(line, "state", json_string("Refused"));
    json_object_set_new(line, "seconds", json_integer(0));
    json_object_set_new(line, "message", json_string(message));
    return line;
}

/* ---- runs ----------------------------------------------------------------------------------- */

static char *name_of(const json_t *object, int64_t number) {
    AUTO(text_freep)
    char *prefix = owned_prefix(tree_text(object, "metadata.name", ""), SERIES_NAME_MAX);
    return x_printf("%s-%lld", prefix, (long long)number);
}

/* "20261121T030000Z" */
static void format_time(int64_t time_ms, char text[static 21]) {
    char *to = text;
    clock_format(time_ms, text);
    for (const char *from = text; *from; from++) {
        if (*from != '-' && *from != ':') {
            *to++ = *from;
        }
    }
    *to = 0;
}

static void set_input(json_t *spec, const char *input) {
    const char *kind;
    json_t *value;
    json_object_foreach(json_object_get(spec, "input"), kind, value) {
        json_object_set_new(value, "path", json_string(input));
    }
}

/* RUN8 separates runs of different specs; TIME separates runs of the same spec. */
static int set_output(const struct job_options *options, json_t *run, int64_t time_ms,
                      struct error *err) {
    struct batchscore_spec spec;
    char time[21];
    int result = batchscore_spec_read(run, options, &spec, err);
    if (result == 0) {
        json_t *output = tree_get(run, "spec.output");
        format_time(time_ms, time);
        AUTO(text_freep)
        char *path = x_printf("%s/runs/%s-%.8s", spec.output_path, time, spec.job.run);
        json_object_set_new(output, "path", json_string(path));
    }
    batchscore_spec_release(&spec);
    return result;
}

int series_make_run(const json_t *object, const struct job_options *options,
                    const struct series_start *start, json_t **ret_run, struct error *err) {
    AUTO(text_freep) char *name = name_of(object, start->number);
    AUTO(tree_freep) json_t *begun = start_json(start);
    AUTO(text_freep) char *text = tree_canonical(begun);
    json_t *metadata = owned_metadata(object, name, ROLE_RUN);
    json_object_set_new(metadata, "annotations", json_pack("{s:s}", ANNOTATION_RUN, text));
    json_t *spec = json_deep_copy(json_object_get(object, "spec"));
    json_t *filled = json_object_get(object, SCHEMA_FILLED);
    const struct parameters_run begins = {
        .time_ms = start->time_ms,
        .path = start->input ? start->input : tree_text(object, "spec.trigger.path", NULL)};
    json_object_del(spec, "trigger");
    json_object_del(spec, "schedule");
    json_object_del(spec, "rerun");
    if (start->input) {
        set_input(spec, start->input);
    }
    AUTO(tree_freep)
    json_t *run = json_pack(
        "{s:s, s:s, s:o, s:o, s:O*}", "apiVersion", tree_text(object, "apiVersion", ""), "kind",
        tree_text(object, "kind", ""), "metadata", metadata, "spec", spec, SCHEMA_FILLED, filled);
    if (parameters_fill_run(run, &begins, err) < 0 ||
        set_output(options, run, start->time_ms, err) < 0) {
        return -1;
    }
    schema_unfill(run); /* a definition that lacks a field refuses it */
    *ret_run = TAKE(run);
    return 0;
}

/* Copies the field to `into`; with `theirs`, only if it is another one there. */
static void pick(const json_t *ours, const json_t *theirs, const char *name, json_t *into) {
    json_t *wanted = json_object_get(ours, name);
    if (wanted && !(theirs && json_equal(wanted, json_object_get(theirs, name)))) {
        json_object_set(into, name, wanted);
    }
}

/* The fields that may change while a run goes; owned. theirs: only those that differ; NULL: all. */
static json_t *pick_all(const json_t *ours, const json_t *theirs) {
    static const char *const fields[] = {"suspend", "activeDeadlineSeconds",
                                         "ttlSecondsAfterFinished"};
    static const char *const counts[] = {"min", "max"};
    json_t *spec = json_object(), *workers = json_object();
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        pick(ours, theirs, fields[i], spec);
    }
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        pick(json_object_get(ours, "workers"), json_object_get(theirs, "workers"), counts[i],
             workers);
    }
    if (json_object_size(workers) > 0) {
        json_object_set(spec, "workers", workers);
    }
    json_decref(workers);
    return spec;
}

json_t *series_changes(const json_t *object, const json_t *run) {
    const json_t *spec = json_object_get(object, "spec");
    AUTO(tree_freep) json_t *differing = pick_all(spec, json_object_get(run, "spec"));
    if (json_object_size(differing) == 0) {
        return NULL;
    }
    /* Each apply contains all fields that we ever set: a field that is missing would be removed. */
    json_t *all =
        json_pack("{s:s, s:s, s:{s:s, s:s, s:s*}, s:o, s:O*}", "apiVersion",
                  tree_text(object, "apiVersion", ""), "kind", tree_text(object, "kind", ""),
                  "metadata", "name", tree_text(run, "metadata.name", ""), "namespace",
                  tree_text(run, "metadata.namespace", "default"), "uid",
                  tree_text(run, "metadata.uid", NULL), "spec", pick_all(spec, NULL), SCHEMA_FILLED,
                  json_object_get(object, SCHEMA_FILLED));
    schema_unfill(all); /* a definition that lacks a field refuses it */
    json_object_update_recursive(json_object_get(all, "spec"), differing);
    return all;
}
