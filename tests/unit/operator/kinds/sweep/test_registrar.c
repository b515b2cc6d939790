// SPDX-License-Identifier: Apache-2.0
/* The pod that registers the best one's model, as files tests/data/registrars/NAME.json:
 *   what      one sentence
 *   register  spec.register
 *   trial     spec.trial
 *   best      status.best
 *   attempt, deaths   default 1 and 0
 *   pod       {"path in the pod": the value there; null: absent}
 *   work      the value of WINDLASS_SPEC; each $ is doubled there, as the pod removes one
 *   refused   instead of the pod: the message of a refusal */
#include "operator/kinds/sweep/registrar.h"

#include "lib/file.h"
#include "operator/kinds/kinds.h"
#include "operator/kinds/sweep/trial.h"
#include "operator/resource.h"
#include "tests/load_json.h"
#include "tests/test.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define FOLDER "tests/data/registrars"

static struct schema *train;

static const char smallest[] =
    "{\"apiVersion\": \"windlass.dev/v1alpha1\", \"kind\": \"Sweep\", \"metadata\": {\"name\": "
    "\"digits\", \"namespace\": \"art\", \"uid\": \"1a2b3c4d-0123-0123-0123-0123456789ab\", "
    "\"creationTimestamp\": \"2026-11-22T09:44:00Z\"}, \"spec\": {\"objective\": {\"metric\": "
    "\"accuracy\", \"goal\": \"Maximize\"}, \"parameters\": [{\"name\": \"RATE\", \"uniform\": "
    "{\"min\": \"0.1\", \"max\": \"1\"}}], \"maxTrials\": 4}}";

/* Through the schema, as a cluster would have it; NULL and an error if it is refused. */
static json_t *admitted(const json_t *file, struct error *err) {
    AUTO(tree_freep) json_t *object = json_loads(smallest, 0, NULL);
    json_t *spec = json_object_get(object, "spec"), *resource = NULL;
    json_object_set(spec, "register", json_object_get(file, "register"));
    json_object_set(spec, "trial", json_object_get(file, "trial"));
    AUTO(text_freep) char *text = tree_canonical(object);
    if (resource_parse("sweep.yaml", text, strlen(text), &resource, err) < 0) {
        return NULL;
    }
    return resource;
}

static void complain(const char *name, const char *path, const json_t *found,
                     const json_t *wanted) {
    AUTO(text_freep) char *is = found ? tree_canonical(found) : x_strdup("nothing");
    AUTO(text_freep) char *want = tree_canonical(wanted);
    printf("# %s: %s is\n#   %s, wanted\n#   %s\n", name, path, is, want);
    test_failures++;
}

static void check_pod(const char *name, const json_t *pod, const json_t *wanted) {
    const char *path;
    json_t *value;
    json_object_foreach((json_t *)wanted, path, value) {
        const json_t *found = tree_get(pod, path);
        if (found ? !json_equal(found, value) : !json_is_null(value)) {
            complain(name, path, found, value);
        }
    }
}

static void check_work(const char *name, const json_t *pod, const json_t *wanted) {
    const json_t *list = tree_get(pod, "spec.containers[0].env");
    const char *text = tree_text(tree_find(list, "name", "WINDLASS_SPEC"), "value", "");
    AUTO(tree_freep) json_t *work = json_loads(text, 0, NULL);
    if (!work || !json_equal(work, wanted)) {
        complain(name, "WINDLASS_SPEC", work, wanted);
    }
}

static struct trial_row *make_rows(void) {
    static const char *const rates[] = {"0.25", "0.5", "0.75"};
    static const enum trial_state states[] = {TRIAL_COMPLETED, TRIAL_STOPPED, TRIAL_FAILED};
    static const double values[] = {0.98, 0.5, NAN};
    struct trial_row *rows = x_calloc(3, sizeof *rows);
    for (int i = 0; i < 3; i++) {
        rows[i] = (struct trial_row){.index = i + (i == 2), .state = states[i], .best = values[i]};
        rows[i].values = json_pack("{s:s}", "RATE", rates[i]);
    }
    snprintf(rows[0].result_sha256, sizeof rows[0].result_sha256, "6b1f");
    return rows;
}

static void free_rows(struct trial_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        json_decref(rows[i].values);
        json_decref(rows[i].trained);
        json_decref(rows[i].losses);
        json_decref(rows[i].bad);
    }
    free(rows);
}

/* Of 10,000 trials the pod gets those that an environment variable has room for; the metadata say
 * how much of the best one's network was trained. */
static void many_trials_are_counted(void) {
    enum { MANY = 10000, VARIABLE_MAX = 128 << 10 };
    AUTO(tree_freep) json_t *file = load_json(FOLDER, "trainer.json");
    struct error err = {0};
    AUTO(tree_freep) json_t *object = admitted(file, &err);
    struct sweep_spec spec;
    json_t *made = NULL;
    CHECK_OK(sweep_spec_read(object, &spec, &err), &err);
    struct trial_row *rows = x_calloc(MANY, sizeof *rows);
    for (int i = 0; i < MANY; i++) {
        rows[i] = (struct trial_row){.index = i, .state = TRIAL_COMPLETED, .best = 0.5};
        rows[i].values = json_pack("{s:s}", "RATE", "0.123456789");
        memset(rows[i].result_sha256, 'a', 64);
    }
    rows[7].trained = json_pack("{s:i, s:i}", "tensors", 2, "ofTensors", 6); /* the best one */
    rows[7].losses = json_pack("{s:s}", "kind", "0.31");
    rows[7].bad = json_pack("{s:i}", "count", 3);
    const struct registrar_attempt attempt = {.train = train,
                                              .best = json_object_get(file, "best"),
                                              .rows = rows,
                                              .count = MANY,
                                              .made = MANY,
                                              .number = 1};
    CHECK_OK(registrar_pod(&spec, &attempt, &made, &err), &err);
    AUTO(tree_freep) json_t *pod = made;
    const json_t *list = tree_get(pod, "spec.containers[0].env");
    const char *text = tree_text(tree_find(list, "name", "WINDLASS_SPEC"), "value", "");
    AUTO(tree_freep) json_t *work = json_loads(text, 0, NULL);
    size_t named = json_array_size(tree_get(work, "sweep.trials"));
    CHECK(strlen(text) < VARIABLE_MAX);
    CHECK(named > 100);
    CHECK_INT(tree_integer(work, "metadata.trained.tensors", 0), 2);
    CHECK_INT(tree_integer(work, "metadata.trained.ofTensors", 0), 6);
    CHECK_STR(tree_text(work, "metadata.losses.kind", ""), "0.31");
    CHECK_INT(tree_integer(work, "metadata.badSamples.count", 0), 3);
    CHECK_INT(tree_integer(work, "sweep.trialsLeftOut", 0), MANY - (int64_t)named);
    free_rows(rows, MANY);
}

static void check_file(const char *name) {
    static const struct job_options options = {.agent_image = "registry.test/agent:7"};
    struct error err = {0};
    struct sweep_spec spec;
    AUTO(tree_freep) json_t *file = load_json(FOLDER, name);
    const char *refused = tree_text(file, "refused", NULL);
    AUTO(tree_freep) json_t *object = admitted(file, &err);
    if (refused) {
        CHECK(!object && strstr(err.text, refused));
        return;
    }
    CHECK_OK(sweep_spec_read(object, &spec, &err), &err);
    json_t *made = NULL;
    struct trial_row *rows = make_rows();
    struct registrar_attempt attempt = {.train = train,
                                        .jobs = &options,
                                        .rows = rows,
                                        .count = 3,
                                        .made = 5,
                                        .best = json_object_get(file, "best"),
                                        .number = (int)tree_integer(file, "attempt", 1),
                                        .deaths = (int)tree_integer(file, "deaths", 0)};
    CHECK_OK(registrar_pod(&spec, &attempt, &made, &err), &err);
    free_rows(rows, 3);
    AUTO(tree_freep) json_t *pod = made;
    CHECK(json_object_get(file, "pod") && json_object_get(file, "work"));
    check_pod(name, pod, json_object_get(file, "pod"));
    check_work(name, pod, json_object_get(file, "work"));
    AUTO(text_freep) char *place = registrar_place(&spec);
    AUTO(text_freep)
    char *wanted =
        x_printf("%s/digits/20261122T094400Z-1a2b3c4d", tree_text(file, "register.path", ""));
    CHECK_STR(place, wanted);
}

static void test_files(void) {
    int count = 0;
    DIR *files = opendir(FOLDER);
    for (struct dirent *file; files && (file = readdir(files));) {
        if (text_ends(file->d_name, ".json")) {
            check_file(file->d_name);
            count++;
        }
    }
    CHECK(count >= 5);
    if (files) {
        closedir(files);
    }
}

int main(void) {
    struct error err = {0};
    CHECK_OK(kinds_schema(kinds_find("DistTrain"), &train, &err), &err);
    TEST(test_files);
    TEST(many_trials_are_counted);
    schema_free(train);
    return TEST_END();
}
