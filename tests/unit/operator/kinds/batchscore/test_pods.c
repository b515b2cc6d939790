// SPDX-License-Identifier: Apache-2.0
/* The pods of a spec, as files tests/data/pods/NAME.json:
 *   what                  one sentence
 *   spec                  merged into the smallest manifest (null deletes)
 *   secretFiles           true: token and keys are files, as on a cluster
 *   service               the address of the coordinator's Service, if not 10.96.7.7
 *   worker, coordinator   {"path in the pod": the value there; null: absent} */
#include "operator/kinds/batchscore/pods.h"

#include "lib/file.h"
#include "operator/kinds/batchscore/plan.h"
#include "operator/resource.h"
#include "tests/load_json.h"
#include "tests/test.h"

#include <dirent.h>
#include <stdlib.h>

#define FOLDER "tests/data/pods"

static const char smallest[] =
    "{\"apiVersion\": \"windlass.dev/v1alpha1\", \"kind\": \"BatchScore\", \"metadata\": "
    "{\"name\": "
    "\"paint\", \"namespace\": \"art\", \"uid\": \"u-1\"}, \"spec\": {\"input\": {\"video\": "
    "{\"path\": "
    "\"data/in.mp4\"}}, \"scorer\": {\"onnx\": {\"path\": \"data/m.onnx\"}}, \"output\": "
    "{\"path\": \"data/out\"}, \"volumes\": [{\"name\": \"data\", \"persistentVolumeClaim\": "
    "{\"claimName\": \"data\"}}]}}";

/* The smallest manifest with the file's spec, through the schema as a cluster would have it. */
static json_t *admitted(const json_t *file) {
    struct error err = {0};
    AUTO(tree_freep) json_t *object = json_loads(smallest, 0, NULL);
    CHECK(object != NULL);
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(file, "spec"), key, value) {
        json_object_set(json_object_get(object, "spec"), key, value);
    }
    AUTO(text_freep) char *text = tree_canonical(object);
    json_t *resource = NULL;
    CHECK_OK(resource_parse("job.yaml", text, strlen(text), &resource, &err), &err);
    return resource;
}

static void check_pod(const char *name, const json_t *pod, const json_t *wanted) {
    const char *path;
    json_t *value;
    json_object_foreach((json_t *)wanted, path, value) {
        const json_t *found = tree_get(pod, path);
        if (found ? json_equal(found, value) : json_is_null(value)) {
            continue;
        }
        AUTO(text_freep) char *is = found ? tree_canonical(found) : x_strdup("nothing");
        AUTO(text_freep) char *want = tree_canonical(value);
        printf("# %s: %s: %s is\n#   %s, wanted\n#   %s\n", name,
               tree_text(pod, "metadata.name", ""), path, is, want);
        test_failures++;
    }
}

static const struct job_options options = {.agent_image = "registry.test/agent:7"};
static const struct job_options with_files = {.agent_image = "registry.test/agent:7",
                                              .secret_files = true};

static void check_file(const char *name) {
    struct error err = {0};
    AUTO(tree_freep) json_t *file = load_json(FOLDER, name);
    AUTO(tree_freep) json_t *object = admitted(file);
    AUTO(batchscore_spec_release) struct batchscore_spec spec = {0};
    bool are_files = tree_bool(file, "secretFiles", false);
    CHECK_OK(batchscore_spec_read(object, are_files ? &with_files : &options, &spec, &err), &err);
    struct endpoint endpoint = {.address = tree_text(file, "service", "10.96.7.7"),
                                .port = 8443,
                                .certificate_sha256 = "ab12",
                                .secret = "paint-credentials"};
    AUTO(tree_freep) json_t *coordinator = batchscore_coordinator_pod(&spec, &endpoint, 1);
    AUTO(tree_freep) json_t *worker = batchscore_worker_pod(&spec, &endpoint, 2, 3);
    CHECK(json_object_get(file, "worker") || json_object_get(file, "coordinator"));
    check_pod(name, coordinator, json_object_get(file, "coordinator"));
    check_pod(name, worker, json_object_get(file, "worker"));
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
    CHECK(count > 10);
    if (files) {
        closedir(files);
    }
}

/* A job that another controller began keeps its image, whose agent may know nothing of files. */
static void test_secrets_of_an_older_image(void) {
    for (int is_older = 0; is_older < 2; is_older++) {
        struct error err = {0};
        AUTO(tree_freep) json_t *object = json_loads(smallest, 0, NULL);
        AUTO(batchscore_spec_release) struct batchscore_spec spec = {0};
        CHECK_OK(batchscore_spec_read(object, &with_files, &spec, &err), &err);
        spec.job.is_image_older = is_older;
        struct endpoint endpoint = {.address = "10.96.7.7",
                                    .port = 8443,
                                    .certificate_sha256 = "ab12",
                                    .secret = "paint-credentials"};
        AUTO(tree_freep) json_t *worker = batchscore_worker_pod(&spec, &endpoint, 2, 3);
        const json_t *variables = tree_get(worker, "spec.containers[0].env");
        CHECK((tree_find(variables, "name", "WINDLASS_TOKEN") != NULL) == is_older);
        CHECK((tree_find(variables, "name", "WINDLASS_SECRETS") != NULL) == !is_older);
    }
}

static void test_image(void) {
    struct error err = {0};
    AUTO(tree_freep) json_t *object = json_loads(smallest, 0, NULL);
    AUTO(batchscore_spec_release) struct batchscore_spec spec = {0};
    CHECK_OK(batchscore_spec_read(object, NULL, &spec, &err), &err);
    CHECK_STR(spec.job.image, "ghcr.io/windlass/windlass-agent:" WINDLASS_VERSION);
    struct batchscore_spec other = {0};
    CHECK_OK(batchscore_spec_read(object, &options, &other, &err), &err);
    CHECK_STR(other.job.image, "registry.test/agent:7");
    batchscore_spec_release(&other);
}

/* Tolerations of the spec stay as they are. */
static void test_lost_nodes(void) {
    static const struct {
        const char *given, *want;
    } rows[] = {
        {"{}", "[60, 60]"},
        {"{\"tolerations\": [{\"key\": \"a\", \"operator\": \"Exists\"}]}", "[null, 60, 60]"},
        {"{\"tolerations\": [{\"operator\": \"Exists\"}]}", "[null]"},
        {"{\"tolerations\": [{\"key\": \"node.kubernetes.io/unreachable\", \"tolerationSeconds\": "
         "9}]}",
         "[9, 60]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_t *spec = json_loads(rows[i].given, 0, NULL);
        AUTO(tree_freep) json_t *pod = json_pack("{s:o}", "spec", spec);
        AUTO(tree_freep) json_t *seconds = json_array();
        AUTO(tree_freep) json_t *want = json_loads(rows[i].want, 0, NULL);
        size_t k;
        json_t *one;
        batchscore_leave_lost_nodes(pod);
        json_array_foreach(json_object_get(spec, "tolerations"), k, one) {
            json_t *given = json_object_get(one, "tolerationSeconds");
            json_array_append_new(seconds, given ? json_incref(given) : json_null());
        }
        CHECK(json_equal(seconds, want));
    }
}

int main(void) {
    TEST(test_files);
    TEST(test_secrets_of_an_older_image);
    TEST(test_image);
    TEST(test_lost_nodes);
    return TEST_END();
}
