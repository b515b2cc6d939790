// SPDX-License-Identifier: Apache-2.0
/* Every decision of the plan is a file tests/data/plan/NAME.json:
 *   what      one sentence
 *   object    merged into base.json's object (null deletes); service: the same, null is none
 *   pods, runs, progress, credentials, troubles, mounts, dropped, ended, now   what is observed
 *   want      create, apply: names, or whole objects where the whole object matters; delete: names;
 *             needs, again_ms, events; status: the whole status
 *   settles   false: asked again, it has more to do
 * PLAN_UPDATE=1 writes into `want` what came out instead: for a change of many, to be read in the
 * difference. */
#include "operator/kinds/batchscore/plan.h"

#include "lib/clock.h"
#include "lib/file.h"
#include "operator/kinds/batchscore/keep.h"
#include "operator/kinds/batchscore/schedule.h"
#include "tests/test.h"

#include <dirent.h>
#include <stdlib.h>

#define FOLDER "tests/data/plan"

static json_t *load(const char *name) {
    struct error err = {0};
    AUTO(text_freep) char *path = file_join(FOLDER, name);
    AUTO(text_freep) char *text = NULL;
    size_t size;
    json_t *tree = NULL;
    CHECK_OK(file_read(path, 1 << 20, &text, &size, &err), &err);
    CHECK_OK(tree_parse(text, size, 1 << 20, &tree, &err), &err);
    return tree;
}

/* RFC 7386. */
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

/* What a cluster would show of Pods, or runs, after the plan was carried out. */
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

/* Asking again right after finds nothing to do, and the third answer is the second. */
static void check_settled(const char *file, const struct batchscore_observed *before,
                          const json_t *first, int64_t now_ms) {
    struct error err = {0};
    AUTO(tree_freep) json_t *pods = carry_out("Pod", before->job.pods, first);
    AUTO(tree_freep) json_t *runs = carry_out("BatchScore", before->runs, first);
    AUTO(tree_freep) json_t *object = json_deep_copy(before->job.object);
    struct batchscore_observed observed = *before;
    AUTO(tree_freep) json_t *none = json_array();
    AUTO(tree_freep) json_t *last = NULL;
    static const char *const lists[] = {"create", "apply", "events"};
    observed.job.pods = pods;
    observed.runs = runs;
    observed.job.object = object;
    json_object_set(object, "status", json_object_get(first, "status"));
    for (int round = 0; round < 2; round++) {
        AUTO(tree_freep) json_t *result = NULL;
        CHECK_OK(batchscore_plan(&observed, now_ms + 10 * round, &result, &err), &err);
        for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
            check_same(file, lists[i], json_object_get(result, lists[i]), none);
        }
        AUTO(tree_freep) json_t *deleted = json_array();
        for (size_t i = 0; i < json_array_size(json_object_get(result, "delete")); i++) {
            json_t *one = json_array_get(json_object_get(result, "delete"), i);
            if (strcmp(tree_text(one, "kind", ""), "Service") != 0) {
                json_array_append(deleted, one); /* the Service is still in `before` */
            }
        }
        check_same(file, "delete, asked again", deleted, none);
        if (last) {
            check_same(file, "status, asked again", json_object_get(result, "status"), last);
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
    return json_is_array(value) && json_array_size(value) == 0 ? NULL : value;
}

static void update(const char *file, json_t *row, const json_t *result) {
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
    AUTO(text_freep) char *path = file_join(FOLDER, file);
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
                   json_object_get(want, wanted_values[i]));
    }
}

/* As the controller remembers them. NULL: there are none. */
static json_t *keep_runs(const json_t *runs) {
    json_t *kept = runs ? json_array() : NULL;
    for (size_t i = 0; i < json_array_size(runs); i++) {
        static const char *const always[] = {"name", "namespace"};
        const json_t *run = json_array_get(runs, i);
        json_t *one = batchscore_keep(run);
        json_object_set(one, "kind", json_object_get(run, "kind"));
        for (size_t k = 0; k < ARRAY_LEN(always); k++) {
            json_object_set(json_object_get(one, "metadata"), always[k],
                            json_object_get(json_object_get(run, "metadata"), always[k]));
        }
        json_array_append_new(kept, one);
    }
    return kept;
}

static void check_case(const char *file) {
    struct error err = {0};
    AUTO(tree_freep) json_t *base = load("base.json");
    AUTO(tree_freep) json_t *row = load(file);
    merge(base, row);
    const json_t *want = json_object_get(row, "want"),
                 *fresh = json_object_get(base, "credentials");
    struct credentials credentials = {.secret = tree_text(fresh, "secret", ""),
                                      .token = "TOKEN",
                                      .certificate = "PEM",
                                      .certificate_sha256 = "cd34",
                                      .key = "KEY",
                                      .is_confirmed = tree_bool(fresh, "confirmed", false)};
    AUTO(schedule_freep)
    struct schedule *schedule = schedule_read(json_object_get(base, "object"));
    AUTO(tree_freep) json_t *runs = keep_runs(json_object_get(base, "runs"));
    struct batchscore_observed observed = {
        .job.object = json_object_get(base, "object"),
        .runs = runs,
        .schedule = schedule,
        .job.service = json_object_get(base, "service"),
        .job.pods = json_object_get(base, "pods"),
        .job.progress = json_object_get(base, "progress"),
        .job.credentials = fresh ? &credentials : NULL,
        .job.troubles = json_object_get(base, "troubles"),
        .job.mounts = json_object_get(base, "mounts"),
        .job.ended = json_object_get(base, "ended"),
        .job.dropped = tree_text(base, "dropped", NULL),
    };
    int64_t now_ms = clock_parse(tree_text(base, "now", ""));
    AUTO(tree_freep) json_t *result = NULL;
    CHECK(now_ms > 0 && want);
    CHECK_OK(batchscore_plan(&observed, now_ms, &result, &err), &err);
    if (getenv("PLAN_UPDATE")) {
        update(file, row, result);
        return;
    }
    check_result(file, result, want);
    /* A step whose answer is a trouble, or the Service or Secret, is asked for until it is there.
     */
    if (!json_object_get(want, "needs") && !fresh && !observed.job.troubles &&
        tree_bool(row, "settles", true)) {
        check_settled(file, &observed, result, now_ms);
    }
}

static void test_goldens(void) {
    int count = 0;
    DIR *files = opendir(FOLDER);
    for (struct dirent *file; files && (file = readdir(files));) {
        if (text_ends(file->d_name, ".json") && strcmp(file->d_name, "base.json") != 0) {
            check_case(file->d_name);
            count++;
        }
    }
    if (files) {
        closedir(files);
    }
    CHECK(count >= 25);
}

static void test_owned(void) {
    AUTO(tree_freep) json_t *base = load("base.json");
    const json_t *object = json_object_get(base, "object");
    struct credentials credentials = {.secret = "paint-1a2b",
                                      .token = "TOKEN",
                                      .certificate = "CERTIFICATE",
                                      .certificate_sha256 = "ab12",
                                      .key = "KEY"};
    AUTO(tree_freep)
    json_t *service = owned_service(object, &batchscore_words.hub, &credentials, "{}");
    CHECK_STR(tree_text(service, "metadata.name", ""), "paint-coordinator");
    CHECK_STR(tree_text(service, "metadata.ownerReferences[0].uid", ""), "u-1");
    CHECK_INT(tree_integer(service, "spec.ports[0].port", 0), JOB_PORT);
    json_object_set_new(json_object_get(service, "metadata"), "uid", json_string("s-1"));
    AUTO(tree_freep)
    json_t *secret = owned_secret(object, &batchscore_words.hub, service, &credentials);
    CHECK_STR(tree_text(secret, "kind", ""), "Secret");
    CHECK_STR(tree_text(secret, "metadata.name", ""), "paint-1a2b");
    CHECK_STR(tree_text(secret, "metadata.ownerReferences[0].kind", ""), "Service");
    CHECK_STR(tree_text(secret, "metadata.ownerReferences[0].uid", ""), "s-1");
    CHECK(tree_bool(secret, "immutable", false));
    CHECK_STR(tree_text(secret, "stringData.token", ""), "TOKEN");
    /* Nothing but the Secret holds what is secret. */
    AUTO(text_freep) char *text = tree_canonical(service);
    CHECK(!strstr(text, "TOKEN") && !strstr(text, "KEY"));
    CHECK(strstr(text, "ab12") != NULL);
}

static void test_finished(void) {
    AUTO(tree_freep) json_t *base = load("base.json");
    json_t *object = json_object_get(base, "object");
    CHECK(!outcome_is_finished(object));
    static const struct {
        const char *status, *reason;
        int observed;
        bool finished;
    } rows[] = {
        {"Unknown", "Running", 1, false},  {"True", "Completed", 1, true},
        {"False", "Failed", 1, true},      {"False", "Failed", 0, true},
        {"False", "SpecInvalid", 1, true}, {"False", "SpecInvalid", 0, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_object_set_new(object, "status",
                            json_pack("{s:[{s:s, s:s, s:s, s:i}]}", "conditions", "type",
                                      "Succeeded", "status", rows[i].status, "reason",
                                      rows[i].reason, "observedGeneration", rows[i].observed));
        CHECK_INT(outcome_is_finished(object), rows[i].finished);
    }
}

int main(void) {
    TEST(test_goldens);
    TEST(test_owned);
    TEST(test_finished);
    return TEST_END();
}
