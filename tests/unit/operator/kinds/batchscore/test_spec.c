// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/spec.h"

#include "operator/kinds/batchscore/cache_transform.h"
#include "operator/kinds/job/pod_phase.h"
#include "operator/kinds/kinds.h"
#include "operator/resource.h"
#include "tests/load_resource.h"
#include "tests/test.h"

static json_t *load(const char *name) {
    struct error err = {0};
    json_t *object = NULL;
    AUTO(text_freep) char *path = x_printf("tests/data/good-manifests/%s.yaml", name);
    CHECK_OK(load_resource(path, false, &object, &err), &err);
    return object;
}

static const struct volume *find_volume(const struct batchscore_spec *spec, const char *name) {
    for (size_t i = 0; i < spec->job.volume_count; i++) {
        if (strcmp(spec->job.volumes[i].name, name) == 0) {
            return &spec->job.volumes[i];
        }
    }
    return NULL;
}

static void test_everything(void) {
    struct error err = {0};
    AUTO(tree_freep) json_t *object = load("everything");
    AUTO(batchscore_spec_release) struct batchscore_spec spec = {0};
    CHECK_OK(batchscore_spec_read(object, NULL, &spec, &err), &err);
    CHECK_STR(spec.job.name, "everything-2");
    CHECK_STR(spec.job.namespace, "default");
    CHECK_STR(spec.output_path, "out");
    CHECK_INT(tree_integer(spec.work, "miniBatchSize", 0), 32);
    CHECK_INT(spec.workers_min, 0);
    CHECK_INT(spec.workers_max, 8);
    CHECK_INT(spec.gpus, 1);
    CHECK_INT(spec.job.volume_count, 3);
    const struct volume *photos = find_volume(&spec, "photos");
    const struct volume *models = find_volume(&spec, "models");
    CHECK(photos && photos->kind == VOLUME_HOST_PATH && photos->read_only);
    CHECK_STR(photos ? photos->mount_path : NULL, "/mnt/photos");
    CHECK_STR(photos ? tree_text(photos->source, "path", "") : NULL, "/srv/photos");
    CHECK_STR(models ? models->mount_path : NULL, "/models");
    CHECK_STR(models ? tree_text(models->source, "claimName", "") : NULL, "models.v1");
    CHECK(find_volume(&spec, "model") == NULL);
    CHECK_INT(strlen(spec.job.run), 16);
}

struct change {
    const char *path, *key, *value; /* null: removed */
    bool changes;
};

/* Whether RUN of a manifest changes with one field. */
static void check_run(const char *manifest, const struct change *rows, size_t count) {
    struct error err = {0};
    AUTO(tree_freep) json_t *object = NULL;
    CHECK_OK(resource_parse("job.yaml", manifest, strlen(manifest), &object, &err), &err);
    AUTO(batchscore_spec_release) struct batchscore_spec first = {0};
    CHECK_OK(batchscore_spec_read(object, NULL, &first, &err), &err);
    CHECK_INT(strlen(first.job.run), 16);
    for (size_t i = 0; i < count; i++) {
        AUTO(tree_freep) json_t *other = json_deep_copy(object);
        json_t *at = tree_get(other, rows[i].path);
        if (strcmp(rows[i].value, "null") == 0) {
            CHECK_INT(json_object_del(at, rows[i].key), 0);
        } else {
            json_object_set_new(at, rows[i].key, json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
        }
        AUTO(batchscore_spec_release) struct batchscore_spec spec = {0};
        CHECK_OK(batchscore_spec_read(other, NULL, &spec, &err), &err);
        if ((strcmp(spec.job.run, first.job.run) != 0) != rows[i].changes) {
            printf("# %s.%s: %s changes RUN, or should\n", rows[i].path, rows[i].key,
                   rows[i].value);
            test_failures++;
        }
    }
}

#define MANIFEST(spec)                                                                             \
    "{apiVersion: windlass.dev/v1alpha1, kind: BatchScore, metadata: {name: job}, spec: " spec "}"

/* Fields that change the results or their division change RUN; others do not. */
static void test_run(void) {
    static const struct change rows[] = {
        {"spec", "miniBatchSize", "\"10\"", false},
        {"spec", "miniBatchSize", "11", false},
        {"spec", "miniBatchSize", "\"auto\"", false},
        {"spec.retry", "maxTries", "9", false},
        {"spec", "errorThreshold", "9", false},
        {"spec", "logs", "{\"path\": \"data/logs\"}", false},
        {"spec.workers", "max", "9", false},
        {"spec", "image", "\"other\"", false},
        {"spec.input.video", "path", "\"data/other.mp4\"", true},
        {"spec.output", "path", "\"data/other\"", true},
        {"spec.output", "mode", "\"PerFile\"", false},
        {"spec.output", "mode", "\"SummaryOnly\"", true},
        {"spec.scorer.onnx.preprocess", "width", "8", true},
        {"metadata", "name", "\"other\"", false},
        {"metadata", "namespace", "\"other\"", true}, /* its claim is another */
        {"spec.volumes[0].persistentVolumeClaim", "claimName", "\"other\"", true},
        {"spec.volumes[0]", "mountPath", "\"/other\"", false},
        {"spec.volumes[0]", "readOnly", "false", false},
        {"spec.volumes[1].persistentVolumeClaim", "claimName", "\"other\"", false}, /* not named */
    };
    check_run(MANIFEST("{input: {video: {path: data/in.mp4}}, scorer: {onnx: {path: data/m.onnx}},"
                       "output: {path: data/out}, volumes: ["
                       "{name: data, persistentVolumeClaim: {claimName: films}},"
                       "{name: more, persistentVolumeClaim: {claimName: more}}]}"),
              rows, ARRAY_LEN(rows));
}

static void test_run_of_a_command(void) {
    static const struct change rows[] = {
        {"spec.scorer.command", "processesPerWorker", "9", false},
        {"spec.scorer.command", "initTimeoutSeconds", "9", false},
        {"spec.scorer.command", "image", "\"other\"", true},
        {"spec.scorer.command.arguments", "threshold", "0.6", true},
        {"spec", "miniBatchSize", "\"1024KB\"", false},
        {"spec", "miniBatchSize", "null", false}, /* 1MB */
        {"spec", "miniBatchSize", "\"2MB\"", false},
        {"spec.output", "appendRowFileName", "\"rows.txt\"", false},
        {"spec.output", "appendRowFileName", "\"other.txt\"", true},
        {"spec.stores[0]", "secretName", "\"other\"", false},
        {"spec.buckets[0]", "secretName", "\"other\"", false},
        {"spec.volumes[0].nfs", "server", "\"other\"", true},
        {"spec.volumes[1].hostPath", "path", "\"/other\"", true}, /* $(model) */
        {"spec.volumes[2].hostPath", "path", "\"/other\"", false},
        {"metadata", "namespace", "\"other\"", false},
    };
    check_run(MANIFEST("{input: {table: {path: rows/a}}, scorer: {command: {command: [score],"
                       "arguments: {threshold: 0.5, list: [{of: $(model)/v3}]}}},"
                       "output: {path: az://results/scores}, miniBatchSize: 1MB,"
                       "stores: [{account: results, secretName: key}],"
                       "buckets: [{name: films, secretName: key}],"
                       "volumes: [{name: rows, nfs: {server: a, path: /b}},"
                       "{name: model, hostPath: {path: /models}},"
                       "{name: models, hostPath: {path: /models}}]}"),
              rows, ARRAY_LEN(rows));
}

/* A bucket of the same name at another server is another. One that no path names does not count. */
static void test_run_of_buckets(void) {
    static const struct change rows[] = {
        {"spec.buckets[0]", "endpoint", "\"https://rgw.example.com\"", true},
        {"spec.buckets[0]", "region", "\"eu-west-1\"", false},
        {"spec.buckets[1]", "endpoint", "null", true},
        {"spec.buckets[1]", "endpoint", "\"https://b.example.com\"", true},
        {"spec.buckets[2]", "endpoint", "\"https://b.example.com\"", false},
    };
    check_run(MANIFEST("{input: {table: {path: \"s3://films/a\"}}, scorer: {command: {command: "
                       "[score]}}, output: {path: \"s3://results\"}, buckets: ["
                       "{name: films, secretName: key}, {name: results, secretName: key, "
                       "endpoint: \"https://a.example.com\"}, {name: film, secretName: key}]}"),
              rows, ARRAY_LEN(rows));
}

/* Prices and certificates change no result. The prices of tokens do, as they always have. */
static void test_run_of_an_endpoint(void) {
    static const struct change rows[] = {
        {"spec.scorer.endpoint", "clientCertificate", "{\"secretName\": \"a\"}", false},
        {"spec.scorer.endpoint", "cost", "{\"perGpuHour\": 2}", false},
        {"spec.scorer.endpoint", "cost", "{\"perMillionInputTokens\": 2}", true},
        {"spec.scorer.endpoint", "url", "\"https://other.example.com\"", true},
    };
    check_run(MANIFEST("{input: {table: {path: data/a.jsonl, format: JSONLines}}, scorer: "
                       "{endpoint: {url: \"https://llm.example.com\"}}, output: {path: data/out},"
                       "volumes: [{name: data, nfs: {server: a, path: /b}}]}"),
              rows, ARRAY_LEN(rows));
}

/* With windlass run a volume is the folder that it found. */
static void test_run_here(void) {
    static const char *const folders[] = {"{\"data\": \"/a\"}", "{\"data\": \"/b\"}"};
    struct error err = {0};
    char runs[2][17];
    AUTO(tree_freep) json_t *object = load("minimal");
    for (int i = 0; i < 2; i++) {
        AUTO(tree_freep) json_t *map = json_loads(folders[i], 0, NULL);
        struct job_options options = {.folders = map};
        AUTO(batchscore_spec_release) struct batchscore_spec spec = {0};
        CHECK_OK(batchscore_spec_read(object, &options, &spec, &err), &err);
        memcpy(runs[i], spec.job.run, sizeof runs[i]);
    }
    CHECK(strcmp(runs[0], runs[1]) != 0);
}

/* The hash of a spec, and the rule at the root of the definition, cover all but five fields. */
static void test_hash(void) {
    static const struct {
        const char *path, *key, *value;
        bool changes;
    } rows[] = {
        {"spec", "suspend", "true", false},
        {"spec", "activeDeadlineSeconds", "9", false},
        {"spec", "ttlSecondsAfterFinished", "9", false},
        {"spec.workers", "min", "0", false},
        {"spec.workers", "max", "9", false},
        {"spec.workers", "gpus", "9", true},
        {"spec.workers", "spot", "true", true},
        {"spec.coordinator", "nodeSelector", "{\"a\": \"b\"}", true},
        {"spec", "template", "{\"spec\": {\"hostname\": \"a\"}}", true},
        {"spec", "image", "\"other\"", true},
        {"spec.input.video", "path", "\"data/other.mp4\"", true},
        {"spec.retry", "maxTries", "9", true},
        {"spec", "errorThreshold", "9", true},
        {"spec", "logs", "{\"path\": \"data/logs\"}", true},
    };
    struct error err = {0};
    AUTO(tree_freep) json_t *object = load("minimal");
    AUTO(batchscore_spec_release) struct batchscore_spec first = {0};
    CHECK_OK(batchscore_spec_read(object, NULL, &first, &err), &err);
    CHECK_INT(strlen(first.job.hash), 64);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *other = json_deep_copy(object);
        json_object_set_new(tree_get(other, rows[i].path), rows[i].key,
                            json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
        AUTO(batchscore_spec_release) struct batchscore_spec spec = {0};
        CHECK_OK(batchscore_spec_read(other, NULL, &spec, &err), &err);
        CHECK_INT(strcmp(spec.job.hash, first.job.hash) != 0, rows[i].changes);
    }
}

static void check_named(const json_t *fields, const char *prefix, const char *rule) {
    static const char *const mutable[] = {"spec.suspend", "spec.activeDeadlineSeconds",
                                          "spec.ttlSecondsAfterFinished", "spec.workers.min",
                                          "spec.workers.max"};
    const char *name;
    json_t *field;
    json_object_foreach((json_t *)fields, name, field) {
        AUTO(text_freep) char *path = x_printf("%s.%s", prefix, name);
        bool fixed = strcmp(path, "spec.workers") != 0;
        for (size_t i = 0; i < ARRAY_LEN(mutable); i++) {
            fixed = fixed && strcmp(mutable[i], path) != 0;
        }
        AUTO(text_freep) char *compared = x_printf("self.%s == oldSelf.%s", path, path);
        if (fixed != (strstr(rule, compared) != NULL)) {
            printf("# %s is %sin the rule about changes\n", path, fixed ? "not " : "");
            test_failures++;
        }
    }
}

/* A new field must not be forgotten there. */
static void test_rule_about_changes(void) {
    struct error err = {0};
    AUTO(schema_freep) struct schema *schema = NULL;
    CHECK_OK(kinds_schema(kinds_find("BatchScore"), &schema, &err), &err);
    const json_t *root = schema_root(schema);
    const char *rule = json_string_value(
        tree_get(json_array_get(json_object_get(root, "x-kubernetes-validations"), 0), "rule"));
    CHECK(rule != NULL);
    const json_t *spec = tree_get(root, "properties.spec.properties");
    CHECK(json_object_size(spec) > 15);
    check_named(spec, "spec", rule ?: "");
    check_named(tree_get(spec, "workers.properties"), "spec.workers", rule ?: "");
}

static void test_too_large_for_a_variable(void) {
    struct error err = {0};
    AUTO(tree_freep) json_t *object = load("minimal");
    static char filler[JOB_BYTES_MAX + 1];
    memset(filler, 'x', JOB_BYTES_MAX);
    json_object_set_new(json_object_get(object, "spec"), "image", json_string(filler));
    AUTO(batchscore_spec_release) struct batchscore_spec spec = {0};
    CHECK_INT(batchscore_spec_read(object, NULL, &spec, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
}

/* An init container's image problem is reported like that of the agent's image. */
static void test_init_waits(void) {
    AUTO(tree_freep)
    json_t *pod =
        json_loads("{\"status\":{\"phase\":\"Pending\",\"initContainerStatuses\":[{\"image\":\"a:"
                   "1\",\"state\":{"
                   "\"waiting\":{\"reason\":\"ErrImagePull\",\"message\":\"no such image\"}}}],"
                   "\"containerStatuses\":[{\"name\":\"agent\",\"state\":{\"waiting\":{\"reason\":"
                   "\"PodInitializing\"}}}]}}",
                   0, NULL);
    AUTO(tree_freep) json_t *kept = NULL;
    json_object_set_new(pod, "kind", json_string("Pod"));
    kept = batchscore_transform(pod);
    const json_t *both[] = {pod, kept};
    for (int i = 0; i < 2; i++) {
        struct pod_phase phase = pod_phase_read(both[i]);
        CHECK_INT(phase.stage, POD_PHASE_WAITING);
        CHECK_STR(phase.reason, "ErrImagePull");
        CHECK_STR(phase.message, "no such image");
        CHECK_STR(phase.image, "a:1");
    }
}

/* The schema limits them; values that bypassed it must not determine our memory. */
static void test_numbers_are_bounded(void) {
    struct error err = {0};
    AUTO(tree_freep) json_t *object = load("minimal");
    json_object_set_new(tree_get(object, "spec.workers"), "max", json_integer(INT64_MAX));
    AUTO(batchscore_spec_release) struct batchscore_spec spec = {0};
    CHECK_OK(batchscore_spec_read(object, NULL, &spec, &err), &err);
    CHECK_INT(spec.workers_max, SPEC_WORKERS_MAX);
}

static void test_life(void) {
    static const struct {
        const char *pod;
        enum pod_phase_stage stage;
        int exit_code;
    } rows[] = {
        {"{}", POD_PHASE_WAITING, 0},
        {"{\"status\":{\"phase\":\"Pending\"}}", POD_PHASE_WAITING, 0},
        {"{\"status\":{\"phase\":\"Running\"}}", POD_PHASE_RUNNING, 0},
        {"{\"metadata\":{\"deletionTimestamp\":\"x\"},\"status\":{\"phase\":\"Running\"}}",
         POD_PHASE_LEAVING, 0},
        {"{\"status\":{\"phase\":\"Unknown\"}}", POD_PHASE_LEAVING, 0},
        {"{\"status\":{\"phase\":\"Succeeded\"}}", POD_PHASE_SUCCEEDED, 0},
        {"{\"status\":{\"phase\":\"Failed\",\"reason\":\"Evicted\"}}", POD_PHASE_DEAD, -1},
        {"{\"status\":{\"phase\":\"Running\",\"containerStatuses\":[{\"state\":{\"terminated\":"
         "{\"exitCode\":137}}}]}}",
         POD_PHASE_DEAD, 137},
        {"{\"status\":{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"a-side\",\"state\":"
         "{\"running\":{}}},{\"name\":\"agent\",\"state\":{\"terminated\":{\"exitCode\":7}}}]}}",
         POD_PHASE_DEAD, 7},
        {"{\"status\":{\"phase\":\"Failed\",\"conditions\":[{\"type\":\"DisruptionTarget\","
         "\"status\":\"True\"}],\"containerStatuses\":[{\"state\":{\"terminated\":{\"exitCode\":"
         "143}}}]}}",
         POD_PHASE_DEAD, -1},
        /* An init container failed: its exit code counts. A completed one does not matter. */
        {"{\"status\":{\"phase\":\"Failed\",\"initContainerStatuses\":[{\"state\":{\"terminated\":"
         "{\"exitCode\":3}}}],\"containerStatuses\":[{\"name\":\"agent\",\"state\":{\"waiting\":{"
         "\"reason\":\"PodInitializing\"}}}]}}",
         POD_PHASE_DEAD, 3},
        {"{\"status\":{\"phase\":\"Failed\",\"initContainerStatuses\":[{\"state\":{\"terminated\":"
         "{\"exitCode\":0}}}],\"containerStatuses\":[{\"name\":\"agent\",\"state\":{\"terminated\":"
         "{"
         "\"exitCode\":1}}}]}}",
         POD_PHASE_DEAD, 1},
        {"{\"metadata\":{\"deletionTimestamp\":\"x\"},\"status\":{\"phase\":\"Failed\","
         "\"containerStatuses\":[{\"state\":{\"terminated\":{\"exitCode\":1}}}]}}",
         POD_PHASE_DEAD, 1},
        {"{\"metadata\":{\"deletionTimestamp\":\"x\"},\"status\":{\"phase\":\"Failed\","
         "\"containerStatuses\":[{\"state\":{\"terminated\":{\"exitCode\":143}}}]}}",
         POD_PHASE_DEAD, -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *pod = json_loads(rows[i].pod, 0, NULL);
        struct pod_phase phase = pod_phase_read(pod);
        CHECK_INT(phase.stage, rows[i].stage);
        CHECK_INT(phase.exit_code, rows[i].exit_code);
    }
    static const int64_t waits_ms[] = {0, 0, 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
    for (int i = 0; i < (int)ARRAY_LEN(waits_ms); i++) {
        CHECK_INT(pod_phase_back_off_ms(i), waits_ms[i]);
    }
    CHECK_INT(pod_phase_back_off_ms(1000000), 60000);
}

/* The models that the words of a worker's own server name; what a whole volume has may change. */
static void test_models_of_a_server(void) {
    static const struct {
        const char *words, *code; /* code: NULL: none */
    } rows[] = {
        {"[llama-server, -m, $(code)/m.gguf, --lora=$(in)/l.gguf, --port, $(WINDLASS_PORT)]",
         "{\"models\":[\"code/m.gguf\",\"in/l.gguf\"]}"},
        {"[vllm, serve, $(code)/small/, --download-dir, $(code), '$(in)/a/m', $(scratch)/b]",
         "{\"models\":[\"code/small\",\"in/a/m\"]}"},
        {"[x, $(out), $(in)/.., $(out)/b, $(in)/a]", NULL},
        {"[x], environment: {HF_HOME: $(code)/hf}", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep)
        char *text = x_printf(
            MANIFEST(
                "{input: {table: {path: in/a/r, format: JSONLines}}, scorer: {endpoint: "
                "{server: {image: i, command: %s}}}, output: {path: out/b}, volumes: ["
                "{name: in, nfs: {server: a, path: /b}}, {name: out, nfs: {server: a, path: "
                "/c}}, {name: scratch, emptyDir: {}}, {name: code, hostPath: {path: /code}}]}"),
            rows[i].words);
        AUTO(tree_freep) json_t *object = NULL;
        AUTO(batchscore_spec_release) struct batchscore_spec spec = {0};
        struct error err = {0};
        CHECK_OK(resource_parse("job.yaml", text, strlen(text), &object, &err), &err);
        CHECK_OK(batchscore_spec_read(object, NULL, &spec, &err), &err);
        const json_t *code = json_object_get(spec.work, "code");
        AUTO(text_freep) char *seen = code ? tree_canonical(code) : NULL;
        CHECK_STR(seen ? seen : "none", rows[i].code ? rows[i].code : "none");
    }
}

/* Where the code of a program is, by the words that name volumes. */
static void test_code_of_a_command(void) {
    static const struct {
        const char *words, *code; /* code: NULL: none */
    } rows[] = {
        {"[python3, $(code)/score.py]", "{\"folders\":[\"code/score.py\"]}"},
        {"[python3, $(code)/a.py, $(code)/a.py, $(code)]",
         "{\"folders\":[\"code/a.py\",\"code\"]}"},
        {"[sh, -c, 'cd $(code)/src; python3 a.py --net=$(in)/net.onnx']",
         "{\"files\":[\"in/net.onnx\"],\"folders\":[\"code/src\"],\"own\":[\"in/net.onnx\"]}"},
        /* beside the input, but not in its folder */
        {"[python3, $(in)/src/score.py, $(in)/a/b.py, $(in)/a, $(in), $(in)/ab/c/]",
         "{\"files\":[\"in/a/b.py\",\"in/a\"],\"folders\":[\"in/src/score.py\",\"in/ab/c\"]}"},
        {"[python3, $(in)/./score.py, $(in)//src/a.py]",
         "{\"files\":[\"in/./score.py\",\"in//src/a.py\"]}"},
        {"[$(in)/tool, $(out), $(out)/log]",
         "{\"files\":[\"in/tool\",\"out/log\"],\"own\":[\"in/tool\",\"out/log\"]}"},
        {"[score, $$(code)/a, $(none)/b, $(codes/c, $(scratch)/d, $(code)d, $(code)/../e]", NULL},
        {"[score, $$$(code)/a]", "{\"folders\":[\"code/a\"]}"},
        {"[score], environment: {PYTHONPATH: '$(code)/a:$(code)/b:/usr', MODEL: $(in)/net.pt,"
         "TMPDIR: $(scratch)/t}",
         "{\"files\":[\"in/net.pt\"],\"folders\":[\"code/a\",\"code/b\"]}"},
        /* caches beside data */
        {"[score], environment: {CLASSPATH: '$(in)/lib:$(in)/c/d', HF_HOME: $(in)/hf,"
         "TORCH_HOME: $(in)/c/torch, OTHER: $(code)/e}",
         "{\"files\":[\"in/lib\",\"in/hf\",\"in/c/torch\"],\"folders\":[\"in/c/d\",\"code/e\"],"
         "\"own\":[\"in/lib\"]}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep)
        char *text = x_printf(
            MANIFEST("{input: {files: {path: in/a}}, scorer: {command: {command: %s}},"
                     "output: {path: out/b}, volumes: [{name: in, nfs: {server: a, path: /b}},"
                     "{name: out, nfs: {server: a, path: /c}}, {name: scratch, emptyDir: {}},"
                     "{name: code, hostPath: {path: /code}}]}"),
            rows[i].words);
        AUTO(tree_freep) json_t *object = NULL;
        AUTO(batchscore_spec_release) struct batchscore_spec spec = {0};
        struct error err = {0};
        CHECK_OK(resource_parse("job.yaml", text, strlen(text), &object, &err), &err);
        CHECK_OK(batchscore_spec_read(object, NULL, &spec, &err), &err);
        const json_t *code = json_object_get(spec.work, "code");
        AUTO(text_freep) char *seen = code ? tree_canonical(code) : NULL;
        if (rows[i].code) {
            CHECK_STR(seen, rows[i].code);
        } else {
            CHECK(!seen);
        }
    }
}

int main(void) {
    TEST(test_everything);
    TEST(test_run);
    TEST(test_run_of_a_command);
    TEST(test_run_of_buckets);
    TEST(test_run_of_an_endpoint);
    TEST(test_code_of_a_command);
    TEST(test_models_of_a_server);
    TEST(test_run_here);
    TEST(test_hash);
    TEST(test_rule_about_changes);
    TEST(test_too_large_for_a_variable);
    TEST(test_numbers_are_bounded);
    TEST(test_life);
    TEST(test_init_waits);
    return TEST_END();
}
