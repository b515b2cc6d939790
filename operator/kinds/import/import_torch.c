// SPDX-License-Identifier: Apache-2.0
/* PyTorchJob (kubeflow.org/v1) and TrainJob (trainer.kubeflow.org) of Kubeflow. */
#include "operator/kinds/import/import_kubeflow.h"
#include "operator/kinds/import/import_pod.h"
#include "operator/kinds/import/import_policy.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS_MAX = 64, RESTARTS_MAX = 1000 };

/* "auto", "gpu", "cpu" or a number. */
static void take_processes(struct import *import, const json_t *value, const char *field) {
    AUTO(text_freep) char *text = import_scalar(value);
    long count = text ? strtol(text, NULL, 10) : 0;
    int64_t gpus = tree_integer(import->spec, "gpus", 0);
    if (text && count <= 0 && gpus > 1) {
        json_object_set_new(import->spec, "slotsPerWorker", json_integer(gpus));
        import_note(import, "slotsPerWorker", "%s was %.20s: one for each GPU", field, text);
    } else if (text && count <= 0) {
        import_note(import, "workers",
                    "%s was %.20s: slotsPerWorker says how many processes each "
                    "has (1 where not given)",
                    field, text);
    } else if (count > 1) {
        json_object_set_new(import->spec, "slotsPerWorker", json_integer(MIN(count, SLOTS_MAX)));
    }
}

/* ---- PyTorchJob ---- */

static void take_elastic(struct import *import, const json_t *policy) {
    static const struct import_field fields[] = {
        {"minReplicas", NULL},
        {"maxRestarts", NULL},
        {"nProcPerNode", NULL},
        {"maxReplicas", "workers is the most there are"},
        {"metrics", "the number of workers follows no metric"},
        {"rdzvBackend", "Windlass gathers the workers"},
        {"rdzvHost", "Windlass gathers the workers"},
        {"rdzvPort", "Windlass gathers the workers"},
        {"rdzvId", "Windlass gathers the workers"},
        {"rdzvConf", "Windlass gathers the workers"},
        {"standalone", "Windlass gathers the workers"},
        {0},
    };
    import_set(import, "minWorkers", json_object_get(policy, "minReplicas"));
    if (json_object_get(policy, "maxRestarts")) {
        int64_t restarts = import_integer(import, policy, "maxRestarts", 0);
        json_object_set_new(tree_ensure_object(import->spec, "restart"), "maxRestarts",
                            json_integer(MIN(MAX(restarts, 0), RESTARTS_MAX)));
    }
    import_report(import, policy, "elasticPolicy.", fields);
}

/* One command starts all: of a master and workers that differ, the master's. */
static void compare_programs(struct import *import, const json_t *master, const json_t *worker) {
    static const char *const fields[] = {"command", "args", "image"};
    const json_t *one = json_array_get(tree_get(master, "template.spec.containers"), 0);
    const json_t *other = json_array_get(tree_get(worker, "template.spec.containers"), 0);
    for (size_t i = 0; one && other && i < ARRAY_LEN(fields); i++) {
        const json_t *a = json_object_get(one, fields[i]), *b = json_object_get(other, fields[i]);
        if ((a || b) && !(a && b && json_equal(a, b))) {
            import_leave_out(import, "Worker.%s: another than the master's, which all get",
                             fields[i]);
        }
    }
}

static const struct import_field of_spec[] = {
    {"pytorchReplicaSpecs", NULL},
    {"runPolicy", NULL},
    {"nprocPerNode", NULL},
    {"elasticPolicy", NULL},
    {0},
};

int import_pytorch(struct import *import, const json_t *object, struct error *err) {
    const json_t *spec = json_object_get(object, "spec");
    const json_t *master = tree_get(spec, "pytorchReplicaSpecs.Master");
    const json_t *worker = tree_get(spec, "pytorchReplicaSpecs.Worker");
    int64_t workers = (master ? import_integer(import, master, "replicas", 1) : 0) +
                      (worker ? import_integer(import, worker, "replicas", 1) : 0);
    if (import_workers(import, workers, "spec.pytorchReplicaSpecs: replicas", err) < 0) {
        return -1;
    }
    import_metadata(import, object);
    json_object_set_new(import->spec, "launcher", json_string("Torchrun"));
    const struct import_pod pods[] = {{.template = json_object_get(worker, "template"),
                                       .where = "Worker.",
                                       .container = "pytorch",
                                       .has_program = true,
                                       .has_place = true},
                                      {.template = json_object_get(master, "template"),
                                       .where = "Master.",
                                       .container = "pytorch",
                                       .has_program = true,
                                       .has_place = !worker}};
    for (size_t i = worker ? 0 : 1; i < (size_t)(master ? 2 : 1); i++) {
        import_take_pod(import, &pods[i]);
    }
    import_replica(import, worker, "Worker.");
    import_replica(import, master, "Master.");
    compare_programs(import, master, worker);
    take_elastic(import, json_object_get(spec, "elasticPolicy"));
    take_processes(import, json_object_get(spec, "nprocPerNode"), "nprocPerNode");
    take_processes(import, tree_get(spec, "elasticPolicy.nProcPerNode"), "nProcPerNode");
    import_policy(import, json_object_get(spec, "runPolicy"), "runPolicy.", NULL);
    import_policy(import, spec, "spec.", of_spec);
    return 0;
}

/* ---- TrainJob ---- */

/* The runtime of that name in the same file; NULL: it is not there. */
static const json_t *find_runtime(const struct import *import, const char *name) {
    for (size_t i = 0; i < json_array_size(import->documents); i++) {
        const json_t *one = json_array_get(import->documents, i);
        if (text_ends(tree_text(one, "kind", ""), "TrainingRuntime") &&
            strcmp(tree_text(one, "metadata.name", ""), name) == 0) {
            return json_object_get(one, "spec");
        }
    }
    return NULL;
}

/* The container whose program the trainer's command stands for: the launcher's, where there is one,
 * else the node's. */
static const json_t *program_of(const json_t *runtime) {
    const json_t *jobs = tree_get(runtime, "template.spec.replicatedJobs");
    const json_t *launcher = tree_find(jobs, "name", "launcher");
    const json_t *job = launcher ? launcher : tree_find(jobs, "name", "node");
    const json_t *containers = tree_get(job, "template.spec.template.spec.containers");
    const json_t *node = tree_find(containers, "name", "node");
    return node ? node : json_array_get(containers, 0);
}

/* The pods of the job `node` in replicatedJobs, which has the trainer. */
static void take_replicated(struct import *import, const json_t *template, const char *where,
                            bool is_change) {
    const json_t *jobs = tree_get(template, "spec.replicatedJobs");
    for (size_t i = 0; i < json_array_size(jobs); i++) {
        const json_t *job = json_array_get(jobs, i);
        const char *name = tree_text(job, "name", "");
        if (strcmp(name, "node") != 0 && strcmp(name, "launcher") != 0) {
            import_leave_out(import, "%sreplicatedJobs.%.60s: run it before, as a job of its own",
                             where, name);
            continue;
        }
        const struct import_pod pod = {.template = tree_get(job, "template.spec.template"),
                                       .where = where,
                                       .container = name,
                                       .has_place = true,
                                       .is_change = is_change};
        import_take_pod(import, &pod);
    }
    const json_t *metadata = json_object_get(template, "metadata");
    if (metadata) {
        const struct import_pod pod = {.template = template, .where = where};
        AUTO(tree_freep) json_t *only = json_pack("{s:O}", "metadata", metadata);
        struct import_pod labels = pod;
        labels.template = only;
        import_take_pod(import, &labels);
    }
}

/* What one override changes in the pods of the jobs `targets`; without a list: in all. */
static void take_override(struct import *import, const json_t *template, const json_t *targets,
                          const char *list) {
    AUTO(text_freep) char *where = x_printf("%s.", list);
    const struct import_pod pod = {
        .template = template, .where = where, .has_place = true, .is_change = true};
    if (json_array_size(targets) == 0 || tree_find(targets, "name", "node")) {
        import_take_pod(import, &pod);
    }
    for (size_t i = 0; i < json_array_size(targets); i++) {
        const char *name = tree_text(json_array_get(targets, i), "name", "");
        if (strcmp(name, "node") != 0) {
            import_leave_out(import, "%s: of %.60s", list, name);
        }
    }
}

static void take_patches(struct import *import, const json_t *spec) {
    const json_t *patches = json_object_get(spec, "runtimePatches");
    for (size_t i = 0; i < json_array_size(patches); i++) {
        take_replicated(import,
                        tree_get(json_array_get(patches, i), "trainingRuntimeSpec.template"),
                        "runtimePatches.", true);
    }
    static const char *const lists[] = {"podTemplateOverrides", "podSpecOverrides"};
    const json_t *one;
    size_t i;
    json_array_foreach(json_object_get(spec, lists[0]), i, one) {
        take_override(import, one, json_object_get(one, "targetJobs"), lists[0]);
    }
    json_array_foreach(json_object_get(spec, lists[1]), i, one) { /* fields of a pod's spec */
        AUTO(tree_freep) json_t *fields = json_copy((json_t *)one);
        json_object_del(fields, "targetJobs");
        AUTO(tree_freep) json_t *template = json_pack("{s:O}", "spec", fields);
        take_override(import, template, json_object_get(one, "targetJobs"), lists[1]);
    }
}

/* Flux starts a command by itself; MPI is asked to. */
static void take_flux(struct import *import) {
    int64_t ranks = tree_integer(import->spec, "workers", 1) *
                    MAX(tree_integer(import->spec, "slotsPerWorker", 0), 1);
    AUTO(tree_freep) json_t *words = json_incref(json_object_get(import->spec, "command"));
    json_t *made = json_pack("[s, s, o]", "mpirun", "-np", json_sprintf("%lld", (long long)ranks));
    json_array_extend(made, words);
    json_object_set_new(import->spec, "command", made);
    import_note(import, "command", "flux started it there, mpirun does here");
}

static void take_runtime(struct import *import, const json_t *spec, const json_t *runtime) {
    const char *name = tree_text(spec, "runtimeRef.name", "");
    bool is_mpi = tree_get(runtime, "mlPolicy.mpi") || strstr(name, "mpi") ||
                  strstr(name, "deepspeed") || strstr(name, "mlx") || strstr(name, "flux");
    json_object_set_new(import->spec, "launcher", json_string(is_mpi ? "MPI" : "Torchrun"));
    if (runtime) {
        take_replicated(import, json_object_get(runtime, "template"), "runtime.", false);
        take_processes(import, tree_get(runtime, "mlPolicy.torch.numProcPerNode"),
                       "numProcPerNode");
        take_processes(import, tree_get(runtime, "mlPolicy.mpi.numProcPerNode"), "numProcPerNode");
        if (tree_get(runtime, "podGroupPolicy.volcano")) {
            json_object_set_new(import->spec, "gang", json_string("Volcano"));
        } else if (tree_get(runtime, "podGroupPolicy.coscheduling")) {
            json_object_set_new(import->spec, "gang", json_string("PodGroup"));
        }
    } else {
        import_leave_out(import,
                         "runtimeRef: %.80s is not in the file, so its image, pods and volumes are "
                         "missing here",
                         name);
    }
}

static const struct import_field of_trainjob[] = {
    {"runtimeRef", NULL},
    {"trainer", NULL},
    {"runtimePatches", NULL},
    {"podTemplateOverrides", NULL},
    {"podSpecOverrides", NULL},
    {"initializer", "spec.prepare runs once on each worker; or fetch model and data before, into a "
                    "volume"},
    {"labels", NULL},
    {"annotations", NULL},
    {0},
};
static const struct import_field of_trainer[] = {
    {"numNodes", NULL}, {"numProcPerNode", NULL},   {"image", NULL}, {"command", NULL},
    {"args", NULL},     {"resourcesPerNode", NULL}, {"env", NULL},   {0},
};

int import_trainjob(struct import *import, const json_t *object, struct error *err) {
    const json_t *spec = json_object_get(object, "spec");
    const json_t *trainer = json_object_get(spec, "trainer");
    const json_t *runtime = find_runtime(import, tree_text(spec, "runtimeRef.name", ""));
    int64_t usual = import_integer(import, runtime, "mlPolicy.numNodes", 1);
    int64_t nodes = import_integer(import, trainer, "numNodes", usual);
    if (import_workers(import, nodes, "spec.trainer.numNodes", err) < 0) {
        return -1;
    }
    import_metadata(import, object);
    take_runtime(import, spec, runtime);
    take_patches(import, spec);
    const char *image = tree_text(trainer, "image", NULL);
    if (image || !json_object_get(import->spec, "image")) {
        import_image(import, image);
    }
    const json_t *standard = program_of(runtime);
    const json_t *command = json_object_get(trainer, "command");
    const json_t *arguments = json_object_get(trainer, "args");
    import_program(import, command ? command : json_object_get(standard, "command"),
                   arguments ? arguments : json_object_get(standard, "args"));
    import_environment(import, json_object_get(trainer, "env"), "trainer.");
    import_resources(import, json_object_get(trainer, "resourcesPerNode"));
    take_processes(import, json_object_get(trainer, "numProcPerNode"), "numProcPerNode");
    if (strstr(tree_text(spec, "runtimeRef.name", ""), "flux")) {
        take_flux(import);
    }
    import_report(import, trainer, "trainer.", of_trainer);
    import_policy(import, spec, "spec.", of_trainjob);
    return 0;
}
