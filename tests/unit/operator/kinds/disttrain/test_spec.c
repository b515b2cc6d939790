// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/spec.h"

#include "lib/file.h"
#include "lib/text/text_list.h"
#include "operator/kinds/disttrain/own_names.h"
#include "operator/kinds/disttrain/pods.h"
#include "operator/kinds/kinds.h"
#include "operator/resource.h"
#include "tests/load_resource.h"
#include "tests/parse_json.h"
#include "tests/test.h"

#include <stdlib.h>

/* A valid resource, though parts are not supported yet. */
static json_t *load(const char *path) {
    struct error err = {0};
    json_t *object = NULL;
    CHECK_OK(load_resource(path, false, &object, &err), &err);
    return object;
}

static void set(json_t *object, const char *parent, const char *field, const char *value) {
    json_t *at = *parent ? tree_get(json_object_get(object, "spec"), parent)
                         : json_object_get(object, "spec");
    json_object_set_new(at, field, json_loads(value, JSON_DECODE_ANY, NULL));
}

static void test_defaults(void) {
    struct error err = {0};
    AUTO(tree_freep) json_t *command = load("tests/data/gangs/command.yaml");
    AUTO(tree_freep) json_t *trainer = load("tests/data/gangs/trainer.yaml");
    AUTO(disttrain_spec_release) struct disttrain_spec one = {0}, two = {0};
    CHECK_OK(disttrain_spec_read(command, NULL, &one, &err), &err);
    CHECK_OK(disttrain_spec_read(trainer, NULL, &two, &err), &err);
    CHECK_INT(tree_integer(one.work, "restart.hangSeconds", -1), 0);
    CHECK_INT(tree_integer(two.work, "restart.hangSeconds", -1), 300);
    CHECK_INT(tree_integer(one.work, "minWorkers", -1), one.workers);
    CHECK_STR(one.program_image, "registry.test/mpi:1");
    CHECK_STR(one.job.image, JOB_AGENT_IMAGE);
    CHECK(!one.job.is_image_given && !two.program_image);
    CHECK_STR(two.job.image, JOB_TRAINER_IMAGE);
    CHECK_INT(strlen(one.job.run), 16);
}

/* The image of a trainer's pods: its own, the controller's, the release's. */
static void test_trainer_image(void) {
    struct error err = {0};
    struct job_options options = {.agent_image = "registry.test/agent:7",
                                  .trainer_image = "registry.test/trainer:7"};
    AUTO(tree_freep) json_t *object = load("tests/data/gangs/trainer.yaml");
    AUTO(tree_freep) json_t *command = load("tests/data/gangs/command.yaml");
    AUTO(disttrain_spec_release) struct disttrain_spec one = {0}, two = {0}, three = {0};
    CHECK_OK(disttrain_spec_read(object, &options, &one, &err), &err);
    CHECK_STR(one.job.image, "registry.test/trainer:7");
    CHECK_OK(disttrain_spec_read(command, &options, &two, &err), &err);
    CHECK_STR(two.job.image, "registry.test/agent:7");
    set(object, "", "image", "\"own:1\"");
    CHECK_OK(disttrain_spec_read(object, &options, &three, &err), &err);
    CHECK_STR(three.job.image, "own:1");
    CHECK(three.job.is_image_given);
}

/* One rank for each GPU, in the image for GPUs, unless another is named. */
static void test_trainer_with_gpus(void) {
    struct error err = {0};
    struct job_options options = {.trainer_gpu_image = "registry.test/cuda:7"};
    AUTO(tree_freep) json_t *object = load("tests/data/gangs/trainer.yaml");
    AUTO(tree_freep) json_t *command = load("tests/data/gangs/command.yaml");
    AUTO(disttrain_spec_release) struct disttrain_spec one = {0}, two = {0}, three = {0};
    set(object, "", "gpus", "4");
    set(object, "", "slotsPerWorker", "1");
    CHECK_OK(disttrain_spec_read(object, &options, &one, &err), &err);
    CHECK_STR(one.job.image, "registry.test/cuda:7");
    CHECK_INT(one.slots, 4);
    CHECK_INT(tree_integer(one.work, "slotsPerWorker", 0), 4);
    CHECK_INT(tree_integer(one.work, "gpus", 0), 4);
    CHECK_OK(disttrain_spec_read(object, NULL, &two, &err), &err);
    CHECK_STR(two.job.image, JOB_TRAINER_GPU_IMAGE);
    set(command, "", "gpus", "4");
    set(command, "", "slotsPerWorker", "2");
    CHECK_OK(disttrain_spec_read(command, &options, &three, &err), &err);
    CHECK_INT(three.slots, 2);
}

/* The agent gets which variables belong to whom, but no Secret's name. */
static void test_names_of_variables(void) {
    struct error err = {0};
    AUTO(tree_freep) json_t *object = load("tests/data/gangs/command.yaml");
    AUTO(disttrain_spec_release) struct disttrain_spec none = {0}, both = {0};
    CHECK_OK(disttrain_spec_read(object, NULL, &none, &err), &err);
    CHECK(!json_object_get(none.work, "environment") && !json_object_get(none.work, "secrets"));
    set(object, "", "environment", "{\"B\": \"$A\", \"A\": \"secret-value\"}");
    set(object, "", "secrets",
        "[{\"name\": \"KEY\", \"secretName\": \"secret-value\", \"key\": \"k\"}]");
    CHECK_OK(disttrain_spec_read(object, NULL, &both, &err), &err);
    AUTO(text_freep) char *text = tree_canonical(both.work);
    CHECK(strstr(text, "\"environment\":[\"B\",\"A\"]") != NULL);
    CHECK(strstr(text, "\"secrets\":[\"KEY\"]") != NULL);
    CHECK(strstr(text, "secret-value") == NULL);
}

/* A run's name depends on what decides the result, never on the number of workers. */
static void test_run(void) {
    static const struct {
        const char *file, *parent, *field, *value;
        bool is_another;
    } rows[] = {
        {"gangs/command", "", "workers", "7", false},
        {"gangs/command", "", "slotsPerWorker", "7", false},
        {"gangs/command", "restart", "maxRestarts", "7", false},
        {"gangs/command", "", "image", "\"other:1\"", false},
        {"gangs/command", "", "command", "[\"other\"]", true},
        {"gangs/command", "", "prepare", "[\"other\"]", true},
        {"gangs/command", "", "environment", "{\"A\": \"b\"}", true},
        {"gangs/command", "", "metrics", "{\"objective\": \"a\", \"goal\": \"Minimize\"}", false},
        {"gangs/command", "", "stop", "\"so\"", false},
        {"gangs/trainer", "", "workers", "7", false},
        {"gangs/trainer", "trainer", "timeline", "true", false},
        {"gangs/trainer", "trainer", "fusionBufferMB", "7", false},
        {"gangs/trainer", "trainer.checkpoint", "keep", "7", false},
        {"gangs/trainer", "trainer.data", "onBadSample", "\"Skip\"", false},
        {"gangs/trainer", "trainer", "batchSize", "7", true},
        {"gangs/trainer", "trainer", "seed", "7", true},
        {"gangs/trainer", "trainer.optimizer", "learningRate", "\"7\"", true},
        {"gangs/trainer", "volumes[0].persistentVolumeClaim", "claimName", "\"other\"", true},
        {"gangs/trainer", "volumes[0]", "mountPath", "\"/other\"", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(text_freep) char *path = x_printf("tests/data/%s.yaml", rows[i].file);
        AUTO(tree_freep) json_t *before = load(path);
        AUTO(tree_freep) json_t *after = json_deep_copy(before);
        AUTO(disttrain_spec_release) struct disttrain_spec one = {0}, two = {0};
        set(after, rows[i].parent, rows[i].field, rows[i].value);
        CHECK_OK(disttrain_spec_read(before, NULL, &one, &err), &err);
        CHECK_OK(disttrain_spec_read(after, NULL, &two, &err), &err);
        if ((strcmp(one.job.run, two.job.run) != 0) != rows[i].is_another) {
            printf("# %s of %s %s another run\n", rows[i].field, rows[i].file,
                   rows[i].is_another ? "should be" : "is");
            test_failures++;
        }
    }
}

/* A bucket of the same name at another server is another, where a path names it. */
static void test_run_of_buckets(void) {
    static const struct {
        const char *path;
        bool is_another;
    } rows[] = {{"\"s3://films/out\"", true}, {"\"s3://film/out\"", false}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(tree_freep) json_t *before = load("tests/data/gangs/trainer.yaml");
        set(before, "trainer.output", "path", rows[i].path);
        set(before, "", "buckets",
            "[{\"name\": \"films\", \"secretName\": \"a\"},"
            " {\"name\": \"film\", \"secretName\": \"a\"}]");
        AUTO(tree_freep) json_t *after = json_deep_copy(before);
        set(after, "buckets[0]", "endpoint", "\"https://rgw.example.com\"");
        AUTO(disttrain_spec_release) struct disttrain_spec one = {0}, two = {0};
        CHECK_OK(disttrain_spec_read(before, NULL, &one, &err), &err);
        CHECK_OK(disttrain_spec_read(after, NULL, &two, &err), &err);
        CHECK((strcmp(one.job.run, two.job.run) != 0) == rows[i].is_another);
    }
}

/* A new field must not be forgotten in the rule about changes. */
static void test_rule_about_changes(void) {
    static const char *const mutable[] = {"spec.suspend",
                                          "spec.stop",
                                          "spec.activeDeadlineSeconds",
                                          "spec.startDeadlineSeconds",
                                          "spec.ttlSecondsAfterFinished",
                                          "spec.restart.maxRestarts"};
    struct error err = {0};
    AUTO(schema_freep) struct schema *schema = NULL;
    CHECK_OK(kinds_schema(kinds_find("DistTrain"), &schema, &err), &err);
    const json_t *root = schema_root(schema);
    const char *rule =
        tree_text(json_array_get(json_object_get(root, "x-kubernetes-validations"), 0), "rule", "");
    static const char *const parts[] = {"spec", "spec.restart"};
    int seen = 0;
    for (size_t k = 0; k < ARRAY_LEN(parts); k++) {
        AUTO(text_freep)
        char *at = x_printf(k ? "properties.spec.properties.restart.properties"
                              : "properties.spec.properties");
        const char *name;
        json_t *ignored;
        json_object_foreach(tree_get(root, at), name, ignored) {
            AUTO(text_freep) char *path = x_printf("%s.%s", parts[k], name);
            AUTO(text_freep) char *compared = x_printf("self.%s == oldSelf.%s", path, path);
            bool is_fixed = strcmp(path, "spec.restart") != 0;
            for (size_t i = 0; i < ARRAY_LEN(mutable); i++) {
                is_fixed = is_fixed && strcmp(path, mutable[i]) != 0;
            }
            if (is_fixed != (strstr(rule, compared) != NULL)) {
                printf("# %s is %sin the rule about changes\n", path, is_fixed ? "not " : "");
                test_failures++;
            }
            seen++;
        }
    }
    CHECK(seen > 30);
}

/* The passwd file names the user of the pod, after templates were applied. */
static void test_passwd(void) {
    static const struct {
        const char *template, *line; /* NULL: we add no file */
    } rows[] = {
        {"{}", "\nwindlass:x:65532:65532:windlass:/tmp:/bin/bash\n"},
        {"{\"spec\": {\"securityContext\": {\"runAsUser\": 1000, \"runAsGroup\": 7}}}",
         "\nwindlass:x:1000:7:windlass:/tmp:/bin/bash\n"},
        {"{\"spec\": {\"securityContext\": {\"runAsUser\": 0}}}", "root:x:0:0:"},
        {"{\"spec\": {\"containers\": [{\"name\": \"agent\", \"securityContext\": {\"runAsUser\": "
         "5}}]}}",
         "\nwindlass:x:5:65532:"},
        {"{\"spec\": {\"securityContext\": {\"runAsUser\": null}}}", NULL},
        {"{\"spec\": {\"containers\": [{\"name\": \"agent\", \"volumeMounts\": [{\"name\": \"a\", "
         "\"mountPath\": \"/etc/passwd\"}]}]}}",
         NULL},
    };
    static const struct endpoint endpoint = {
        .address = "fd00::4", .port = 8443, .certificate_sha256 = "ab", .secret = "s"};
    static const struct restarts none = {0};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(tree_freep) json_t *object = load("tests/data/gangs/command.yaml");
        AUTO(disttrain_spec_release) struct disttrain_spec spec = {0};
        set(object, "", "template", rows[i].template);
        CHECK_OK(disttrain_spec_read(object, NULL, &spec, &err), &err);
        AUTO(tree_freep) json_t *pod = disttrain_member_pod(&spec, &endpoint, 1, 2, &none, NULL);
        const char *text = owned_annotation(pod, ANNOTATION_PASSWD);
        const json_t *agent = tree_find(tree_get(pod, "spec.containers"), "name", "agent");
        const json_t *mount =
            tree_find(json_object_get(agent, "volumeMounts"), "mountPath", "/etc/passwd");
        CHECK((rows[i].line == NULL) == (text == NULL));
        CHECK(!rows[i].line || (text && strstr(text, rows[i].line)));
        CHECK(!rows[i].line || strcmp(tree_text(mount, "subPath", ""), "passwd") == 0);
        CHECK_STR(tree_text(pod, "metadata.name", ""), "job-1-2");
        const json_t *hub = tree_find(json_object_get(agent, "env"), "name", "WINDLASS_HUB");
        CHECK_STR(tree_text(hub, "value", ""), "[fd00::4]:8443");
    }
}

/* NAME-0's successor that only stores the result waits for no device. */
static void test_who_finishes_asks_for_no_devices(void) {
    static const struct {
        const char *gang;
        int finishes;
        bool has_devices;
    } rows[] = {
        {"\"None\"", 0, true},
        {"\"None\"", 1, false},
        {"\"Volcano\"", 1, true}, /* with its group */
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(tree_freep) json_t *object = load("tests/data/gangs/command.yaml");
        AUTO(disttrain_spec_release) struct disttrain_spec spec = {0};
        set(object, "", "gpus", "4");
        set(object, "", "gang", rows[i].gang);
        set(object, "", "resources",
            "{\"requests\": {\"cpu\": \"2\"}, \"limits\": {\"rdma/hca\": \"1\", \"memory\": "
            "\"2Gi\"}}");
        CHECK_OK(disttrain_spec_read(object, NULL, &spec, &err), &err);
        const struct endpoint endpoint = {.address = "a", .port = 1};
        const struct restarts restarts = {.finishes = rows[i].finishes};
        AUTO(tree_freep)
        json_t *pod = disttrain_member_pod(&spec, &endpoint, 0, 2, &restarts, NULL);
        const json_t *agent = json_array_get(tree_get(pod, "spec.containers"), 0);
        AUTO(text_freep) char *resources = tree_canonical(json_object_get(agent, "resources"));
        CHECK_STR(
            resources,
            rows[i].has_devices
                ? "{\"limits\":{\"memory\":\"2Gi\",\"nvidia.com/gpu\":\"4\",\"rdma/hca\":\"1\"},"
                  "\"requests\":{\"cpu\":\"2\"}}"
                : "{\"limits\":{\"memory\":\"2Gi\"},\"requests\":{\"cpu\":\"2\"}}");
        /* It may run where the others ran. */
        AUTO(text_freep) char *tolerations = tree_canonical(tree_get(pod, "spec.tolerations"));
        CHECK(strstr(tolerations, "nvidia.com/gpu"));
    }
}

/* The definition refuses such a path; this one came from another job. */
static void test_no_input_is_in_a_store(void) {
    struct error err = {0};
    AUTO(tree_freep) json_t *object = load("tests/data/gangs/command.yaml");
    set(object, "", "buckets", "[{\"name\": \"pictures\", \"identity\": \"Node\"}]");
    set(object, "", "inputs", "[{\"id\": \"IN\", \"path\": \"s3://pictures/new\"}]");
    CHECK_INT(disttrain_check(object, &err), -1);
    CHECK_STR(err.text, "spec.inputs: one is not in a volume of spec.volumes (a path is "
                        "VOLUME/path/in/it)");
}

/* $WINDLASS_ names that have no value where the agent starts a program. */
static void test_own_names(void) {
    static const struct {
        const char *field, *value, *launcher;
        const char *refused; /* NULL: accepted */
    } rows[] = {
        {"command", "['x', '$WINDLASS_INPUT_A/$WINDLASS_JOB', '$(WINDLASS_OUTPUT_B)']", "MPI",
         NULL},
        {"command", "['x', '$WINDLASS_OUTPUT_A']", "MPI",
         "spec.command[1]: $WINDLASS_OUTPUT_A is not replaced there; a program can read it from "
         "its environment, or start it with: sh -c"},
        {"command", "['x', '$WINDLASS_OUTPUT_BB']", "MPI",
         "spec.command[1]: $WINDLASS_OUTPUT_BB is"},
        {"command", "['bash', '-c', '$WINDLASS_OUTPUT_A', '$WINDLASS_OUTPUT_A']", "MPI", NULL},
        {"command", "['x', '${WINDLASS_RANK}']", "MPI", "spec.command[1]: $WINDLASS_RANK is"},
        {"command", "['x', '$WINDLASS_RANK', '$WINDLASS_INDEX']", "None", NULL},
        {"command", "['x', '$WINDLASS_RANK', '$WINDLASS_WORKER']", "Torchrun", NULL},
        {"command", "['x', '$WINDLASS_WORLD', '$WINDLASS_HOSTS', '$WINDLASS_ROUND']", "MPI", NULL},
        {"command", "['x', '$WINDLASS_TOKEN']", "None", "spec.command[1]: $WINDLASS_TOKEN is"},
        {"command", "['x', '$WINDLASS_PATTERN']", "None", "spec.command[1]: $WINDLASS_PATTERN is"},
        {"prepare", "['x', '$WINDLASS_INDEX', '$WINDLASS_OUTPUT_B']", "MPI", NULL},
        {"prepare", "['x', '$WINDLASS_RANK']", "None", "spec.prepare[1]: $WINDLASS_RANK is"},
        {"environment", "{'OUT': '$WINDLASS_OUTPUT_B/x', 'R': '${WINDLASS_HOSTS%%,*}'}", "MPI",
         NULL},
        {"environment", "{'OUT': 'y $WINDLASS_OUTPUT/x'}", "MPI",
         "spec.environment: $WINDLASS_OUTPUT is not replaced there: y $WINDLASS_OUTPUT/x"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(tree_freep) json_t *object = load("tests/data/gangs/command.yaml");
        json_t *spec = json_object_get(object, "spec");
        json_object_set_new(spec, rows[i].field, parse(rows[i].value));
        json_object_set_new(spec, "launcher", json_string(rows[i].launcher));
        json_object_set_new(spec, "volumes",
                            parse("[{'name': 'a', 'persistentVolumeClaim': {'claimName': 'a'}}]"));
        json_object_set_new(spec, "inputs", parse("[{'id': 'A', 'path': 'a/in'}]"));
        json_object_set_new(spec, "outputs", parse("[{'id': 'B', 'path': 'a/out'}]"));
        int result = disttrain_check(object, &err);
        if ((result < 0) != (rows[i].refused != NULL) ||
            (result < 0 && !text_starts(err.text, rows[i].refused))) {
            printf("# row %zu: %s\n", i, err.text);
            test_failures++;
        }
    }
}

/* The WINDLASS_ names of a golden file of the agent's variables, sorted, one a line. */
static char *names_of_agent(const char *file) {
    struct error err = {0};
    AUTO(text_freep) char *path = x_printf("tests/data/launch/%s.txt", file);
    AUTO(text_freep) char *text = NULL;
    char *names = x_strdup("");
    CHECK_OK(file_read(path, 1 << 20, &text, NULL, &err), &err);
    for (const char *line = text; line && *line; line += strcspn(line, "\n") + 1) {
        if (text_starts(line, "WINDLASS_")) {
            char *more = x_printf("%s%.*s\n", names, (int)strcspn(line, "="), line);
            free(names);
            names = more;
        }
    }
    return names;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The same of what the operator accepts. */
static char *names_of_operator(const json_t *spec, bool prepares) {
    char **list = own_names_list(spec, prepares), *names = x_strdup("");
    size_t count = 0;
    while (list[count]) {
        count++;
    }
    qsort(list, count, sizeof *list, by_name);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(list[i], list[i - 1]) != 0) {
            char *more = x_printf("%s%s\n", names, list[i]);
            free(names);
            names = more;
        }
    }
    text_list_free(list);
    return names;
}

/* The agent's tests of environment.c write and compare these files. */
static void test_own_names_are_the_agents(void) {
    static const char in_full[] = "{'launcher': 'MPI', 'trainer': {}, 'metrics': {}, "
                                  "'logs': {'path': 'a/b'}, 'inputs': [{'id': 'TRAIN'}], "
                                  "'outputs': [{'id': 'MODEL'}]}";
    static const struct {
        const char *file, *launcher;
        bool prepares, is_full;
    } rows[] = {
        {"mpi-command", "MPI", false, false},
        {"none", "None", false, false},
        {"torch-process", "Torchrun", false, false},
        {"prepare", "None", true, false},
        {"trainer", "MPI", false, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *spec = parse(in_full);
        if (!rows[i].is_full) {
            json_object_del(spec, "trainer");
            json_object_del(spec, "metrics");
            json_object_del(spec, "logs");
        }
        json_object_set_new(spec, "launcher", json_string(rows[i].launcher));
        AUTO(text_freep) char *wanted = names_of_agent(rows[i].file);
        AUTO(text_freep) char *names = names_of_operator(spec, rows[i].prepares);
        CHECK_STR(names, wanted);
    }
}

int main(void) {
    TEST(test_defaults);
    TEST(test_trainer_image);
    TEST(test_trainer_with_gpus);
    TEST(test_names_of_variables);
    TEST(test_run_of_buckets);
    TEST(test_run);
    TEST(test_rule_about_changes);
    TEST(test_passwd);
    TEST(test_who_finishes_asks_for_no_devices);
    TEST(test_no_input_is_in_a_store);
    TEST(test_own_names);
    TEST(test_own_names_are_the_agents);
    return TEST_END();
}
