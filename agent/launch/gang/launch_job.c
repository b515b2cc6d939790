// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/gang/launch_job.h"

#include "agent/launch/pod/port.h"
#include "agent/launch/pod/variables.h"
#include "agent/launch/rank/metric_line.h"
#include "agent/store/path.h"
#include "agent/store/store.h"
#include "lib/environment.h"
#include "lib/file.h"
#include "lib/net/tls.h"
#include "lib/secret.h"
#include "lib/text/text_list.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SPEC_MAX = 128 << 10,
    WORDS_COUNT_MAX = 4096,
    PATHS_MAX = 256,
    NAMES_MAX = 4096,
    SLOTS_MAX = 64, /* of a worker */
    GPUS_MAX = 1024,
    DAY_S = 86400,
    EVALUATIONS_MAX = 1000000,
    GRACE_S = 30,  /* Kubernetes' default */
    ENDING_S = 10, /* the part of it for programs that do not end by themselves */
    /* Ranks of a trainer exit by themselves when they receive nothing for hangSeconds, and get
     * three times as long before their first step (agent/train/trainer.h). The hub handles the
     * hangs that they do not detect. */
    TRAINER_HANGS = 3,
    ID_MAX = 200
};

static int read_number(const char *name, int64_t least, int64_t most, int64_t *ret_value,
                       struct error *err) {
    const char *text = NULL;
    char *end = NULL;
    if (environment_read(name, &text, err) < 0) {
        return -1;
    }
    int64_t value = strtoll(text, &end, 10);
    if (*end || value < least || value > most) {
        return error_set(err, ERROR_INVALID,
                         "the environment variable %s is not a whole number from %lld to "
                         "%lld",
                         name, (long long)least, (long long)most);
    }
    *ret_value = value;
    return 0;
}

/* ---- the spec ------------------------------------------------------------------------------- */

/* A field of the spec with a whole number. */
struct bound {
    const char *path;
    int least, most;
    int *to;
};

static int read_bounded(const json_t *spec, const struct bound *bound, struct error *err) {
    const json_t *field = tree_get(spec, bound->path);
    if (!field) {
        return error_set(err, ERROR_INVALID,
                         "the environment variable WINDLASS_SPEC: %s is missing", bound->path);
    }
    json_int_t value = json_integer_value(field);
    if (!json_is_integer(field) || value < bound->least || value > bound->most) {
        return error_set(err, ERROR_INVALID, "spec.%s: expected a whole number from %d to %d",
                         bound->path, bound->least, bound->most);
    }
    *bound->to = (int)value;
    return 0;
}

/* The length of a list, which may be missing. */
static int count_list(const json_t *list, const char *field, size_t most, size_t *ret_count,
                      struct error *err) {
    size_t count = json_array_size(list);
    if (count > most) {
        return error_set(err, ERROR_INVALID, "spec.%s: %zu entries, expected at most %zu", field,
                         count, most);
    }
    *ret_count = count;
    return 0;
}

static int read_each(const json_t *spec, const struct bound *bounds, size_t count,
                     struct error *err) {
    for (size_t i = 0; i < count; i++) {
        if (read_bounded(spec, &bounds[i], err) < 0) {
            return -1;
        }
    }
    return 0;
}

static bool is_among(const char *const *names, const char *name) {
    while (names && *names && strcmp(*names, name) != 0) {
        names++;
    }
    return names && *names;
}

/* Secrets are left as $NAME: every process of the machine can see arguments, and mpirun sends them
 * unencrypted. The user's shell can expand them. */
static const char *look_up(void *context, const char *name) {
    const struct launch_job *job = context;
    return text_starts(name, "WINDLASS_") || is_among(job->secrets, name) ? NULL : getenv(name);
}

static int read_names(const json_t *spec, const char *field, const char ***ret_names,
                      struct error *err) {
    const json_t *list = json_object_get(spec, field);
    size_t count = 0, used = 0;
    if (count_list(list, field, NAMES_MAX, &count, err) < 0) {
        return -1;
    }
    const char **names = x_calloc(count + 1, sizeof *names);
    for (size_t i = 0; i < count; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (name && *name && !strchr(name, '=')) {
            names[used++] = name;
        }
    }
    *ret_names = names;
    return 0;
}

struct own_name {
    struct launch_job *job;
    const char *name;
};

/* A variable that refers to itself refers to the value set in the image, which is not known here.
 */
static const char *look_up_other(void *context, const char *name) {
    const struct own_name *own = context;
    return strcmp(name, own->name) == 0 ? NULL : look_up(own->job, name);
}

/* Checks that variables can be expanded; environment.c expands them for each process, which has
 * more variables. */
static int check_environment(struct launch_job *job, struct error *err) {
    for (const char **name = job->environment; *name; name++) {
        struct own_name own = {job, *name};
        const char *value = getenv(*name);
        AUTO(text_freep) char *text = NULL;
        if (value && variables_expand(value, look_up_other, &own, &text, err) < 0) {
            return error_context(err, "spec.environment.%s", *name);
        }
    }
    return 0;
}

/* Checks the words of a command; member_programs.c expands them for each process. */
static int read_words(struct launch_job *job, const char *field, char ***ret_words,
                      struct error *err) {
    const json_t *list = json_object_get(job->spec, field);
    size_t count = 0;
    if (count_list(list, field, WORDS_COUNT_MAX, &count, err) < 0) {
        return -1;
    }
    char **words = x_calloc(count + 1, sizeof *words);
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        const char *word = json_string_value(json_array_get(list, i));
        AUTO(text_freep) char *expanded = NULL;
        result = word ? variables_expand(word, look_up, job, &expanded, err)
                      : error_set(err, ERROR_INVALID, "not a string");
        words[i] = x_strdup(word ? word : "");
        if (result < 0) {
            error_context(err, "spec.%s[%zu]", field, i);
        }
    }
    *ret_words = words;
    return result;
}

/* Without slashes at the end. */
static size_t path_length(const char *path) {
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    return length;
}

/* Inputs and outputs are in the environment under their names, for fields that are read later. */
static int read_paths(struct launch_job *job, const char *field, struct launch_path **ret_paths,
                      size_t *ret_count, struct error *err) {
    const json_t *list = json_object_get(job->spec, field);
    size_t count = 0;
    bool is_input = strcmp(field, "inputs") == 0;
    if (count_list(list, field, PATHS_MAX, &count, err) < 0) {
        return -1;
    }
    *ret_paths = x_calloc(count + 1, sizeof **ret_paths);
    if (!is_input) {
        job->result_outputs = x_calloc(count + 1, sizeof *job->result_outputs);
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_array_get(list, i);
        const char *id = tree_text(one, "id", ""), *path = tree_text(one, "path", "");
        AUTO(text_freep) char *expanded = NULL;
        char *resolved = NULL;
        if (strlen(id) > ID_MAX || variables_expand(path, look_up, job, &expanded, err) < 0 ||
            (is_input ? path_resolve(expanded, &resolved, err)
                      : path_make_folder(expanded, NULL, &resolved, err)) < 0) {
            return error_context(err, "spec.%s[%zu].path", field, i);
        }
        (*ret_paths)[i] = (struct launch_path){.id = x_strdup(id), .path = resolved};
        *ret_count = i + 1;
        if (!is_input) {
            job->result_outputs[i] = x_strndup(expanded, path_length(expanded));
        }
        AUTO(text_freep)
        char *name = x_printf("AZ_BATCHAI_%s_%s", is_input ? "INPUT" : "OUTPUT", id);
        setenv(name, resolved, 1);
    }
    return 0;
}

static bool makes_processes_itself(char *const *words) {
    bool is_it = words[0] && strcmp(file_basename(words[0]), "torchrun") == 0;
    for (size_t i = 0; words[i] && words[i + 1]; i++) {
        is_it |=
            strcmp(words[i], "-m") == 0 && (strcmp(words[i + 1], "torch.distributed.run") == 0 ||
                                            strcmp(words[i + 1], "torch.distributed.launch") == 0);
    }
    return is_it;
}

static int read_launcher(struct launch_job *job, struct error *err) {
    const char *launcher = tree_text(job->spec, "launcher", "");
    job->launcher = strcmp(launcher, "Torchrun") == 0 ? GANG_LAUNCHER_TORCHRUN : GANG_LAUNCHER_NONE;
    if (strcmp(launcher, "MPI") == 0) {
        job->launcher = GANG_LAUNCHER_MPI;
        job->gang.processes = 0;
        return 0;
    }
    if (job->launcher == GANG_LAUNCHER_NONE && strcmp(launcher, "None") != 0) {
        return error_set(err, ERROR_INVALID,
                         "spec.launcher is %.40s, expected MPI, Torchrun or None", launcher);
    }
    job->is_torchrun =
        job->launcher == GANG_LAUNCHER_TORCHRUN && makes_processes_itself(job->command);
    job->gang.processes =
        job->launcher == GANG_LAUNCHER_TORCHRUN && !job->is_torchrun ? job->gang.slots : 1;
    return 0;
}

/* mpirun starts as many ranks as the hostfile has slots. All pods have the same image, and so the
 * same path. */
static int make_trainer(struct launch_job *job, struct error *err) {
    char self[PATH_MAX];
    int64_t threads = 0;
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size < 0) {
        return error_from_errno(err, errno, "/proc/self/exe");
    }
    if (getenv("WINDLASS_THREADS") && read_number("WINDLASS_THREADS", 1, 4096, &threads, err) < 0) {
        return -1;
    }
    self[size] = 0;
    char **words = x_calloc(6, sizeof *words);
    words[0] = x_strdup("mpirun");
    words[1] = x_strdup(self);
    words[2] = x_strdup("train");
    if (threads) { /* `threads` is for the pod: `windlass run` starts all pods' ranks under one
                      mpirun */
        words[3] = x_strdup("--threads");
        words[4] = x_printf("%lld", (long long)MAX(threads / job->gang.slots, 1));
    }
    job->is_trainer = true;
    job->result_path = tree_text(job->spec, "trainer.output.path", NULL);
    job->gang.needs_all_slots = true;
    job->gang.checks_result = job->result_path && job->run_name;
    job->gang.looks_for_kept = job->gang.checks_result;
    job->gang.hang_ms *= TRAINER_HANGS;
    job->command = words;
    return 0;
}

static int read_command(struct launch_job *job, struct error *err) {
    return json_is_object(json_object_get(job->spec, "trainer"))
               ? make_trainer(job, err)
               : read_words(job, "command", &job->command, err);
}

/* A trainer's logs are stored next to its output, unless spec.logs is set or the output is in a
 * store. */
static int read_logs(struct launch_job *job, struct error *err) {
    const char *given = tree_text(job->spec, "logs.path", NULL);
    const char *output = tree_text(job->spec, "trainer.output.path", NULL);
    bool is_beside = !given && output && store_is_local(output);
    job->logs_location = given ? x_strdup(given) : is_beside ? x_printf("%s/logs", output) : NULL;
    if (job->logs_location && path_make_folder(job->logs_location, NULL, &job->logs, err) < 0) {
        return error_context(err, given ? "spec.logs.path" : "spec.trainer.output.path");
    }
    return 0;
}

/* "OUTPUT/metrics.jsonl", in the folder of the output of that id. */
static int find_file(struct launch_job *job, const char *text, struct error *err) {
    size_t size = strcspn(text, "/");
    for (size_t i = 0; i < job->output_count; i++) {
        const struct launch_path *output = &job->outputs[i];
        if (strlen(output->id) == size && strncmp(output->id, text, size) == 0 && text[size] &&
            text[size + 1]) {
            job->metrics_file = file_join(output->path, text + size + 1);
            return 0;
        }
    }
    return error_set(err, ERROR_INVALID,
                     "spec.metrics.file is \"%.100s\", expected OUTPUT/FILE with the id of one of "
                     "spec.outputs",
                     text);
}

/* The further objectives of a Sweep. */
static int read_also(const json_t *also, struct objective_options *objective, struct error *err) {
    size_t count = 0;
    if (count_list(also, "metrics.also", OBJECTIVE_ALSO_MAX, &count, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        const char *name = json_string_value(json_array_get(also, i));
        if (!name || !metric_is_name(name)) {
            return error_set(err, ERROR_INVALID, "spec.metrics.also[%zu] is not a metric's name",
                             i);
        }
        snprintf(objective->also[i], sizeof objective->also[i], "%s", name);
    }
    return 0;
}

/* A trainer reports its metrics itself (agent/train/trainer.c). */
static int read_metrics(struct launch_job *job, struct error *err) {
    const json_t *metrics = json_object_get(job->spec, "metrics");
    const char *name = tree_text(metrics, "objective", "");
    const char *pattern = tree_text(metrics, "pattern", NULL);
    const char *file = tree_text(metrics, "file", NULL);
    struct pattern *tried = NULL;
    if (!metrics) {
        return 0;
    }
    if (!metric_is_name(name)) {
        return error_set(err, ERROR_INVALID, "spec.metrics.objective is not a valid metric name");
    }
    snprintf(job->objective.name, sizeof job->objective.name, "%s", name);
    job->objective.is_minimized = strcmp(tree_text(metrics, "goal", ""), "Minimize") == 0;
    int interval = 0, delay = 0;
    const struct bound bounds[] = {
        {"metrics.evaluationInterval", 0, EVALUATIONS_MAX, &interval},
        {"metrics.delayEvaluation", 0, EVALUATIONS_MAX, &delay},
    };
    job->saved_objective = getenv("WINDLASS_OBJECTIVE");
    if (read_each(job->spec, bounds, ARRAY_LEN(bounds), err) < 0 ||
        read_also(json_object_get(metrics, "also"), &job->objective, err) < 0) {
        return -1;
    }
    job->objective.interval = interval;
    job->objective.delay = delay;
    if (job->is_trainer) {
        return 0;
    }
    job->pattern = pattern ? pattern : file ? NULL : METRIC_PATTERN_NONE;
    if (pattern && pattern_new(job->pattern, METRIC_GROUPS_MIN, &tried, err) < 0) {
        return error_context(err, "spec.metrics.pattern");
    }
    pattern_free(tried);
    return file ? find_file(job, file, err) : 0;
}

static int read_bounds(struct launch_job *job, struct error *err) {
    struct gang_options *gang = &job->gang;
    int backoff_s = 0, wait_s = 0, hang_s = 0;
    const struct bound bounds[] = {
        {"workers", 1, GANG_MEMBERS_MAX, &gang->workers},
        {"minWorkers", 1, GANG_MEMBERS_MAX, &gang->min_workers},
        {"slotsPerWorker", 1, SLOTS_MAX, &gang->slots},
        {"restart.maxRestarts", 0, INT_MAX, &gang->max_restarts},
        {"restart.backoffSeconds", 0, DAY_S, &backoff_s},
        {"restart.waitSeconds", 0, DAY_S, &wait_s},
        {"restart.hangSeconds", 0, 10 * DAY_S, &hang_s},
        {"gpus", 0, GPUS_MAX, &job->gpus},
    };
    if (read_each(job->spec, bounds, ARRAY_LEN(bounds), err) < 0) {
        return -1;
    }
    if (gang->min_workers > gang->workers) {
        return error_set(err, ERROR_INVALID,
                         "spec.minWorkers: expected at most spec.workers, which is %d",
                         gang->workers);
    }
    gang->backoff_ms = 1000LL * backoff_s;
    gang->gather_timeout_ms = 1000LL * wait_s;
    gang->hang_ms = 1000LL * hang_s;
    return 0;
}

static int read_spec(struct launch_job *job, struct error *err) {
    const char *text = NULL;
    if (environment_read("WINDLASS_SPEC", &text, err) < 0) {
        return -1;
    }
    if (tree_parse(text, strlen(text), SPEC_MAX, &job->spec, err) < 0) {
        return error_context(err, "the environment variable WINDLASS_SPEC");
    }
    job->run_name = getenv("WINDLASS_RUN");
    job->uid = getenv("WINDLASS_UID");
    const json_t *spec = job->spec;
    struct gang_options *gang = &job->gang;
    if (read_bounds(job, err) < 0 || read_names(spec, "environment", &job->environment, err) < 0 ||
        read_names(spec, "secrets", &job->secrets, err) < 0 ||
        read_paths(job, "inputs", &job->inputs, &job->input_count, err) < 0 ||
        read_paths(job, "outputs", &job->outputs, &job->output_count, err) < 0 ||
        check_environment(job, err) < 0 || read_command(job, err) < 0 ||
        read_words(job, "prepare", &job->prepare, err) < 0) {
        return -1;
    }
    if (read_logs(job, err) < 0 || read_metrics(job, err) < 0) {
        return -1;
    }
    if (!job->command[0]) {
        return error_set(err, ERROR_INVALID, "spec.command is missing");
    }
    gang->ends_repeated = !job->is_trainer; /* the trainer's exit codes say what is permanent */
    if (!job->is_trainer && job->output_count > 0) {
        gang->checks_result = gang->may_lack_result = true;
    }
    return read_launcher(job, err);
}

/* A leaving member has its pod's grace period, less the time for ending (member.c). When all
 * members leave, a program that does not support notices would only keep its GPUs; it gets that
 * time only if a template raised the pod's terminationGracePeriodSeconds. The trainer ends within a
 * step. */
static void give_time(struct launch_job *job) {
    struct gang_options *gang = &job->gang;
    gang->notice_ms = MAX(GANG_NOTICE_MS, 1000LL * (job->grace_s - ENDING_S));
    bool is_quick = !job->is_trainer && job->grace_s <= GRACE_S;
    gang->deletion_notice_ms = is_quick ? GANG_DELETION_NOTICE_MS : gang->notice_ms;
}

/* ---- the pod -------------------------------------------------------------------------------- */

static int read_hub(struct launch_job *job, struct error *err) {
    const char *hub = NULL, *sha256 = NULL;
    if (job->index == 0) {
        if (environment_read("WINDLASS_BIND", &job->bind, err) < 0 ||
            environment_read("WINDLASS_TLS_CERTIFICATE", &job->certificate_pem, err) < 0 ||
            tls_certificate_sha256(job->certificate_pem, job->sha256, err) < 0) {
            return -1;
        }
        if (!job->key_pem) {
            return error_set(err, ERROR_INVALID,
                             "the environment variable WINDLASS_TLS_KEY is missing");
        }
        hub = job->bind;
    } else if (environment_read("WINDLASS_HUB", &hub, err) < 0 ||
               environment_read("WINDLASS_HUB_SHA256", &sha256, err) < 0) {
        return -1;
    } else {
        snprintf(job->sha256, sizeof job->sha256, "%s", sha256);
    }
    snprintf(job->hub, sizeof job->hub, "%s", hub);
    return 0;
}

static int read_pod(struct launch_job *job, struct error *err) {
    int64_t index = 0;
    const char *address = NULL;
    if (environment_read("WINDLASS_JOB", &job->name, err) < 0 ||
        environment_read("WINDLASS_WORKER", &job->worker, err) < 0 ||
        read_number("WINDLASS_INDEX", 0, GANG_MEMBERS_MAX - 1, &index, err) < 0 ||
        read_number("WINDLASS_ATTEMPT", 1, INT_MAX, &job->attempt, err) < 0 ||
        environment_read("POD_IP", &address, err) < 0) {
        return -1;
    }
    job->index = (int)index;
    job->gang.attempt = job->attempt;
    const char *before = getenv("WINDLASS_BEFORE"), *events = getenv("WINDLASS_EVENTS");
    job->events = events && *events ? events : NULL;
    job->is_after_memory = before && strcmp(before, "OutOfMemory") == 0;
    snprintf(job->address, sizeof job->address, "%s", address);
    int64_t counted = 0, disrupted = 0, forgiven = 0;
    if ((getenv("WINDLASS_RESTARTS") &&
         read_number("WINDLASS_RESTARTS", 0, INT_MAX / 2, &counted, err) < 0) ||
        (getenv("WINDLASS_FORGIVEN") &&
         read_number("WINDLASS_FORGIVEN", 0, INT_MAX / 2, &forgiven, err) < 0) ||
        (getenv("WINDLASS_DISRUPTED") &&
         read_number("WINDLASS_DISRUPTED", 0, INT_MAX / 2, &disrupted, err) < 0)) {
        return -1;
    }
    int64_t grace_s = GRACE_S;
    if (getenv("WINDLASS_GRACE") && read_number("WINDLASS_GRACE", 1, DAY_S, &grace_s, err) < 0) {
        return -1;
    }
    job->grace_s = (int)grace_s;
    job->last_end = getenv("WINDLASS_LAST_END");
    job->only_finishes = getenv("WINDLASS_FINISHES") != NULL;
    job->gang.counted_restarts = (int)counted;
    job->gang.forgiven = (int)MIN(forgiven, counted);
    job->gang.uncounted_restarts = (int)disrupted;
    if (!job->token) {
        return error_set(err, ERROR_INVALID, "the environment variable WINDLASS_TOKEN is missing");
    }
    const char *folder = getenv("WINDLASS_FOLDER");
    job->bin = file_join(folder && *folder ? folder : "/windlass", "bin");
    job->run = file_join(folder && *folder ? folder : "/windlass", "run");
    return file_make_folders(job->run, err) < 0 ? -1 : read_hub(job, err);
}

int launch_job_read(struct launch_job *ret_job, struct error *err) {
    struct launch_job job = {0};
    if (secret_take("WINDLASS_TOKEN", &job.token, err) < 0 ||
        secret_take("WINDLASS_READ_TOKEN", &job.read_token, err) < 0 ||
        secret_take("WINDLASS_TLS_KEY", &job.key_pem, err) < 0 || read_pod(&job, err) < 0 ||
        read_spec(&job, err) < 0) {
        launch_job_release(&job);
        return -1;
    }
    if (job.index >= job.gang.workers) {
        launch_job_release(&job);
        return error_set(err, ERROR_INVALID,
                         "the environment variable WINDLASS_INDEX is not less than spec.workers");
    }
    give_time(&job);
    *ret_job = job;
    return 0;
}

static void free_paths(struct launch_path *paths, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free((char *)paths[i].id);
        free((char *)paths[i].path);
    }
    free(paths);
}

void launch_job_release(struct launch_job *job) {
    secret_forget(&job->token);
    secret_forget(&job->read_token);
    secret_forget(&job->key_pem);
    text_list_free(job->command);
    text_list_free(job->prepare);
    free_paths(job->inputs, job->input_count);
    free_paths(job->outputs, job->output_count);
    text_list_free(job->result_outputs);
    free(job->environment);
    free(job->secrets);
    free(job->logs);
    free(job->logs_location);
    free(job->metrics_file);
    free(job->bin);
    free(job->run);
    json_decref(job->spec);
}
