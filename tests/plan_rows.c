// SPDX-License-Identifier: Apache-2.0
#include "tests/plan_rows.h"

#include "lib/file.h"
#include "lib/time/clock.h"
#include "operator/kinds/job/spec.h"
#include "operator/kinds/job/spec_snapshot.h"
#include "tests/load_json.h"
#include "tests/plan_result_json.h"
#include "tests/test.h"
#include "tests/write_failures_json.h"

#include <dirent.h>
#include <stdlib.h>

enum { ENSURED_MAX = 16 };

/* Merge patch (RFC 7386). */
static void merge(json_t *target, const json_t *patch) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)patch, key, value) {
        if (json_is_null(value)) {
            json_object_del(target, key);
        } else if (json_is_object(value)) {
            if (!json_is_object(json_object_get(target, key))) {
                json_object_set_new(target, key, json_object());
            }
            merge(json_object_get(target, key), value);
        } else {
            json_object_set(target, key, value);
        }
    }
}

static bool has_name(const json_t *list, const char *name) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (strcmp(tree_text(json_array_get(list, i), "name", ""), name) == 0) {
            return true;
        }
    }
    return false;
}

/* Copies the object of that name, with the change's spec merged over its own. */
static void change(json_t *list, const json_t *with) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        bool is_it = strcmp(tree_text(one, "metadata.name", "?"),
                            tree_text(with, "metadata.name", "")) == 0 &&
                     strcmp(tree_text(one, "kind", "?"), tree_text(with, "kind", "")) == 0;
        if (is_it) {
            json_t *changed = json_deep_copy(one);
            merge(tree_ensure_object(changed, "spec"), json_object_get(with, "spec"));
            json_array_set_new(list, i, changed);
        }
    }
}

/* The Pods, or runs, that a cluster would show after the plan was applied. */
static json_t *carry_out(const char *kind, const json_t *before, const json_t *result) {
    json_t *after = json_array();
    for (size_t i = 0; i < json_array_size(before); i++) {
        json_t *one = json_array_get(before, i);
        if (!has_name(json_object_get(result, "delete"), tree_text(one, "metadata.name", ""))) {
            json_array_append(after, one);
        }
    }
    const json_t *create = json_object_get(result, "create");
    for (size_t i = 0; i < json_array_size(create); i++) {
        json_t *made = json_deep_copy(json_array_get(create, i));
        json_object_set_new(made, "status", json_pack("{s:s}", "phase", "Pending"));
        if (strcmp(tree_text(made, "kind", ""), kind) == 0) {
            json_array_append(after, made);
        }
        json_decref(made);
    }
    const json_t *apply = json_object_get(result, "apply");
    for (size_t i = 0; i < json_array_size(apply); i++) {
        change(after, json_array_get(apply, i));
    }
    return after;
}

static json_t *names_of(const json_t *list, const json_t *wanted) {
    json_t *names = json_array();
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *one = json_array_get(list, i);
        const char *name = tree_text(one, "metadata.name", tree_text(one, "name", ""));
        if (json_is_object(json_array_get(wanted, i))) {
            json_array_append(names, one);
        } else {
            json_array_append_new(names, json_string(name));
        }
    }
    return names;
}

static void check_same(const char *file, const char *what, const json_t *seen,
                       const json_t *wanted) {
    if (seen == wanted || json_equal(seen, wanted)) {
        return;
    }
    AUTO(text_freep) char *seen_text = json_dumps(seen, JSON_INDENT(1) | JSON_ENCODE_ANY);
    AUTO(text_freep) char *wanted_text = json_dumps(wanted, JSON_INDENT(1) | JSON_ENCODE_ANY);
    printf("# %s: %s is\n%s\n# wanted\n%s\n", file, what, seen_text ? seen_text : "absent",
           wanted_text ? wanted_text : "absent");
    test_failures++;
}

/* A row under test. */
struct trial {
    const struct plan_rows *rows;
    const char *file;
    const json_t *row; /* over base.json */
    const struct job_observed *observed;
    const json_t *runs;
    int64_t now_ms;
};

/* Planning again right after finds nothing to do, and the third plan equals the second. */
static void check_settled(const struct trial *trial, const json_t *first) {
    struct error err = {0};
    AUTO(tree_freep) json_t *pods = carry_out("Pod", trial->observed->pods, first);
    AUTO(tree_freep)
    json_t *runs = carry_out(trial->rows->made_kind ?: "BatchScore", trial->runs, first);
    AUTO(tree_freep) json_t *object = json_deep_copy(trial->observed->object);
    struct job_observed observed = *trial->observed;
    AUTO(tree_freep) json_t *none = json_array();
    AUTO(tree_freep) json_t *last = NULL;
    static const char *const lists[] = {"create", "apply", "events"};
    observed.pods = pods;
    observed.object = object;
    json_object_set(object, "status", json_object_get(first, "status"));
    for (int round = 0; round < 2; round++) {
        struct plan_result planned = {0};
        CHECK_OK(trial->rows->plan(trial->row, &observed, runs, trial->now_ms + 10 * round,
                                   &planned, &err),
                 &err);
        AUTO(tree_freep) json_t *result = plan_result_json(&planned);
        for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
            check_same(trial->file, lists[i], json_object_get(result, lists[i]), none);
        }
        AUTO(tree_freep) json_t *deleted = json_array();
        for (size_t i = 0; i < json_array_size(json_object_get(result, "delete")); i++) {
            json_t *one = json_array_get(json_object_get(result, "delete"), i);
            if (strcmp(tree_text(one, "kind", ""), "Service") != 0) {
                json_array_append(deleted, one); /* the Service is still in `before` */
            }
        }
        check_same(trial->file, "delete, asked again", deleted, none);
        if (last) {
            check_same(trial->file, "status, asked again", json_object_get(result, "status"), last);
        }
        tree_freep(&last);
        last = json_incref(json_object_get(result, "status"));
        json_object_set(object, "status", last);
    }
}

static const char *const wanted_lists[] = {"create", "apply", "delete"};
static const char *const wanted_values[] = {"status", "needs", "again_ms", "events"};

static json_t *value_of(const json_t *result, const char *name) {
    json_t *value = json_object_get(result, name);
    bool is_nothing = json_is_array(value) ? json_array_size(value) == 0
                                           : json_is_integer(value) && !json_integer_value(value);
    return is_nothing ? NULL : value;
}

static void update(const char *folder, const char *file, json_t *row, const json_t *result) {
    struct error err = {0};
    const json_t *old = json_object_get(row, "want");
    json_t *want = json_object();
    for (size_t i = 0; i < ARRAY_LEN(wanted_values); i++) {
        json_object_set(want, wanted_values[i], value_of(result, wanted_values[i]));
    }
    for (size_t i = 0; i < ARRAY_LEN(wanted_lists); i++) {
        AUTO(tree_freep)
        json_t *names = names_of(json_object_get(result, wanted_lists[i]),
                                 json_object_get(old, wanted_lists[i]));
        if (json_array_size(names) > 0) {
            json_object_set(want, wanted_lists[i], names);
        }
    }
    json_object_set_new(row, "want", want);
    AUTO(text_freep) char *path = file_join(folder, file);
    AUTO(text_freep) char *text = json_dumps(row, JSON_INDENT(2));
    AUTO(text_freep) char *line = x_printf("%s\n", text);
    CHECK_OK(file_write(path, line, strlen(line), &err), &err);
}

static void check_result(const char *file, const json_t *result, const json_t *want) {
    for (size_t i = 0; i < ARRAY_LEN(wanted_lists); i++) {
        const json_t *wanted = json_object_get(want, wanted_lists[i]);
        AUTO(tree_freep) json_t *none = json_array();
        AUTO(tree_freep) json_t *seen = names_of(json_object_get(result, wanted_lists[i]), wanted);
        check_same(file, wanted_lists[i], seen, wanted ? wanted : none);
    }
    for (size_t i = 0; i < ARRAY_LEN(wanted_values); i++) {
        check_same(file, wanted_values[i], value_of(result, wanted_values[i]),
                   value_of(want, wanted_values[i]));
    }
}

/* {"PodGroup NAME": since}. */
static struct ensured_objects read_ensured(const json_t *from,
                                           struct ensured_object at[static ENSURED_MAX]) {
    struct ensured_objects ensured = {.at = at};
    const char *name;
    json_t *since;
    json_object_foreach((json_t *)from, name, since) {
        CHECK(ensured.count < ENSURED_MAX);
        at[ensured.count++] =
            (struct ensured_object){object_key_from(name), true, json_integer_value(since)};
    }
    return ensured;
}

/* In the annotation of a pod, "*" stands for the digest of the record on the row's Service. */
static void fill_digests(const json_t *row, const char *digest) {
    size_t i;
    json_t *pod;
    json_array_foreach(json_object_get(row, "pods"), i, pod) {
        const char *value = owned_annotation(pod, ANNOTATION_BEGUN_DIGEST);
        if (value && strcmp(value, "*") == 0) {
            json_object_set_new(tree_get(pod, "metadata.annotations"), ANNOTATION_BEGUN_DIGEST,
                                json_string(digest));
        }
    }
}

static void check_row(const struct plan_rows *rows, const char *file) {
    struct error err = {0};
    AUTO(tree_freep) json_t *base = plan_rows_base(rows);
    AUTO(tree_freep) json_t *row = load_json(rows->folder, file);
    merge(base, row);
    const json_t *want = json_object_get(row, "want"),
                 *fresh = json_object_get(base, "credentials");
    char digest[SPEC_SNAPSHOT_DIGEST] = "none";
    spec_snapshot_digest_of(json_object_get(base, "service"), digest);
    fill_digests(base, digest);
    struct credentials credentials = {.secret = tree_text(fresh, "secret", ""),
                                      .token = "TOKEN",
                                      .certificate = "PEM",
                                      .certificate_sha256 = "cd34",
                                      .key = "KEY",
                                      .begun = tree_bool(fresh, "begun", false) ? digest : NULL,
                                      .is_confirmed = tree_bool(fresh, "confirmed", false)};
    const json_t *all = json_object_get(base, "runs");
    AUTO(tree_freep) json_t *runs = rows->keep_runs ? rows->keep_runs(all) : NULL;
    struct write_failure failures_at[WRITE_FAILURES_JSON_MAX];
    const json_t *troubles = json_object_get(base, "troubles");
    struct write_failures failures = write_failures_from(troubles, failures_at);
    struct ensured_object ensured_at[ENSURED_MAX];
    struct ensured_objects ensured = read_ensured(json_object_get(base, "ensured"), ensured_at);
    const struct job_options options = {.policy = json_object_get(base, "policy")};
    struct job_observed observed = {
        .object = json_object_get(base, "object"),
        .options = options.policy ? &options : NULL,
        .service = json_object_get(base, "service"),
        .pods = json_object_get(base, "pods"),
        .progress = json_object_get(base, "progress"),
        .credentials = fresh ? &credentials : NULL,
        .write_failures = troubles ? &failures : NULL,
        .ensured = &ensured,
        .mounts = json_object_get(base, "mounts"),
        .ended = json_object_get(base, "ended"),
        .leaving = json_object_get(base, "leaving"),
        .set_ms = tree_integer(base, "set.start", 0),
        .gathering_set_ms = tree_integer(base, "set.gathering", 0),
        .pods_set = tree_get(base, "set.pods"),
        .dropped = tree_text(base, "dropped", NULL),
        .others = json_object_get(base, "others"),
    };
    struct trial trial = {.rows = rows,
                          .file = file,
                          .row = base,
                          .observed = &observed,
                          .runs = runs,
                          .now_ms = clock_parse(tree_text(base, "now", ""))};
    struct plan_result planned = {0};
    CHECK(trial.now_ms > 0 && want);
    CHECK_OK(rows->plan(base, &observed, runs, trial.now_ms, &planned, &err), &err);
    AUTO(tree_freep) json_t *result = plan_result_json(&planned);
    if (getenv("PLAN_UPDATE")) {
        update(rows->folder, file, row, result);
        return;
    }
    check_result(file, result, want);
    /* A step that answers with a trouble, the Service or the Secret is repeated until it exists. */
    if (!json_object_get(want, "needs") && !fresh && !observed.write_failures &&
        tree_bool(row, "settles", true)) {
        check_settled(&trial, result);
    }
}

json_t *plan_rows_base(const struct plan_rows *rows) {
    return load_json(rows->folder, "base.json");
}

static const struct plan_rows *tried;
static int tried_min;

static void test_goldens(void) {
    int count = 0;
    DIR *files = opendir(tried->folder);
    for (struct dirent *file; files && (file = readdir(files));) {
        if (text_ends(file->d_name, ".json") && strcmp(file->d_name, "base.json") != 0) {
            check_row(tried, file->d_name);
            count++;
        }
    }
    if (files) {
        closedir(files);
    }
    CHECK(count >= tried_min);
}

/* More places than a pass makes pods have to wait: those behind them are filled all the same. */
static void test_resting(void) {
    enum { WORKERS = 150, RESTING = 120, ASKED = 100 /* a pass */ };
    struct error err = {0};
    AUTO(tree_freep) json_t *base = plan_rows_base(tried);
    AUTO(tree_freep) json_t *resting = json_object();
    json_t *spec = tree_get(base, "object.spec");
    if (!json_object_get(spec, "workers")) {
        return; /* the kind makes no pods */
    }
    bool is_range = json_is_object(json_object_get(spec, "workers"));
    json_object_set_new(spec, "workers",
                        is_range ? json_pack("{s:i, s:i}", "min", WORKERS, "max", WORKERS)
                                 : json_integer(WORKERS));
    for (int i = 0; i < RESTING; i++) {
        AUTO(text_freep) char *place = pod_phase_place_of(is_range ? "worker" : "member", i + 1);
        json_object_set_new(resting, place, json_true());
    }
    struct job_observed observed = {.object = json_object_get(base, "object"),
                                    .service = json_object_get(base, "service"),
                                    .resting = resting};
    AUTO(plan_result_release) struct plan_result planned = {0};
    CHECK_OK(
        tried->plan(base, &observed, NULL, clock_parse(tree_text(base, "now", "")), &planned, &err),
        &err);
    size_t i, rest = 0;
    json_t *made;
    json_array_foreach(planned.create, i, made) {
        AUTO(text_freep) char *place = pod_phase_place(made);
        rest += json_object_get(resting, place) != NULL;
    }
    CHECK_INT(rest, ASKED);
    CHECK_INT(json_array_size(planned.create), ASKED + WORKERS - RESTING + is_range);
}

int plan_rows_check(const struct plan_rows *rows, int count_min) {
    tried = rows;
    tried_min = count_min;
    TEST(test_goldens);
    TEST(test_resting);
    return test_failures_total;
}
