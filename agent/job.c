// SPDX-License-Identifier: Apache-2.0
#include "agent/job.h"

#include "lib/environment.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/secret.h"
#include "lib/text/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SPEC_BYTES_MAX = 128 << 10, GPUS_MAX = 1024, SLOTS_MAX = 64, RESTART_MAX = 253 };

/* Fields of a BatchScore that have a default in crds/batchscore.yaml, except top-level ones: where
 * the object that holds them is in the spec of a pod, they are, too. Readers of the spec therefore
 * name no default. tests/defaults.py compares the list with the schema. */
static const char *const filled_fields[] = {
    "input.files.pattern",
    "input.files.order",
    "input.table.pattern",
    "input.table.format",
    "input.table.header",
    "input.npy.pattern",
    "scorer.onnx.preprocess",
    "scorer.onnx.preprocess.multipleOf",
    "scorer.onnx.preprocess.color",
    "scorer.onnx.preprocess.range",
    "scorer.onnx.postprocess",
    "scorer.onnx.postprocess.type",
    "scorer.onnx.postprocess.range",
    "scorer.onnx.postprocess.top",
    "scorer.command.processesPerWorker",
    "scorer.command.initTimeoutSeconds",
    "scorer.endpoint.concurrency",
    "scorer.endpoint.maxConcurrency",
    "scorer.endpoint.request.path",
    "scorer.endpoint.tries",
    "scorer.endpoint.timeoutSeconds",
    "scorer.endpoint.readyTimeoutSeconds",
    "scorer.endpoint.clientCertificate.certificate",
    "scorer.endpoint.clientCertificate.key",
    "scorer.endpoint.server.port",
    "scorer.endpoint.server.readyPath",
    "retry.maxTries",
    "retry.timeoutSeconds",
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number) {
    (void)number;
    interrupted = 1;
}

void job_catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

bool job_is_interrupted(void) {
    return interrupted;
}

static int read_field(const json_t *spec, const char *path, const char **ret_value,
                      struct error *err) {
    *ret_value = tree_text(spec, path, "");
    return **ret_value
               ? 0
               : error_set(err, ERROR_INVALID, "spec.%s is missing, expected VOLUME/path", path);
}

static int read_number(const json_t *spec, const char *path, int64_t maximum, int64_t *ret_value) {
    const json_t *field = tree_get(spec, path);
    const char *text = json_string_value(field);
    char *end = NULL;
    int64_t value = json_is_integer(field) ? json_integer_value(field)
                    : text && *text        ? strtoll(text, &end, 10)
                                           : -1;
    if ((end && *end) || value < 1 || value > maximum) {
        return -1;
    }
    *ret_value = value;
    return 0;
}

static int check_filled(const json_t *spec, struct error *err) {
    for (size_t i = 0; i < ARRAY_LEN(filled_fields); i++) {
        const char *path = filled_fields[i];
        AUTO(text_freep) char *parent = x_strndup(path, (size_t)(strrchr(path, '.') - path));
        if (tree_get(spec, parent) && !tree_get(spec, path)) {
            return error_set(err, ERROR_INVALID,
                             "the environment variable WINDLASS_SPEC: %s is missing", path);
        }
    }
    /* windlass gives these, too, by the kind of input (operator/kinds/batchscore/work.c). */
    const json_t *output = json_object_get(spec, "output");
    const char *mode = tree_text(output, "mode", NULL);
    bool has_rows = mode && strcmp(mode, "AppendRow") == 0;
    if (output && (!mode || (has_rows && !tree_text(output, "appendRowFileName", NULL)))) {
        return error_set(err, ERROR_INVALID,
                         "the environment variable WINDLASS_SPEC: output.%s is missing",
                         mode ? "appendRowFileName" : "mode");
    }
    return 0;
}

/* A count, or "5%" of all mini-batches; -1: any number. */
static int read_thresholds(struct job *job, struct error *err) {
    const json_t *field = json_object_get(job->spec, "miniBatchErrorThreshold");
    const char *text = json_string_value(field);
    char *end = NULL;
    if (!field || !json_object_get(job->spec, "errorThreshold")) {
        return error_set(err, ERROR_INVALID,
                         "the environment variable WINDLASS_SPEC: %s is missing",
                         field ? "errorThreshold" : "miniBatchErrorThreshold");
    }
    job->errors_max = tree_integer(job->spec, "errorThreshold", -1);
    job->cell_errors_max = json_is_integer(field) ? json_integer_value(field) : -1;
    job->cell_errors_percent = -1;
    if (!text) {
        return 0;
    }
    double value = strtod(text, &end);
    if (end == text || !(value >= -1 && value <= INT32_MAX) ||
        (*end && (strcmp(end, "%") != 0 || value < 0))) {
        return error_set(err, ERROR_INVALID,
                         "spec.miniBatchErrorThreshold is neither an integer nor a percentage");
    }
    if (*end) {
        job->cell_errors_percent = value;
    } else {
        job->cell_errors_max = (int64_t)value;
    }
    return 0;
}

int job_read_spec(json_t **ret_spec, struct error *err) {
    const char *text = NULL;
    if (environment_read("WINDLASS_SPEC", &text, err) < 0) {
        return -1;
    }
    AUTO(tree_freep) json_t *spec = NULL;
    if (tree_parse(text, strlen(text), SPEC_BYTES_MAX, &spec, err) < 0) {
        return error_context(err, "the environment variable WINDLASS_SPEC");
    }
    if (check_filled(spec, err) < 0) {
        return -1;
    }
    *ret_spec = TAKE(spec);
    return 0;
}

static int read_spec(struct job *job, struct error *err) {
    enum { SLOTS = 3 };
    /* What the types here can hold: the bounds of the fields are in crds/batchscore.yaml. */
    static const struct {
        const char *path;
        int64_t maximum;
    } rows[] = {{"miniBatchSize", INT32_MAX},
                {"retry.maxTries", UINT16_MAX},
                {"retry.timeoutSeconds", INT32_MAX},
                {"scorer.command.processesPerWorker", SLOTS_MAX}};
    if (job_read_spec(&job->spec, err) < 0) {
        return -1;
    }
    int64_t values[ARRAY_LEN(rows)] = {1, 1, 1, 1};
    job->is_auto = strcmp(tree_text(job->spec, rows[0].path, ""), "auto") == 0;
    for (size_t i = job->is_auto || tree_get(job->spec, "input.table"); i < ARRAY_LEN(rows); i++) {
        bool is_absent = i == SLOTS && !tree_get(job->spec, rows[i].path); /* a network's */
        if (!is_absent && read_number(job->spec, rows[i].path, rows[i].maximum, &values[i]) < 0) {
            return error_set(err, ERROR_INVALID, "spec.%s is not an integer of 1 to %lld",
                             rows[i].path, (long long)rows[i].maximum);
        }
    }
    job->batch_items = values[0];
    job->max_tries = (int)values[1];
    job->timeout_ms = values[2] * 1000;
    job->slots = (int)values[SLOTS];
    if (read_thresholds(job, err) < 0) {
        return -1;
    }
    return read_field(job->spec, "output.path", &job->output, err);
}

int job_set_size(struct job *job, const json_t *size, struct error *err) {
    static const char *const names[] = {"miniBatchSize", "miniBatchBytes"};
    const json_t *items = json_object_get(size, names[0]);
    int64_t value = 1;
    bool is_auto = json_is_string(items) && strcmp(json_string_value(items), "auto") == 0;
    if (items && !is_auto && read_number(size, names[0], INT32_MAX, &value) < 0) {
        return error_set(err, ERROR_INVALID, "a stored miniBatchSize is not an integer of 1 to %d",
                         INT32_MAX);
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        json_object_del(job->spec, names[i]);
        json_object_set(job->spec, names[i], json_object_get(size, names[i]));
    }
    job->is_auto = is_auto;
    job->batch_items = tree_get(job->spec, "input.table") ? 1 : value;
    return 0;
}

/* RUN becomes part of a path. */
static bool is_run(const char *text) {
    return strlen(text) == 16 && strspn(text, "0123456789abcdef") == 16;
}

static int read_variables(enum job_role role, struct job *job, struct error *err) {
    const struct {
        const char *name;
        const char **target;
        int roles; /* bit set */
    } variables[] = {
        {"WINDLASS_JOB", &job->name, 3},
        {"WINDLASS_RUN", &job->run, 3},
        {"WINDLASS_WORKER", &job->worker, 3},
        {"WINDLASS_UID", &job->uid, 1 << JOB_COORDINATOR},
        {"WINDLASS_BIND", &job->bind, 1 << JOB_COORDINATOR},
        {"WINDLASS_TLS_CERTIFICATE", &job->certificate_pem, 1 << JOB_COORDINATOR},
        {"WINDLASS_COORDINATOR", &job->coordinator, 1 << JOB_WORKER},
        {"WINDLASS_COORDINATOR_SHA256", &job->sha256, 1 << JOB_WORKER},
    };
    for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
        if ((variables[i].roles >> role & 1) &&
            environment_read(variables[i].name, variables[i].target, err) < 0) {
            return -1;
        }
    }
    const char *events = getenv("WINDLASS_EVENTS"), *gpus = getenv("WINDLASS_GPUS");
    const char *restart = getenv("WINDLASS_RESTART");
    job->restart = role == JOB_COORDINATOR && restart ? restart : "";
    if (strlen(job->restart) > RESTART_MAX ||
        utf8_valid_size(job->restart, strlen(job->restart)) != strlen(job->restart)) {
        return error_set(err, ERROR_INVALID,
                         "the environment variable WINDLASS_RESTART is not UTF-8 of at most %d "
                         "bytes",
                         RESTART_MAX);
    }
    job->gpus = role == JOB_WORKER && gpus ? (int)MAX(MIN(strtol(gpus, NULL, 10), GPUS_MAX), 0) : 0;
    job->events = role == JOB_WORKER && events && *events ? events : NULL;
    job->deaths = role == JOB_WORKER ? getenv("WINDLASS_DEATHS") : NULL;
    job->before = role == JOB_WORKER ? getenv("WINDLASS_BEFORE") : NULL;
    if (!job->token) {
        return environment_missing("WINDLASS_TOKEN", err);
    }
    if (role == JOB_COORDINATOR && !job->key_pem) {
        return environment_missing("WINDLASS_TLS_KEY", err);
    }
    if (!is_run(job->run)) {
        return error_set(err, ERROR_INVALID,
                         "the environment variable WINDLASS_RUN is not 16 hexadecimal digits");
    }
    return 0;
}

static int read_tree(const char *name, json_t **ret_tree, struct error *err) {
    const char *text = getenv(name);
    return text && *text && tree_parse(text, strlen(text), SPEC_BYTES_MAX, ret_tree, err) < 0
               ? error_context(err, "the environment variable %s", name)
               : 0;
}

/* On this machine the pods' images are not used. */
static int read_origin(struct job *job, struct error *err) {
    return read_tree("WINDLASS_RETIRED", &job->retired, err) < 0 ||
                   read_tree("WINDLASS_MANIFEST", &job->manifest, err) < 0 ||
                   (!getenv("WINDLASS_FOLDER") &&
                    read_tree("WINDLASS_IMAGES", &job->images, err) < 0)
               ? -1
               : 0;
}

/* Of a worker: a few more leases than requests in flight, so that an answer is followed by the next
 * request without a message between them. */
static int endpoint_slots(const json_t *spec) {
    enum { ENDPOINT_SLOTS_MAX = 1024 };
    size_t servers = MAX(json_array_size(tree_get(spec, "scorer.endpoint.urls")), (size_t)1);
    int64_t most = MIN(job_in_flight(spec) * (int64_t)servers, (int64_t)ENDPOINT_SLOTS_MAX);
    return (int)MIN(most + (most + 7) / 8, (int64_t)ENDPOINT_SLOTS_MAX);
}

int64_t job_in_flight(const json_t *spec) {
    const json_t *given = tree_get(spec, "scorer.endpoint.concurrency");
    const char *text = json_string_value(given);
    int64_t number = text ? strtol(text, NULL, 10) : json_integer_value(given);
    return number > 0 ? number
                      : MAX(tree_integer(spec, "scorer.endpoint.maxConcurrency", -1), (int64_t)1);
}

int job_read(enum job_role role, struct job *ret_job, struct error *err) {
    struct job job = {0};
    if (secret_take("WINDLASS_TOKEN", &job.token, err) < 0 ||
        secret_take("WINDLASS_READ_TOKEN", &job.read_token, err) < 0 ||
        secret_take("WINDLASS_TLS_KEY", &job.key_pem, err) < 0 ||
        secret_take("WINDLASS_SIGNING_KEY", &job.signing_key_pem, err) < 0 ||
        secret_take("WINDLASS_QUERY_CONNECTION", &job.query_connection, err) < 0 ||
        secret_take("WINDLASS_ENDPOINT_KEY", &job.endpoint_key, err) < 0 ||
        secret_take("WINDLASS_ENDPOINT_TLS_CERTIFICATE", &job.endpoint_certificate_pem, err) < 0 ||
        secret_take("WINDLASS_ENDPOINT_TLS_KEY", &job.endpoint_certificate_key_pem, err) < 0 ||
        read_variables(role, &job, err) < 0 || read_spec(&job, err) < 0 ||
        (role == JOB_COORDINATOR && read_origin(&job, err) < 0)) {
        job_release(&job);
        return -1;
    }
    if (job.gpus > 0 && tree_get(job.spec, "scorer.onnx")) {
        job.slots = MIN(job.gpus, SLOTS_MAX);
    }
    if (tree_get(job.spec, "scorer.endpoint")) {
        job.slots = endpoint_slots(job.spec);
    }
    *ret_job = job;
    return 0;
}

void job_release(struct job *job) {
    secret_forget(&job->token);
    secret_forget(&job->read_token);
    secret_forget(&job->key_pem);
    secret_forget(&job->signing_key_pem);
    secret_forget(&job->query_connection);
    secret_forget(&job->endpoint_key);
    secret_forget(&job->endpoint_certificate_pem);
    secret_forget(&job->endpoint_certificate_key_pem);
    json_decref(TAKE(job->spec));
    json_decref(TAKE(job->manifest));
    json_decref(TAKE(job->retired));
    json_decref(TAKE(job->images));
}

void job_write_termination_message(const char *text) {
    static const char in_pods[] = "/dev/termination-log";
    const char *path = getenv("WINDLASS_TERMINATION_LOG");
    bool given = path && *path;
    /* Kubernetes mounts a file there: it is written in place, not replaced. It is cut after the
     * write: what is killed in between leaves an earlier message's end behind, not an empty file.
     */
    AUTO(fd_closep)
    int fd = open(given ? path : in_pods, O_WRONLY | O_CLOEXEC | (given ? O_CREAT : 0), 0666);
    if (fd < 0) {
        if (given) {
            log_event(LOG_WARNING, "cannot write the termination message to %s: %s", path,
                      strerror(errno));
        }
        return;
    }
    size_t size = MIN(strlen(text), CONTRACT_TERMINATION_MESSAGE_MAX);
    if (write(fd, text, size) != (ssize_t)size || ftruncate(fd, (off_t)size) < 0) {
        log_event(LOG_WARNING, "the termination message was cut: %s", strerror(errno));
    }
}
