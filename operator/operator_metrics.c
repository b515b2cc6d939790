// SPDX-License-Identifier: Apache-2.0
#include "operator/operator_metrics.h"

#include "lib/prometheus.h"
#include "lib/time/clock.h"
#include "operator/object.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    QUEUES_MAX = 8,                                        /* of a namespace, as labels */
    TOKENS_NAMESPACES_MAX = PROMETHEUS_SERIES_MAX / 3 - 1, /* as labels; three directions each */
};

enum family {
    JOBS_CREATED,
    JOBS_FINISHED,
    NAMESPACE_CREATED,
    NAMESPACE_FINISHED,
    JOB_DURATION,
    JOB_FIRST_POD,
    POD_FAILURES,
    MINI_BATCHES,
    ITEMS,
    MODEL_REQUESTS,
    MODEL_TOKENS,
    MODEL_COST,
    TRIALS_RUNNING,
    TRIALS_ENDED,
    SUGGESTION_SECONDS,
    RECONCILES,
    RECONCILE_SECONDS,
    QUEUE_DEPTH,
    QUEUE_SECONDS,
    RETRIES_WAITING,
    REQUESTS,
    REQUEST_SECONDS,
    LEADER,
    BUILD,
    FAMILY_COUNT
};

static const struct prometheus_family families[] = {
    [JOBS_CREATED] = {"windlass_jobs_created_total",
                      "Jobs that the controller has started.",
                      PROMETHEUS_COUNTER,
                      {"kind"},
                      {0}},
    [JOBS_FINISHED] = {"windlass_jobs_finished_total",
                       "Jobs that ended, by result (succeeded, failed) and reason.",
                       PROMETHEUS_COUNTER,
                       {"kind", "result", "reason"},
                       {0}},
    [NAMESPACE_CREATED] = {"windlass_namespace_jobs_created_total",
                           "Jobs that the controller has started, by namespace and queue.",
                           PROMETHEUS_COUNTER,
                           {"namespace", "queue", "kind"},
                           {0}},
    [NAMESPACE_FINISHED] = {"windlass_namespace_jobs_finished_total",
                            "Jobs that ended, by namespace, queue and result.",
                            PROMETHEUS_COUNTER,
                            {"namespace", "queue", "result"},
                            {0}},
    [JOB_DURATION] = {"windlass_job_duration_seconds",
                      "From a job's creation to its end.",
                      PROMETHEUS_HISTOGRAM,
                      {"kind", "result"},
                      {1, 5, 15, 60, 300, 900, 3600, 14400, 43200, 86400}},
    [JOB_FIRST_POD] = {"windlass_job_time_to_first_pod_seconds",
                       "From a job's creation (which is known to the second) until its first pods "
                       "were requested.",
                       PROMETHEUS_HISTOGRAM,
                       {"kind"},
                       {0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300}},
    [POD_FAILURES] = {"windlass_pod_failures_total",
                      "Pods that failed, by class.",
                      PROMETHEUS_COUNTER,
                      {"class"},
                      {0}},
    [MINI_BATCHES] = {"windlass_minibatches_total",
                      "Mini-batches, by result (done, failed, retried).",
                      PROMETHEUS_COUNTER,
                      {"result"},
                      {0}},
    [ITEMS] = {"windlass_items_total",
               "Items (frames, files), by result (done, failed).",
               PROMETHEUS_COUNTER,
               {"result"},
               {0}},
    [MODEL_REQUESTS] =
        {"windlass_model_requests_total",
         "Requests to model servers that ended, by result (answers, refused, busy, broken, "
         "timeouts).",
         PROMETHEUS_COUNTER,
         {"result"},
         {0}},
    [MODEL_TOKENS] = {"windlass_model_tokens_total",
                      "Tokens of model servers, by namespace and direction (in, cached: of those "
                      "in, out).",
                      PROMETHEUS_COUNTER,
                      {"namespace", "direction"},
                      {0}},
    [MODEL_COST] = {"windlass_model_cost_total",
                    "What requests to model servers cost by the prices of their jobs, by "
                    "namespace.",
                    PROMETHEUS_COUNTER,
                    {"namespace"},
                    {0}},
    [TRIALS_RUNNING] = {"windlass_trials_running",
                        "Trials that were made and have not ended.",
                        PROMETHEUS_GAUGE,
                        {0},
                        {0}},
    [TRIALS_ENDED] =
        {"windlass_trials_ended_total",
         "Trials that ended, by outcome: completed, stopped (as unpromising, or with what made "
         "them), failed (without a value of the objective, too).",
         PROMETHEUS_COUNTER,
         {"outcome"},
         {0}},
    [SUGGESTION_SECONDS] = {"windlass_trial_suggestion_duration_seconds",
                            "How long a plan took for each trial that it created.",
                            PROMETHEUS_HISTOGRAM,
                            {"algorithm"},
                            {0.0001, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1}},
    [RECONCILES] = {"windlass_reconcile_total",
                    "Reconcile passes, by result (success, error).",
                    PROMETHEUS_COUNTER,
                    {"kind", "result"},
                    {0}},
    [RECONCILE_SECONDS] = {"windlass_reconcile_duration_seconds",
                           "How long one pass over a job took, without its writes.",
                           PROMETHEUS_HISTOGRAM,
                           {"kind"},
                           {0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1}},
    [QUEUE_DEPTH] = {"windlass_workqueue_depth",
                     "Jobs that wait for a reconcile pass now.",
                     PROMETHEUS_GAUGE,
                     {0},
                     {0}},
    [RETRIES_WAITING] = {"windlass_retries_waiting",
                         "Jobs with failed writes that wait for their turn to be tried again.",
                         PROMETHEUS_GAUGE,
                         {0},
                         {0}},
    [QUEUE_SECONDS] = {"windlass_workqueue_queue_duration_seconds",
                       "How long a job that was due waited to be reconciled.",
                       PROMETHEUS_HISTOGRAM,
                       {0},
                       {0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60}},
    [REQUESTS] = {"windlass_apiserver_requests_total",
                  "Requests to the API server, by verb and HTTP status (0: no answer).",
                  PROMETHEUS_COUNTER,
                  {"verb", "code"},
                  {0}},
    [REQUEST_SECONDS] = {"windlass_apiserver_request_duration_seconds",
                         "How long the API server took to answer (watches: to the first byte).",
                         PROMETHEUS_HISTOGRAM,
                         {"verb"},
                         {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 30}},
    [LEADER] = {"windlass_leader", "1 while this replica leads.", PROMETHEUS_GAUGE, {0}, {0}},
    [BUILD] = {"windlass_build_info",
               "1, with the version that runs.",
               PROMETHEUS_GAUGE,
               {"version"},
               {0}},
};
static_assert(ARRAY_LEN(families) == FAMILY_COUNT, "one row per family");

static const char *const model_results[] = {"answers", "refused", "busy", "broken", "timeouts"};
static struct prometheus *metrics;

static void add(enum family family, double amount, const char *one, const char *two,
                const char *three) {
    const char *values[PROMETHEUS_LABELS_MAX] = {one, two, three};
    prometheus_add(metrics, family, amount, values);
}

static void observe(enum family family, double value, const char *one, const char *two) {
    const char *values[PROMETHEUS_LABELS_MAX] = {one, two};
    prometheus_observe(metrics, family, MAX(value, 0), values);
}

/* Rates need series that begin with 0, so series with few label values exist from the start. */
static void make(void) {
    metrics = prometheus_new(families, FAMILY_COUNT);
    static const char *const results[] = {"done", "failed", "retried"};
    static const char *const outcomes[] = {"completed", "stopped", "failed"};
    for (size_t i = 0; i < ARRAY_LEN(results); i++) {
        add(MINI_BATCHES, 0, results[i], NULL, NULL);
        if (i < 2) {
            add(ITEMS, 0, results[i], NULL, NULL);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(model_results); i++) {
        add(MODEL_REQUESTS, 0, model_results[i], NULL, NULL);
    }
    for (size_t i = 0; i < ARRAY_LEN(outcomes); i++) {
        add(TRIALS_ENDED, 0, outcomes[i], NULL, NULL);
    }
    prometheus_set(metrics, TRIALS_RUNNING, 0, NULL);
    prometheus_set(metrics, BUILD, 1, (const char *[PROMETHEUS_LABELS_MAX]){WINDLASS_VERSION});
}

static void prepare(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make);
}

static bool is_final(const json_t *condition) {
    const char *status = tree_text(condition, "status", "");
    return strcmp(status, "True") == 0 || strcmp(status, "False") == 0;
}

/* Namespaces beyond those that have room count as "other", before the family is full: it would put
 * all their directions into one series. Called by one thread. */
static const char *tokens_label(const char *namespace) {
    static char *seen[TOKENS_NAMESPACES_MAX];
    static size_t count;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(seen[i], namespace) == 0) {
            return namespace;
        }
    }
    if (count == ARRAY_LEN(seen)) {
        return "other";
    }
    seen[count++] = x_strdup(namespace);
    return namespace;
}

/* ---- how far jobs are ---- */

static const struct {
    enum family family;
    const char *path,
        *label; /* in a status; of the family. The namespace comes before, of tokens */
} figure_rows[] = {
    {MINI_BATCHES, "miniBatches.done", "done"},
    {MINI_BATCHES, "miniBatches.failed", "failed"},
    {MINI_BATCHES, "miniBatches.retried", "retried"},
    {ITEMS, "items.done", "done"},
    {ITEMS, "items.failed", "failed"},
    {MODEL_REQUESTS, "requests.answers", "answers"},
    {MODEL_REQUESTS, "requests.refused", "refused"},
    {MODEL_REQUESTS, "requests.busy", "busy"},
    {MODEL_REQUESTS, "requests.broken", "broken"},
    {MODEL_REQUESTS, "requests.timeouts", "timeouts"},
    {MODEL_TOKENS, "requests.tokensIn", "in"},
    {MODEL_TOKENS, "requests.tokensCached", "cached"},
    {MODEL_TOKENS, "requests.tokensOut", "out"},
};

struct figures {
    int64_t counts[ARRAY_LEN(figure_rows)];
    double money;
    bool has_requests;
};

/* Of a job that runs: the most that was counted of it. */
struct ahead {
    char *uid;
    struct figures live; /* which its stored status may not have yet */
    struct figures paid; /* of stored statuses alone: tokens and money */
};
static void *aheads; /* tsearch's tree of struct ahead; of one thread */

static int by_uid(const void *left, const void *right) {
    const struct ahead *a = left, *b = right;
    return strcmp(a->uid, b->uid);
}

static struct ahead *find_ahead(const json_t *object) {
    const struct ahead like = {.uid = (char *)tree_text(object, "metadata.uid", "")};
    struct ahead *const *found = tfind(&like, &aheads, by_uid);
    return found ? *found : NULL;
}

static struct figures read_figures(const json_t *status) {
    const char *cost = tree_text(status, "requests.cost", "0"); /* money is a text */
    struct figures figures = {.money = strtod(cost, NULL),
                              .has_requests = tree_get(status, "requests") != NULL};
    for (size_t i = 0; i < ARRAY_LEN(figure_rows); i++) {
        figures.counts[i] = tree_integer(status, figure_rows[i].path, 0);
    }
    return figures;
}

static bool is_tokens(size_t row) {
    return figure_rows[row].family == MODEL_TOKENS;
}

/* Only what is beyond the most that was counted: a coordinator that begins again reports less at
 * first. */
static void count_rise(const struct figures *was, const struct figures *is) {
    for (size_t i = 0; i < ARRAY_LEN(figure_rows); i++) {
        double risen = (double)(is->counts[i] - was->counts[i]);
        if (risen > 0 && !is_tokens(i)) {
            add(figure_rows[i].family, risen, figure_rows[i].label, NULL, NULL);
        }
    }
}

/* What is billed: of stored statuses alone, so that a controller that takes over, and begins with
 * them, counts none of it again. */
static void count_paid(const struct figures *was, const struct figures *is, const json_t *object) {
    const char *namespace =
        is->has_requests ? tokens_label(tree_text(object, "metadata.namespace", "")) : "";
    for (size_t i = 0; i < ARRAY_LEN(figure_rows); i++) {
        double risen = (double)(is->counts[i] - was->counts[i]);
        if (risen > 0 && is_tokens(i)) {
            add(MODEL_TOKENS, risen, namespace, figure_rows[i].label, NULL);
        }
    }
    double more = is->money - was->money;
    if (isfinite(more) && more > 0) {
        add(MODEL_COST, more, namespace, NULL, NULL);
    }
}

static void keep_most(struct figures *most, const struct figures *is) {
    for (size_t i = 0; i < ARRAY_LEN(figure_rows); i++) {
        most->counts[i] = MAX(most->counts[i], is->counts[i]);
    }
    most->money = fmax(most->money, is->money);
}

/* A stored status says what was counted live already, unless the job has ended. */
static void count_stored(const json_t *before, const json_t *after, bool has_ended) {
    struct ahead *ahead = find_ahead(after);
    struct figures was = read_figures(json_object_get(before, "status"));
    struct figures is = read_figures(json_object_get(after, "status"));
    count_paid(ahead ? &ahead->paid : &was, &is, after);
    if (!ahead || has_ended) {
        count_rise(ahead ? &ahead->live : &was, &is);
    }
    if (ahead) {
        keep_most(&ahead->paid, &is);
    }
    if (has_ended) {
        operator_metrics_forget(after);
    }
}

void operator_metrics_figures(const json_t *object, const json_t *status) {
    struct ahead *ahead = find_ahead(object);
    struct figures is = read_figures(status);
    if (!tree_get(status, "items") && !tree_get(status, "miniBatches") && !is.has_requests) {
        return;
    }
    prepare();
    if (!ahead) {
        ahead = x_calloc(1, sizeof *ahead);
        struct figures stored = read_figures(json_object_get(object, "status"));
        *ahead = (struct ahead){x_strdup(tree_text(object, "metadata.uid", "")), stored, stored};
        tsearch(ahead, &aheads, by_uid);
    }
    count_rise(&ahead->live, &is);
    keep_most(&ahead->live, &is);
}

void operator_metrics_forget(const json_t *object) {
    struct ahead *ahead = find_ahead(object);
    if (ahead) {
        tdelete(ahead, &aheads, by_uid);
        free(ahead->uid);
        free(ahead);
    }
}

/* ---- jobs and pods ---- */

/* Who makes jobs invents queues; so those of one namespace beyond QUEUES_MAX count as "other", and
 * do not use up the series of all. Called by one thread. */
static const char *queue_label(const char *namespace, const char *queue) {
    static struct { char *namespace, *queue; } seen[PROMETHEUS_SERIES_MAX];
    static size_t count;
    int queues = 0;
    if (!*queue) {
        return queue;
    }
    for (size_t i = 0; i < count; i++) {
        bool is_here = strcmp(seen[i].namespace, namespace) == 0;
        if (is_here && strcmp(seen[i].queue, queue) == 0) {
            return queue;
        }
        queues += is_here;
    }
    if (queues >= QUEUES_MAX || count == ARRAY_LEN(seen)) {
        return "other";
    }
    seen[count].namespace = x_strdup(namespace);
    seen[count].queue = x_strdup(queue);
    count++;
    return queue;
}

/* The queue is in spec, which the cache does not keep of a job that has ended. */
static void count_namespace(enum family family, const json_t *before, const json_t *after,
                            const char *value) {
    const char *queue = tree_text(after, "spec.queue", tree_text(before, "spec.queue", ""));
    const char *namespace = tree_text(after, "metadata.namespace", "");
    add(family, 1, namespace, queue_label(namespace, queue), value);
}

/* True: the job has ended with this change. */
static bool count_job(const json_t *before, const json_t *after, int64_t wall_ms) {
    const char *kind = tree_text(after, "kind", "");
    int64_t created_ms = clock_parse(tree_text(after, "metadata.creationTimestamp", ""));
    double age_s = created_ms < 0 ? 0 : (double)(wall_ms - created_ms) / 1000;
    const json_t *was = object_condition(json_object_get(before, "status"), "Succeeded"),
                 *is = object_condition(json_object_get(after, "status"), "Succeeded");
    if (is_final(was)) {
        return false; /* the cache keeps little of finished jobs, and they do not change */
    }
    if (is && !was) {
        add(JOBS_CREATED, 1, kind, NULL, NULL);
        count_namespace(NAMESPACE_CREATED, before, after, kind);
    }
    if (tree_bool(after, "status.credentials.created", false) &&
        !tree_bool(before, "status.credentials.created", false)) {
        observe(JOB_FIRST_POD, age_s, kind, NULL);
    }
    if (is_final(is)) {
        const char *result = strcmp(tree_text(is, "status", ""), "True") ? "failed" : "succeeded";
        add(JOBS_FINISHED, 1, kind, result, tree_text(is, "reason", ""));
        count_namespace(NAMESPACE_FINISHED, before, after, result);
        observe(JOB_DURATION, age_s, kind, result);
    }
    count_stored(before, after, is_final(is));
    return is_final(is);
}

/* The class is the disruption of the pod, or else how its container ended. */
static void count_pod(const json_t *before, const json_t *after) {
    const char *failed = "Failed";
    if (strcmp(tree_text(after, "status.phase", ""), failed) != 0 ||
        strcmp(tree_text(before, "status.phase", ""), failed) == 0) {
        return;
    }
    const json_t *agent = object_agent(tree_get(after, "status.containerStatuses"));
    const char *how = tree_text(agent, "state.terminated.reason", "");
    const char *why = tree_text(after, "status.reason", *how ? how : "Unknown");
    add(POD_FAILURES, 1, why, NULL, NULL);
}

bool operator_metrics_change(const json_t *before, const json_t *after, int64_t wall_ms) {
    unsigned long long was = strtoull(tree_text(before, "metadata.resourceVersion", ""), NULL, 10);
    unsigned long long is = strtoull(tree_text(after, "metadata.resourceVersion", ""), NULL, 10);
    bool is_same =
        strcmp(tree_text(before, "metadata.uid", ""), tree_text(after, "metadata.uid", "")) == 0;
    if (!before || !is_same || is < was) {
        return false;
    }
    prepare();
    if (strcmp(tree_text(after, "kind", ""), "Pod") == 0) {
        count_pod(before, after);
    } else if (object_condition(json_object_get(after, "status"), "Succeeded")) {
        return count_job(before, after, wall_ms);
    }
    return false;
}

void operator_metrics_wait(int64_t waited_ms) {
    prepare();
    observe(QUEUE_SECONDS, (double)waited_ms / 1000, NULL, NULL);
}

void operator_metrics_reconcile(const char *kind, int64_t took_ms, bool failed) {
    prepare();
    add(RECONCILES, 1, kind, failed ? "error" : "success", NULL);
    observe(RECONCILE_SECONDS, (double)took_ms / 1000, kind, NULL);
}

void operator_metrics_trial_ended(const char *outcome) {
    prepare();
    add(TRIALS_ENDED, 1, outcome, NULL, NULL);
}

void operator_metrics_trials(int64_t running) {
    prepare();
    prometheus_set(metrics, TRIALS_RUNNING, (double)running, NULL);
}

void operator_metrics_suggestions(const char *algorithm, size_t count, int64_t took_ns) {
    prepare();
    for (size_t i = 0; i < count; i++) {
        observe(SUGGESTION_SECONDS, (double)took_ns / 1e9 / (double)count, algorithm, NULL);
    }
}

void operator_metrics_queue(size_t depth) {
    prepare();
    prometheus_set(metrics, QUEUE_DEPTH, (double)depth, NULL);
}

void operator_metrics_retries(size_t waiting) {
    prepare();
    prometheus_set(metrics, RETRIES_WAITING, (double)waiting, NULL);
}

void operator_metrics_request(const char *verb, int status, int64_t took_ms) {
    prepare();
    char code[16];
    snprintf(code, sizeof code, "%d", status);
    add(REQUESTS, 1, verb, code, NULL);
    observe(REQUEST_SECONDS, (double)took_ms / 1000, verb, NULL);
}

void operator_metrics_leader(bool leads) {
    prepare();
    prometheus_set(metrics, LEADER, leads, NULL);
}

char *operator_metrics_page(void) {
    prepare();
    AUTO(text_freep) char *ours = prometheus_text(metrics);
    AUTO(text_freep) char *process = prometheus_process_text();
    return x_printf("%s%s", ours, process);
}
