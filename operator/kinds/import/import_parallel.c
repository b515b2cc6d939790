// SPDX-License-Identifier: Apache-2.0
/* Parallel jobs of Azure Machine Learning, which read their input in mini-batches and call run() of
 * an entry script for each: a BatchScore with scorer.command. Three forms have the same settings
 * under other names: a step `type: parallel` of a pipeline (v2), the deployment of a batch endpoint
 * (v2), and a ParallelRunConfig (v1). */
#include "operator/kinds/import/import_batch.h"
#include "operator/kinds/import/import_pod.h"

#include "lib/file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES_MAX = 100, WORKERS_MAX = 1000, PROCESSES_MAX = 64, SECONDS_MAX = 86400 };

/* The setting under the first of the names that is there, in the object, its settings or its task.
 */
static const json_t *find(const json_t *object, const char *const *names) {
    static const char *const within[] = {
        NULL, "settings", "task", "code_configuration", "retry_settings", "resources"};
    for (size_t i = 0; i < ARRAY_LEN(within); i++) {
        const json_t *part = within[i] ? json_object_get(object, within[i]) : object;
        if (!part && json_object_get(object, "settings")) {
            part = json_object_get(json_object_get(object, "settings"), within[i]);
        }
        for (const char *const *name = names; *name; name++) {
            const json_t *value = json_object_get(part, *name);
            if (value && !json_is_null(value)) {
                return value;
            }
        }
    }
    return NULL;
}

#define FIND(object, ...) find(object, (const char *const[]){__VA_ARGS__, NULL})

static const char *text_of(const json_t *value) {
    return json_string_value(value);
}

static int64_t number_of(const json_t *value, int64_t standard) {
    AUTO(text_freep) char *text = import_scalar(value);
    char *end = text;
    long long number = text ? strtoll(text, &end, 10) : 0;
    return text && end != text && !*end ? number : standard;
}

/* ---- which form it is ---- */

static bool is_step(const json_t *object) {
    const char *type = tree_text(object, "type", "");
    return strcmp(type, "parallel") == 0 || strcmp(type, "ParallelRunStep") == 0;
}

/* The only parallel step of a pipeline. NULL: none, or several (*ret_count). */
static const json_t *find_step(const json_t *object, size_t *ret_count) {
    const json_t *jobs = json_object_get(object, "jobs"), *found = NULL;
    const char *name;
    json_t *job;
    *ret_count = 0;
    json_object_foreach((json_t *)jobs, name, job) {
        if (is_step(job)) {
            found = job;
            (*ret_count)++;
        }
    }
    return found;
}

bool import_is_parallel(const json_t *object) {
    size_t count;
    const char *type = tree_text(object, "type", "");
    bool is_batch = json_object_get(object, "settings") ||
                    json_object_get(object, "mini_batch_size") || strcmp(type, "batch") == 0 ||
                    strcmp(type, "model") == 0; /* an online deployment has none of them */
    return is_step(object) || find_step(object, &count) ||
           (json_object_get(object, "endpoint_name") && is_batch) ||
           json_is_object(json_object_get(object, "parallel_run_config")) ||
           (json_object_get(object, "entry_script") &&
            FIND(object, "output_action", "mini_batch_size", "node_count"));
}

/* ---- the program ---- */

/* The module of "src/score.py"; owned; NULL: not a Python file, or of a name that no module has. */
static char *module_of(const char *script) {
    const char *base = file_basename(script);
    return text_ends(base, ".py") && strlen(base) > 3 && !strpbrk(script, "'\"\\ \n$:") &&
                   strchr(base, '.') == base + strlen(base) - 3
               ? x_strndup(base, strlen(base) - 3)
               : NULL;
}

/* What makes it `script`: import takes no name with a "-", importlib does; owned. */
static char *line_of(const char *module, bool is_table) {
    bool is_name = !isdigit((unsigned char)*module);
    for (const char *at = module; *at; at++) {
        is_name &= isalnum((unsigned char)*at) || *at == '_';
    }
    AUTO(text_freep)
    char *import =
        is_name ? x_printf("import windlass, %s as script%s", module, is_table ? ", pandas" : "")
                : x_printf("import importlib, windlass%s\nscript = "
                           "importlib.import_module('%s')",
                           is_table ? ", pandas" : "", module);
    return x_printf("%s\nwindlass.serve(%s, lambda arguments: getattr(script, 'init', lambda: "
                    "None)())",
                    import,
                    is_table ? "lambda rows: script.run(pandas.DataFrame(rows))" : "script.run");
}

/* Splits program_arguments at spaces; what only Azure's own runner reads is left out. */
static json_t *arguments_of(struct import *import, const char *line) {
    json_t *words = json_array();
    AUTO(text_freep) char *copy = x_strdup(line);
    char *rest = NULL;
    for (char *word = strtok_r(copy, " \t\r\n", &rest); word;
         word = strtok_r(NULL, " \t\r\n", &rest)) {
        static const char *const of_runner[] = {
            "--error_threshold",         "--allowed_failed_percent",
            "--allowed_failed_count",    "--task_overhead_timeout",
            "--progress_update_timeout", "--first_task_creation_timeout",
            "--copy_logs_to_parent",     "--metrics_name_prefix",
            "--push_metrics_to_parent",  "--resource_monitor_interval"};
        bool is_runners = false;
        for (size_t i = 0; i < ARRAY_LEN(of_runner); i++) {
            is_runners |= strcmp(word, of_runner[i]) == 0;
        }
        if (!is_runners) {
            json_array_append_new(words, json_string(word));
            continue;
        }
        const char *value = strtok_r(NULL, " \t\r\n", &rest);
        if (strcmp(word, "--error_threshold") == 0 && value) {
            json_object_set_new(import->spec, "errorThreshold",
                                json_integer(strtol(value, NULL, 10)));
        } else if (strcmp(word, "--allowed_failed_percent") == 0 && value) {
            json_object_set_new(import->spec, "miniBatchErrorThreshold",
                                json_sprintf("%s%%", value));
        } else {
            import_leave_out(import, "program_arguments: %s %.40s", word, value ? value : "");
        }
    }
    return words;
}

/* ${{inputs.NAME}} of an argument as a folder of the volume. */
static void fill_in(json_t *words) {
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        const char *start = strstr(word, "${{"), *end = start ? strstr(start, "}}") : NULL;
        const char *dot = start ? strchr(start, '.') : NULL;
        if (end && dot && dot < end) {
            json_array_set_new(words, i,
                               json_sprintf("%.*s$(work)/%.*s%s", (int)(start - word), word,
                                            (int)(end - dot - 1), dot + 1, end + 2));
        }
    }
}

static int take_program(struct import *import, const json_t *job, bool is_table,
                        struct error *err) {
    const char *script = text_of(FIND(job, "entry_script", "scoring_script"));
    AUTO(text_freep) char *module = script ? module_of(script) : NULL;
    if (!module) {
        return error_set(err, ERROR_INVALID,
                         "entry_script: missing, or not a Python file: a model of MLflow without a "
                         "script is not supported; export it to ONNX and use windlass score");
    }
    AUTO(text_freep) char *line = line_of(module, is_table);
    const char *arguments = text_of(FIND(job, "program_arguments"));
    AUTO(tree_freep) json_t *words = json_pack("[s, s, s]", "python3", "-c", line);
    AUTO(tree_freep) json_t *more = arguments_of(import, arguments ? arguments : "");
    fill_in(more);
    json_array_extend(words, more);
    json_t *command = json_pack("{s:O}", "command", words);
    json_t *variables = tree_ensure_object(command, "environment");
    int folder = (int)(file_basename(script) - script);
    json_object_set_new(variables, "PYTHONPATH",
                        folder ? json_sprintf("$(work)/code/%.*s:$(work)/code", folder - 1, script)
                               : json_string("$(work)/code"));
    json_object_set_new(variables, "AZUREML_MODEL_DIR", json_string("$(work)/model"));
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)FIND(job, "environment_variables"), name, value) {
        AUTO(text_freep) char *text = import_scalar(value);
        json_object_set_new(variables, name, json_string(text ? text : ""));
        import_note_secret(import, "scorer.command.environment", name);
    }
    json_object_set_new(import->spec, "scorer", json_pack("{s:o}", "command", command));
    import_note(import, "scorer.command.command",
                "run() gets the same lists; each item needs a result: None, or an exception, "
                "for what failed");
    return 0;
}

static void take_image(struct import *import, const json_t *job) {
    const json_t *environment = FIND(job, "environment");
    const char *image =
        tree_text(environment, "image", tree_text(environment, "docker.base_image", NULL));
    json_t *command = tree_get(import->spec, "scorer.command");
    json_object_set_new(command, "image", json_string(image ? image : "NAME-THE-IMAGE"));
    import_note(import, "scorer.command.image", "%s",
                image
                    ? "it needs python3 and what the script imports; windlass.py is there by itself"
                    : "the environment is one of the workspace's: name its image");
    if (json_object_get(environment, "conda_file")) {
        import_leave_out(import, "environment.conda_file: build an image with its packages");
    }
}

/* ---- input, output, sizes ---- */

static const char *const folders =
    "a folder of the claim for each: data (input), code (the script's folder), model, out";

static void take_places(struct import *import, const json_t *job, bool is_table) {
    AUTO(text_freep) char *claim = x_printf("%s-work", import->name);
    const char *append = text_of(FIND(job, "append_row_to"));
    const char *action = text_of(FIND(job, "output_action"));
    const char *file = text_of(FIND(job, "output_file_name", "append_row_file_name"));
    bool is_summary =
        action ? strcmp(action, "summary_only") == 0
               : is_step(job) && !append && strcmp(tree_text(job, "type", ""), "parallel") == 0;
    json_object_set_new(import->spec, "input",
                        json_pack("{s:{s:s}}", is_table ? "table" : "files", "path", "work/data"));
    json_object_set_new(import->spec, "output",
                        json_pack("{s:s, s:s, s:s*}", "path", "work/out", "mode",
                                  is_summary ? "SummaryOnly" : "AppendRow", "appendRowFileName",
                                  is_summary ? NULL : file));
    if (!is_summary && file && text_ends(file, ".csv")) {
        json_object_set_new(json_object_get(import->spec, "output"), "format", json_string("CSV"));
    }
    json_object_set_new(
        import->spec, "volumes",
        json_pack("[{s:s, s:{s:s}}]", "name", "work", "persistentVolumeClaim", "claimName", claim));
    import_note(import, "volumes", "%s", folders);
    const json_t *keys = FIND(job, "partition_keys");
    if (json_array_size(keys) > 0) {
        json_object_set_new(json_object_get(json_object_get(import->spec, "input"), "table"),
                            "partitionKeys", import_words(keys));
    }
}

/* "10kb" -> "10KB", "10" -> 10. */
static void take_size(struct import *import, const json_t *value, bool is_table) {
    AUTO(text_freep) char *text = import_scalar(value);
    char *unit = text;
    long count = text ? strtol(text, &unit, 10) : 0;
    bool is_known =
        strcasecmp(unit ? unit : "", "kb") == 0 || strcasecmp(unit ? unit : "", "mb") == 0;
    if (!text || count < 1) {
        return;
    }
    if (!is_table && !*unit) {
        json_object_set_new(import->spec, "miniBatchSize", json_integer(MIN(count, 100000)));
    } else if (is_table && is_known && (count >= 4 || *unit == 'm' || *unit == 'M') &&
               count < 10000) {
        json_object_set_new(
            import->spec, "miniBatchSize",
            json_sprintf("%ld%cB", count, *unit == 'm' || *unit == 'M' ? 'M' : 'K'));
    } else {
        import_leave_out(import,
                         "mini_batch_size: %.40s: 1MB of rows, or 10 files, where not given", text);
    }
}

static void take_threshold(struct import *import, const char *field, const json_t *value) {
    int64_t number = number_of(value, INT64_MIN);
    if (number >= -1 && number <= INT32_MAX) {
        json_object_set_new(import->spec, field, json_integer(number));
    }
}

static void take_limits(struct import *import, const json_t *job) {
    int64_t tries = number_of(FIND(job, "run_max_try"), 0);
    int64_t retries = number_of(FIND(job, "max_retries"), -1);
    int64_t seconds = number_of(FIND(job, "run_invocation_timeout", "timeout"), 0);
    json_t *retry = json_object();
    tries = tries > 0 ? tries : retries >= 0 ? MIN(retries, TRIES_MAX) + 1 : 0;
    if (tries > 0) {
        json_object_set_new(retry, "maxTries", json_integer(MIN(tries, TRIES_MAX)));
    }
    if (seconds > 0) {
        json_object_set_new(retry, "timeoutSeconds", json_integer(MIN(seconds, SECONDS_MAX)));
    }
    json_object_set_new(import->spec, "retry", retry);
    if (!json_object_get(import->spec, "errorThreshold")) {
        json_object_set_new(import->spec, "errorThreshold", json_integer(-1));
    }
    take_threshold(import, "errorThreshold", FIND(job, "error_threshold"));
    take_threshold(import, "miniBatchErrorThreshold",
                   FIND(job, "mini_batch_error_threshold", "allowed_failed_count"));
    int64_t nodes = number_of(FIND(job, "instance_count", "node_count"), 1);
    int64_t processes =
        number_of(FIND(job, "max_concurrency_per_instance", "process_count_per_node"), 1);
    json_object_set_new(import->spec, "workers",
                        json_pack("{s:I}", "max", (json_int_t)MAX(1, MIN(nodes, WORKERS_MAX))));
    json_object_set_new(tree_get(import->spec, "scorer.command"), "processesPerWorker",
                        json_integer(MAX(1, MIN(processes, PROCESSES_MAX))));
    import_note(import, "workers", "gpus and resources of a worker: those of the compute's nodes");
}

/* ---- the job ---- */

static const struct import_field of_job[] = {
    {"$schema", NULL},
    {"name", NULL},
    {"display_name", NULL},
    {"type", NULL},
    {"task", NULL},
    {"code_configuration", NULL},
    {"settings", NULL},
    {"retry_settings", NULL},
    {"mini_batch_size", NULL},
    {"mini_batch_error_threshold", NULL},
    {"error_threshold", NULL},
    {"environment", NULL},
    {"environment_variables", NULL},
    {"max_concurrency_per_instance", NULL},
    {"output_action", NULL},
    {"output_file_name", NULL},
    {"append_row_file_name", NULL},
    {"entry_script", NULL},
    {"node_count", NULL},
    {"process_count_per_node", NULL},
    {"run_invocation_timeout", NULL},
    {"run_max_try", NULL},
    {"partition_keys", NULL},
    {"allowed_failed_count", NULL},
    {"resources", NULL},
    {"instance_count", NULL},
    {"instance_type", NULL},
    {"model", "put its files into model in the volume"},
    {"source_directory", "put its files into code in the volume"},
    {"inputs", "the one of input_data is data in the volume, others are folders beside it"},
    {"outputs", "out in the volume"},
    {"input_data", "data in the volume"},
    {"compute", "the nodes of the cluster; nodeSelector says which"},
    {"compute_target", "the nodes of the cluster; nodeSelector says which"},
    {"logging_level", "every worker's log is kept in the pods"},
    {"endpoint_name", "there is no endpoint: apply the manifest, or use trigger or rerun"},
    {"component", "write its fields into the step"},
    {0},
};

int import_parallel(struct import *import, const json_t *object, struct error *err) {
    size_t count;
    const json_t *step = find_step(object, &count);
    const json_t *config = json_object_get(object, "parallel_run_config");
    const json_t *job = step ? step : json_is_object(config) ? config : object;
    if (count > 1) {
        return error_set(err, ERROR_INVALID,
                         "jobs: has %zu parallel steps: put each into a file of its own", count);
    }
    const char *size = text_of(FIND(job, "mini_batch_size"));
    const json_t *inputs = json_object_get(job, "inputs");
    const char *name;
    json_t *input;
    bool is_table = size && (strchr(size, 'b') || strchr(size, 'B'));
    json_object_foreach((json_t *)inputs, name, input) {
        is_table |= strcmp(tree_text(input, "type", ""), "mltable") == 0 && !size;
    }
    if (take_program(import, job, is_table, err) < 0) {
        return -1;
    }
    take_image(import, job);
    take_places(import, job, is_table);
    take_size(import, FIND(job, "mini_batch_size"), is_table);
    take_limits(import, job);
    import_report(import, job, "", of_job);
    if (FIND(job, "instance_type")) {
        import_leave_out(import, "resources.instance_type: nodeSelector says which nodes");
    }
    json_object_foreach((json_t *)json_object_get(object, "jobs"), name, input) {
        if (input != step) {
            import_leave_out(import, "jobs.%.80s: not a parallel step", name);
        }
    }
    return 0;
}
