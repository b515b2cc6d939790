// SPDX-License-Identifier: Apache-2.0
/* Every tests/data/import/NAME.yaml becomes NAME.made beside it, which a cluster accepts.
 * IMPORT_UPDATE=1 writes them anew. */
#include "operator/kinds/import/import_forms.h"

#include "lib/file.h"
#include "operator/manifest.h"
#include "operator/resource.h"
#include "tests/test.h"

#include <dirent.h>
#include <stdlib.h>

#define FOLDER "tests/data/import"

static json_t *documents_of(const char *name, const char *text, struct error *err) {
    AUTO(manifest_freep) struct manifest *file = NULL;
    json_t *all = json_array();
    CHECK_OK(manifest_parse(name, text, strlen(text), &file, err), err);
    for (size_t i = 0; file && i < file->count; i++) {
        json_array_append(all, file->documents[i].tree);
    }
    return all;
}

static char *read_text(const char *path) {
    struct error err = {0};
    char *text = NULL;
    size_t size;
    CHECK_OK(file_read(path, 1 << 20, &text, &size, &err), &err);
    return text ? text : x_strdup("");
}

static void check_golden(const char *file) {
    struct error err = {0};
    AUTO(text_freep) char *name = x_strndup(file, strlen(file) - strlen(".yaml"));
    AUTO(text_freep) char *from = file_join(FOLDER, file);
    AUTO(text_freep) char *to = x_printf(FOLDER "/%s.made", name);
    AUTO(text_freep) char *text = read_text(from);
    AUTO(text_freep) char *made = NULL;
    AUTO(tree_freep) json_t *documents = documents_of(file, text, &err);
    AUTO(tree_freep) json_t *object = NULL;
    CHECK_OK(import_documents(documents, NULL, name, &made, &err), &err);
    if (!made) {
        return;
    }
    CHECK_OK(resource_parse(file, made, strlen(made), &object, &err), &err);
    CHECK(!strstr(made, "KEEP-ME-OUT")); /* values of Secrets */
    if (getenv("IMPORT_UPDATE")) {
        CHECK_OK(file_write(to, made, strlen(made), &err), &err);
    }
    AUTO(text_freep) char *wanted = read_text(to);
    if (strcmp(made, wanted) != 0) {
        printf("# %s is not what comes out of %s:\n%s\n", to, from, made);
        test_failures++;
    }
}

static void test_goldens(void) {
    int count = 0;
    DIR *files = opendir(FOLDER);
    for (struct dirent *file; files && (file = readdir(files));) {
        if (text_ends(file->d_name, ".yaml")) {
            check_golden(file->d_name);
            count++;
        }
    }
    if (files) {
        closedir(files);
    }
    CHECK(count >= 13); /* each form, and both versions of those that have two */
}

static void check_refused(const char *text, const char *says) {
    struct error err = {0};
    AUTO(text_freep) char *made = NULL;
    AUTO(tree_freep) json_t *documents = documents_of("job.yaml", text, &err);
    CHECK_INT(import_documents(documents, NULL, "job", &made, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    if (!strstr(err.text, says)) {
        printf("# %s\n", err.text);
        test_failures++;
    }
}

static void test_refusals(void) {
    check_refused("kind: Pod\napiVersion: v1",
                  "not a job that import knows; it knows an MPIJob of Kubeflow");
    check_refused("kind: MPIJob\napiVersion: example.com/v1", "not a job that import knows");
    check_refused("kind: MPIJob\napiVersion: kubeflow.org/v1\nspec: {}", "Launcher: missing");
    check_refused("kind: MPIJob\napiVersion: kubeflow.org/v1\nspec: {mpiReplicaSpecs: {Launcher: "
                  "{}, Worker: {replicas: 1001}}}",
                  "Worker.replicas: 1 to 1000 are possible");
    check_refused("kind: Job\napiVersion: batch/v1\nspec: {completions: 3}",
                  "spec.completionMode: Indexed is expected");
    check_refused("kind: RayJob\napiVersion: ray.io/v1\nspec: {}", "spec.entrypoint: missing");
    check_refused("kind: Experiment\napiVersion: kubeflow.org/v1beta1\nspec: {algorithm: "
                  "{algorithmName: darts}}",
                  "algorithmName: darts has no counterpart");
    check_refused("kind: Experiment\napiVersion: kubeflow.org/v1beta1\nspec: {trialTemplate: "
                  "{trialSpec: {kind: TFJob}}}",
                  "trialSpec: kind: TFJob is not supported");
    check_refused("kind: Experiment\napiVersion: kubeflow.org/v1beta1\nspec: {algorithm: "
                  "{algorithmName: grid}, parameters: [{name: a, parameterType: double, "
                  "feasibleSpace: {min: 1, max: 2}}]}",
                  "spec.parameters[0]: feasibleSpace.step: missing");
    check_refused("endpoint_name: a\nname: b\nmodel: c\ntype: batch", "entry_script: missing");
    check_refused("endpoint_name: a\nname: b\nmodel: c\ninstance_count: 2\ncode_configuration: "
                  "{scoring_script: s.py}",
                  "not a job that import knows");
    check_refused("endpoint_name: a\ntype: batch\nentry_script: a.b.py", "entry_script: missing");
    check_refused("jobs: {a: {type: parallel}, b: {type: parallel}}", "has 2 parallel steps");
    check_refused("kind: RayJob\napiVersion: ray.io/v1\n---\nkind: RayJob\napiVersion: ray.io/v1",
                  "has several jobs");
}

static void check_made(const char *text, const char *has, const char *has_not) {
    struct error err = {0};
    AUTO(text_freep) char *made = NULL;
    AUTO(tree_freep) json_t *object = NULL;
    AUTO(tree_freep) json_t *documents = documents_of("job.yaml", text, &err);
    CHECK_OK(import_documents(documents, NULL, "job", &made, &err), &err);
    if (made) {
        CHECK_OK(resource_parse("job.yaml", made, strlen(made), &object, &err), &err);
    }
    if (!made || !strstr(made, has) || (has_not && strstr(made, has_not))) {
        printf("# %s:\n%s\n", has, made ? made : "nothing");
        test_failures++;
    }
}

#define POD "{spec: {containers: [{name: a, image: b, command: [c]}]}}"

/* A parameter of a trial is text, wherever it stands. */
static void test_numbers(void) {
    check_made("kind: PyTorchJob\napiVersion: kubeflow.org/v1\nspec: {pytorchReplicaSpecs: "
               "{Worker: {replicas: $(n), template: " POD "}}}",
               "# replicas: $(n) is not a whole number: as if it were 1\n", NULL);
    check_made("kind: PyTorchJob\napiVersion: kubeflow.org/v1\nspec: {pytorchReplicaSpecs: "
               "{Worker: {replicas: \"3\", template: " POD "}}}",
               "workers: 3\n", "whole number");
    check_made("kind: MPIJob\napiVersion: kubeflow.org/v1\nspec: {mpiReplicaSpecs: {Launcher: "
               "{template: " POD "}, Worker: {replicas: 2x, template: " POD "}}}",
               "# replicas: 2x is not a whole number: as if it were 1\n", NULL);
}

#define CLAIM                                                                                      \
    "volumes: [{name: data, persistentVolumeClaim: {claimName: x}}, {name: rest, emptyDir: {}}]"

/* A claim at two paths; a volume that only the container before the program mounts. */
static void test_volumes(void) {
    static const char job[] =
        "kind: PyTorchJob\napiVersion: kubeflow.org/v1\nspec: {pytorchReplicaSpecs: {Worker: "
        "{restartPolicy: OnFailure, template: {spec: {containers: [{name: a, image: b, command: "
        "[c], volumeMounts: [{name: data, mountPath: /one}, {name: data, mountPath: /two}]}], "
        "initContainers: [{name: i, image: b, volumeMounts: [{name: rest, mountPath: /rest}, "
        "{name: data, mountPath: /data}]}], " CLAIM "}}}, Master: {template: {spec: "
        "{nodeSelector: {a: b}, containers: [{name: a, image: b, command: [c]}]}}}}}";
    check_made(job, "{name: data-2, mountPath: /two, persistentVolumeClaim: {claimName: x}}", NULL);
    check_made(job, "- {name: rest, emptyDir: {}}", "- {name: data, persistentVolumeClaim");
    check_made(job, "# Worker.restartPolicy: restart and retry", NULL);
    check_made(job, "# Master.nodeSelector: all pods are alike", NULL);
}

#define TRAINJOB                                                                                   \
    "kind: ClusterTrainingRuntime\napiVersion: trainer.kubeflow.org/v1alpha1\nmetadata: {name: "   \
    "r}\nspec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: "      \
    "{spec: {containers: [{name: node, image: b, command: [python3, own.py]}]}}}}}]}}}\n---\n"     \
    "kind: TrainJob\napiVersion: trainer.kubeflow.org/v1alpha1\nspec: {runtimeRef: {name: r}, "

static void test_overrides(void) {
    check_made(TRAINJOB "trainer: {numNodes: 2}}", "command: [python3, own.py]", "NAME-THE");
    check_made(TRAINJOB "trainer: {args: [x]}}", "command: [python3, own.py, x]", "NAME-THE");
    check_made(TRAINJOB "podSpecOverrides: [{targetJobs: [{name: node}], nodeSelector: {a: b}}]}",
               "nodeSelector: {a: b}", "NAME-THE");
    static const char three[] =
        TRAINJOB "podTemplateOverrides: [{spec: {priorityClassName: c}}, {targetJobs: [{name: "
                 "other}], spec: {}}, {spec: {serviceAccountName: third}}]}";
    check_made(three, "serviceAccountName: third", "NAME-THE");
    check_made(three, "# podTemplateOverrides: of other", NULL);
    check_made(three, "priorityClassName: c", NULL);
}

static void test_ray_head(void) {
    static const char job[] =
        "kind: RayJob\napiVersion: ray.io/v1\nspec: {entrypoint: e, rayClusterSpec: {rayVersion: "
        "'2', enableInTreeAutoscaling: true, headGroupSpec: {serviceType: x, template: {spec: "
        "{tolerations: [{key: a}], containers: [{name: h, image: head, env: [{name: A, value: b}], "
        "resources: {limits: {cpu: 1}}}]}}}, workerGroupSpecs: [{replicas: 1, template: " POD
        "}]}}";
    static const char *const lines[] = {"# headGroupSpec.image: the head has",
                                        "# headGroupSpec.resources: the head has",
                                        "# headGroupSpec.serviceType: it has no",
                                        "# headGroupSpec.tolerations: all pods",
                                        "# rayClusterSpec.rayVersion: the image has",
                                        "# rayClusterSpec.enableInTreeAutoscaling: ",
                                        "environment: {A: b}",
                                        "image: b\n"};
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        check_made(job, lines[i], NULL);
    }
}

#define INDEXED "kind: Job\napiVersion: batch/v1\nspec: {completionMode: Indexed, completions: 3, "

static void test_indexed(void) {
    static const char job[] =
        INDEXED "activeDeadlineSeconds: 172800, backoffLimit: 3, template: {spec: {containers: "
                "[{name: a, image: b, command: [c], env: [{name: API_KEY, value: d}], "
                "volumeMounts: [{name: work, mountPath: /w}]}], volumes: [{name: work, emptyDir: "
                "{}}]}}}";
    check_made(job, "retry: {maxTries: 4, timeoutSeconds: 86400}", "restart: a BatchScore has");
    check_made(job, "# timeoutSeconds is for one index, and at most a day", NULL);
    check_made(job, "files: {path: work-2/indices}", NULL);
    check_made(job, "# API_KEY: its value is in this file", NULL);
}

static void test_scripts(void) {
    check_made("type: parallel\ntask: {entry_script: src/my-score.py}\nmini_batch_size: 1",
               "script = importlib.import_module('my-score')\\nwindlass.serve(", "as script");
    check_made("type: parallel\ntask: {entry_script: src/score.py}\nmini_batch_size: 1\n"
               "instance_count: 3\nenvironment_variables: {PASSWORD: x}",
               "PYTHONPATH: \"$(work)/code/src:$(work)/code\"", "instance_count");
    check_made("type: parallel\ntask: {entry_script: s.py}\nmini_batch_size: 1\n"
               "environment_variables: {PASSWORD: x}",
               "# PASSWORD: its value is in this file", NULL);
}

/* A job's own name, a given one, and one that a job cannot have. */
static void test_names(void) {
    static const char *const rows[][3] = {
        {"own", NULL, "own"}, {"own", "given", "given"}, {"Not_One", NULL, "job"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(text_freep) char *made = NULL;
        AUTO(tree_freep)
        json_t *documents =
            json_pack("[{s:s, s:s, s:{s:s}, s:{s:s}}]", "apiVersion", "ray.io/v1", "kind", "RayJob",
                      "metadata", "name", rows[i][0], "spec", "entrypoint", "echo");
        AUTO(tree_freep) json_t *object = NULL;
        CHECK_OK(import_documents(documents, rows[i][1], "job", &made, &err), &err);
        CHECK_OK(resource_parse("x", made, strlen(made), &object, &err), &err);
        CHECK_STR(tree_text(object, "metadata.name", ""), rows[i][2]);
    }
}

int main(void) {
    TEST(test_goldens);
    TEST(test_refusals);
    TEST(test_numbers);
    TEST(test_volumes);
    TEST(test_overrides);
    TEST(test_ray_head);
    TEST(test_indexed);
    TEST(test_scripts);
    TEST(test_names);
    return TEST_END();
}
