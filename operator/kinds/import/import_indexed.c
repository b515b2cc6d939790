// SPDX-License-Identifier: Apache-2.0
/* Jobs of Kubernetes: with indexed completions as a BatchScore, whose items are the indices; of one
 * pod as a DistTrain of one worker. */
#include "operator/kinds/import/import_batch.h"
#include "operator/kinds/import/import_kubeflow.h"
#include "operator/kinds/import/import_pod.h"
#include "operator/kinds/import/import_policy.h"

#include <stdlib.h>
#include <string.h>

enum { TRIES_MAX = 100, WORKERS_MAX = 1000, SECONDS_MAX = 86400 };

static const struct import_field of_job[] = {
    {"template", NULL},
    {"completions", NULL},
    {"parallelism", NULL},
    {"completionMode", NULL},
    {"backoffLimitPerIndex", NULL},
    {"maxFailedIndexes", NULL},
    {"podFailurePolicy", "an evicted pod never counts as a try; every exit code but 0 does"},
    {"podReplacementPolicy", "a pod is replaced when it has ended"},
    {"successPolicy", "all indices count, but for errorThreshold"},
    {"selector", "Windlass names its pods"},
    {"manualSelector", "Windlass names its pods"},
    {0},
};

int import_single(struct import *import, const json_t *object, struct error *err) {
    const json_t *spec = json_object_get(object, "spec");
    const struct import_pod pod = {.template = json_object_get(spec, "template"),
                                   .where = "template.",
                                   .has_program = true,
                                   .has_place = true};
    if (import_integer(import, spec, "completions", 1) != 1) {
        return error_set(err, ERROR_INVALID, "spec.completions: 1 is expected");
    }
    import_metadata(import, object);
    json_object_set_new(import->spec, "workers", json_integer(1));
    json_object_set_new(import->spec, "launcher", json_string("None"));
    import_take_pod(import, &pod);
    import_policy(import, spec, "spec.", of_job);
    return 0;
}

/* The protocol of scorer.command in a shell: a mini-batch is one path, whose name is the index. The
 * program's output goes to the log. */
static const char bridge[] =
    "while read -r line; do case $line in\n"
    "  '{\"init\"'*) echo '{\"ready\":true}';;\n"
    "  *) id=${line#*:}; id=${id%%,*}; index=${line#*[}; index=${index%%]*}\n"
    "    index=${index##*/}; index=${index%\\\"}\n"
    "    JOB_COMPLETION_INDEX=$index \"$@\" </dev/null >&2 &&\n"
    "      echo \"{\\\"id\\\":$id,\\\"results\\\":[$index]}\" ||\n"
    "      echo \"{\\\"id\\\":$id,\\\"error\\\":\\\"exit code $?\\\"}\";;\n"
    "esac; done";

/* Takes a field out of one object into another, under its own name or another. */
static void move(json_t *from, const char *name, json_t *to, const char *other) {
    json_t *value = json_object_get(from, name);
    if (value) {
        json_object_set(to, other, value);
        json_object_del(from, name);
    }
}

/* A command in a shell; owned. Variables of the pod are filled in by Kubernetes' rules. */
static json_t *wrap(const json_t *command) {
    json_t *words = json_pack("[s, s, s, s]", "sh", "-c", bridge, "job");
    json_array_extend(words, (json_t *)command);
    return words;
}

/* Variables with values from Secrets go into the template, the only place for them here. */
static void move_secrets(struct import *import) {
    AUTO(tree_freep) json_t *secrets = json_incref(json_object_get(import->spec, "secrets"));
    json_object_del(import->spec, "secrets");
    for (size_t i = 0; i < json_array_size(secrets); i++) {
        const json_t *one = json_array_get(secrets, i);
        json_t *agent = import_agent(import), *list = tree_ensure_list(agent, "env");
        json_array_append_new(
            list, json_pack("{s:s, s:{s:{s:s, s:s}}}", "name", tree_text(one, "name", ""),
                            "valueFrom", "secretKeyRef", "name", tree_text(one, "secretName", ""),
                            "key", tree_text(one, "key", "")));
    }
}

/* The fields of a DistTrain, which import_pod fills in, in their places here. */
static void place_fields(struct import *import, int64_t workers) {
    static const char *const of_workers[] = {"gpus", "resources", "nodeSelector", "tolerations",
                                             "template"};
    json_t *spec = import->spec, *command = json_object(), *pods = json_object();
    json_object_set_new(pods, "max", json_integer(workers));
    move_secrets(import);
    for (size_t i = 0; i < ARRAY_LEN(of_workers); i++) {
        move(spec, of_workers[i], pods, of_workers[i]);
    }
    json_object_set_new(command, "command", wrap(json_object_get(spec, "command")));
    json_object_del(spec, "command");
    move(spec, "image", command, "image");
    move(spec, "environment", command, "environment");
    move(import->notes, "image", import->notes, "scorer.command.image");
    move(import->notes, "command", import->notes, "scorer.command.command");
    move(import->notes, "gpus", import->notes, "workers.gpus");
    move(import->notes, "environment", import->notes, "scorer.command.environment");
    json_object_set_new(spec, "scorer", json_pack("{s:o}", "command", command));
    json_object_set_new(spec, "workers", pods);
    json_object_del(spec, "gang"); /* of a queue: its workers go one by one */
    if (json_object_del(spec, "sharedMemory") == 0) {
        import_leave_out(import, "sharedMemory: a BatchScore has no such field");
    }
    json_object_del(spec, "restart"); /* of backoffLimit, which retry has */
}

/* A name that no volume of the pod has; owned. */
static char *free_name(const struct import *import) {
    const json_t *plain = json_object_get(import->spec, "volumes");
    const json_t *others = tree_get(import->spec, "workers.template.spec.volumes");
    char *name = x_strdup("work");
    for (int i = 2; i < 100 && (tree_find(plain, "name", name) || tree_find(others, "name", name));
         i++) {
        free(name);
        name = x_printf("work-%d", i);
    }
    return name;
}

/* The indices as files of a claim, and a folder for what the job leaves. */
static void add_work(struct import *import, int64_t completions) {
    AUTO(text_freep) char *claim = x_printf("%s-work", import->name);
    AUTO(text_freep) char *name = free_name(import);
    json_t *volumes = tree_ensure_list(import->spec, "volumes");
    json_array_append_new(volumes, json_pack("{s:s, s:{s:s}}", "name", name,
                                             "persistentVolumeClaim", "claimName", claim));
    json_object_set_new(import->spec, "input",
                        json_pack("{s:{s:o}}", "files", "path", json_sprintf("%s/indices", name)));
    json_object_set_new(
        import->spec, "output",
        json_pack("{s:o, s:s}", "path", json_sprintf("%s/done", name), "mode", "SummaryOnly"));
    import_note(
        import, "input",
        "an item is an index. Make the files in the volume once: mkdir indices; cd indices; "
        "touch $(seq 0 %lld)",
        (long long)completions - 1);
    import_note(import, "volumes", "%s: make a claim %s that all nodes can mount", name, claim);
}

static void take_limits(struct import *import, const json_t *spec) {
    int64_t tries = import_integer(import, spec, "backoffLimit", 6);
    int64_t seconds = import_integer(import, spec, "activeDeadlineSeconds", SECONDS_MAX);
    tries = import_integer(import, spec, "backoffLimitPerIndex", tries);
    json_t *retry = tree_ensure_object(import->spec, "retry");
    tries = MAX(0, MIN(tries, TRIES_MAX - 1)) + 1;
    json_object_set_new(import->spec, "miniBatchSize", json_integer(1));
    json_object_set_new(retry, "maxTries", json_integer(tries));
    json_object_set_new(retry, "timeoutSeconds", json_integer(MIN(seconds, SECONDS_MAX)));
    import_note(import, "retry", "timeoutSeconds is for one index%s",
                seconds > SECONDS_MAX ? ", and at most a day" : "");
    if (json_object_get(spec, "backoffLimitPerIndex")) {
        json_object_set_new(import->spec, "errorThreshold",
                            json_integer(import_integer(import, spec, "maxFailedIndexes", -1)));
    }
}

int import_indexed(struct import *import, const json_t *object, struct error *err) {
    const json_t *spec = json_object_get(object, "spec");
    int64_t completions = import_integer(import, spec, "completions", 0);
    if (strcmp(tree_text(spec, "completionMode", ""), "Indexed") != 0 || completions < 1 ||
        completions > INT32_MAX) {
        return error_set(err, ERROR_INVALID,
                         "spec.completionMode: Indexed is expected, with completions: other Jobs "
                         "have no list of what is to be done");
    }
    const struct import_pod pod = {.template = json_object_get(spec, "template"),
                                   .where = "template.",
                                   .has_program = true,
                                   .has_place = true};
    int64_t workers = import_integer(import, spec, "parallelism", 1);
    import_metadata(import, object);
    import_take_pod(import, &pod);
    import_policy(import, spec, "spec.", of_job);
    place_fields(import, MAX(1, MIN(MIN(workers, completions), WORKERS_MAX)));
    take_limits(import, spec);
    add_work(import, completions);
    return 0;
}
