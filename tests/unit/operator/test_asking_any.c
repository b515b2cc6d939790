// SPDX-License-Identifier: Apache-2.0
/* Bounded asking, whatever it is that fails: each kind of request that a job makes in its life is
 * answered wrongly in each way of a table, and somebody changes each kind of object in each way of
 * another, for minutes. Meanwhile the requests are few, and no place has two pods; afterwards the
 * job goes on by itself. `make test` runs a sample, another one each day; a soak (SOAK_ROUNDS) all.
 * ASKING_ANY=words: only rows with these words. */
#include "lib/time/clock.h"
#include "operator/object.h"
#include "tests/seed.h"
#include "tests/unit/operator/asking_others.h"

enum {
    BEGIN_S = 120,   /* in which a job may ask for more */
    TROUBLE_S = 480, /* until then */
    MENDED_S = 300,  /* after that the job is complete again */
    DELETED_S = 150, /* somebody deletes all pods, once */
    SUSPENDED_S = 240,
    RESUMED_S = 330,
    PER_JOB_BEGIN = 120, /* requests of the beginning, without those of the watches */
    PER_JOB_MINUTE = 6,
    PER_JOB_LIFE = 30, /* for what happens to it once */
    PER_MINUTE = 60,   /* with those of the watches */
    PASSES_MAX = 6000,
    SAMPLE_OF_ANSWERS = 401, /* `make test` runs one of this many rows */
    SAMPLE_OF_ACTS = 59,
};

#define VOLUMES "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]"
#define BATCH(field)                                                                               \
    "apiVersion: windlass.dev/v1beta1\nkind: BatchScore\nmetadata: {name: job-n0n}\nspec:\n"       \
    "  input: {files: {path: data/in}}\n"                                                          \
    "  scorer: {onnx: {path: data/model.onnx, postprocess: {type: Classes}}}\n"                    \
    "  output: {path: data/out-n0n, mode: AppendRow}\n" field "  workers: {min: 2, max: 2}\n"      \
    "  " VOLUMES "\n"

static const struct job {
    const char *name, *plural, *manifest;
    int pods, jobs; /* when all is well */
} jobs[] = {
    {"batch", "batchscores", BATCH(""), 3, 1},
    {"gang", "disttrains",
     "apiVersion: windlass.dev/v1beta1\nkind: DistTrain\nmetadata: {name: job-n0n}\nspec:\n"
     "  workers: 2\n  image: example.com/me:1\n  command: [train, --name, job-n0n]\n  " VOLUMES
     "\n",
     2, 1},
    {"sweep", "sweeps",
     "apiVersion: windlass.dev/v1beta1\nkind: Sweep\nmetadata: {name: job-n0n}\nspec:\n"
     "  objective: {metric: loss, goal: Minimize}\n"
     "  parameters: [{name: RATE, uniform: {min: \"0.1\", max: \"0.2\"}}]\n"
     "  algorithm: {kind: Random}\n  maxTrials: 2\n  maxConcurrentTrials: 1\n  trial:\n"
     "    workers: 1\n    image: example.com/me:1\n    command: [train, $(RATE), job-n0n]\n"
     "    " VOLUMES "\n",
     1, 2},
    {"trigger", "batchscores", BATCH("  trigger: {path: data/READY}\n"), 1, 1},
};

/* ---- how a request is answered ---- */

enum how { REFUSED, HANGS, CUT, LOST, PAGE, EMPTY, OTHER };

static const struct answer {
    const char *name;
    enum how how;
    int code;
    const char *reason;
} answers[] = {
    {"400", REFUSED, 400, "BadRequest"},
    {"401", REFUSED, 401, "Unauthorized"},
    {"403", REFUSED, 403, "Forbidden"},
    {"404", REFUSED, 404, "NotFound"},
    {"405", REFUSED, 405, "MethodNotAllowed"},
    {"406", REFUSED, 406, "NotAcceptable"},
    {"409 conflict", REFUSED, 409, "Conflict"},
    {"409 exists", REFUSED, 409, "AlreadyExists"},
    {"410", REFUSED, 410, "Expired"},
    {"413", REFUSED, 413, "RequestEntityTooLarge"},
    {"415", REFUSED, 415, "UnsupportedMediaType"},
    {"422", REFUSED, 422, "Invalid"},
    {"429", REFUSED, 429, "TooManyRequests"},
    {"500", REFUSED, 500, "InternalError"},
    {"502", PAGE, 502, ""},
    {"503", REFUSED, 503, "ServiceUnavailable"},
    {"504", REFUSED, 504, "Timeout"},
    {"hangs", HANGS, 0, ""},
    {"cut", CUT, 0, ""},
    {"lost", LOST, 0, ""},
    {"a page", PAGE, 200, ""},
    {"302", PAGE, 302, ""},
    {"empty", EMPTY, 200, ""},
    {"a Status", OTHER, 200, ""},
};

/* ---- what somebody does to an object ---- */

static bool drop_member(json_t *object, const char *name) {
    return json_object_del(json_object_get(object, "metadata"), name) == 0;
}
static bool strip_labels(json_t *object, int second UNUSED) {
    return drop_member(object, "labels");
}
static bool renumber(json_t *object, int second) {
    json_t *labels = tree_ensure_object(json_object_get(object, "metadata"), "labels");
    json_object_set_new(labels, "windlass.dev/index", json_sprintf("%d", second % 3));
    return true;
}
static bool strip_annotations(json_t *object, int second UNUSED) {
    return drop_member(object, "annotations");
}
static bool disown(json_t *object, int second UNUSED) {
    return drop_member(object, "ownerReferences");
}
static bool wipe_status(json_t *object, int second UNUSED) {
    return json_object_del(object, "status") == 0;
}
static bool label(json_t *object, int second) {
    json_t *labels = tree_ensure_object(json_object_get(object, "metadata"), "labels");
    json_object_set_new(labels, "a.example/seen", json_sprintf("%d", second));
    return true;
}
static bool take_over(json_t *object, int second UNUSED) {
    json_t *metadata = json_object_get(object, "metadata");
    json_object_set_new(metadata, "ownerReferences",
                        json_pack("[{s:s, s:s, s:s, s:s, s:b}]", "apiVersion", "a.example/v1",
                                  "kind", "Other", "name", "o", "uid", "u", "controller", 1));
    return true;
}
static bool hold(json_t *object, int second UNUSED) {
    json_t *metadata = json_object_get(object, "metadata");
    json_object_update_new(metadata,
                           json_pack("{s:s, s:[s]}", "deletionTimestamp", "2026-11-23T00:01:00Z",
                                     "finalizers", "a.example/b"));
    return true;
}
static bool touch_spec(json_t *object, int second) {
    set_in_spec(object, "miniBatchSize", json_integer(2 + second % 3));
    return true;
}
static bool suspend(json_t *object, int second) {
    set_in_spec(object, "suspend", json_boolean(second % 2));
    return true;
}

static const struct act {
    const char *name;
    bool (*change)(json_t *copy, int second); /* NULL: it is deleted */
    bool stays;                               /* and keeps a job from being whole */
} acts[] = {
    {"deleted", NULL, false},       {"relabelled", strip_labels, true},
    {"renumbered", renumber, true}, {"stripped", strip_annotations, false},
    {"disowned", disown, false},    {"wiped", wipe_status, false},
    {"labelled", label, false},     {"taken over", take_over, true},
    {"held", hold, true},           {"respecified", touch_spec, false},
    {"suspended", suspend, true},
};
static const char *const plurals[] = {"batchscores", "disttrains", "sweeps", "pods", "services"};
static const int periods[] = {1, 7, 40}, from_s[] = {0, 60};

/* ---- one row ---- */

static struct row {
    const struct job *job;
    const struct answer *answer; /* of the requests `what`; NULL: an act */
    const char *what;            /* "create pods" */
    const struct act *act;
    const char *plural;
    int from_s, period_s;
} row;
static int now_s, hits;
static size_t answer_rows;

static bool is_on(void) {
    return now_s >= row.from_s && now_s < TROUBLE_S;
}

static void answer_wrongly(struct api_double *double_, const struct api_request *request) {
    struct script_connection *connection = request->http->connection;
    const struct answer *answer = row.answer;
    struct api_request mute = *request;
    switch (answer->how) {
    case REFUSED:
        api_double_refuse(request, answer->code, answer->reason, "not this time");
        break;
    case HANGS:
        break;
    case LOST:
        mute.is_mute = true;
        api_double_act(double_, &mute);
        script_cut(connection);
        break;
    case CUT:
        script_cut(connection);
        break;
    case PAGE:
        script_reply(connection, answer->code, "Location: /login\r\n", "<html>Sign in</html>");
        break;
    case EMPTY:
        script_reply(connection, 200, "", "");
        break;
    case OTHER:
        script_reply(connection, 200, "", "{\"kind\":\"Status\",\"status\":\"Success\"}");
        break;
    }
}

/* The name of a request as in api_double_counts. */
static bool is_hit(const struct api_request *request) {
    AUTO(text_freep)
    char *what = x_printf("%s %s%s%s", request->verb, request->plural, *request->part ? "/" : "",
                          request->part);
    return row.answer && is_on() && strcmp(what, row.what) == 0;
}

static bool hook(void *context UNUSED, struct api_double *double_,
                 const struct api_request *request) {
    char now[21];
    if (strcmp(request->verb, "create") == 0) {
        clock_format(clock_wall_ms(), now);
        json_object_set_new(json_object_get(request->body, "metadata"), "creationTimestamp",
                            json_string(now));
    }
    if (!is_hit(request)) {
        return false;
    }
    hits++;
    answer_wrongly(double_, request);
    return true;
}

static bool run_pod(json_t *pod, int second UNUSED) {
    bool is_new = strcmp(tree_text(pod, "status.phase", ""), "Running") != 0;
    json_object_set_new(pod, "status",
                        json_pack("{s:s, s:[{s:s, s:s}], s:[{s:s, s:b, s:i, s:{s:{s:s}}}]}",
                                  "phase", "Running", "conditions", "type", "Ready", "status",
                                  "True", "containerStatuses", "name", "windlass", "ready", 1,
                                  "restartCount", 0, "state", "running", "startedAt",
                                  "2026-11-23T00:00:00Z"));
    return is_new;
}

static bool set_suspend(json_t *job, int second) {
    bool is_root = !tree_get(job, "metadata.ownerReferences[0]");
    if (is_root) {
        set_in_spec(job, "suspend", json_boolean(second < RESUMED_S));
    }
    return is_root;
}

/* What happens in a job's life anyway. */
static void live(void) {
    change_all("pods", now_s, run_pod);
    if (now_s == DELETED_S) {
        delete_every("pods");
    }
    if (now_s == SUSPENDED_S || now_s == RESUMED_S) {
        change_all(row.job->plural, now_s, set_suspend);
    }
    if (row.act && is_on() && now_s % row.period_s == 0) {
        if (row.act->change) {
            change_all(row.plural, now_s, row.act->change);
        } else {
            delete_every(row.plural);
        }
    }
    if (now_s % 60 == 0) {
        api_double_bookmark(api);
    }
}

/* Pods of the job that were not deleted or taken away. */
static int count_pods(void) {
    const char *name;
    json_t *pod;
    int count = 0;
    json_object_foreach(api_double_all(api, "pods"), name, pod) {
        count += !tree_get(pod, "metadata.deletionTimestamp") &&
                 json_object_get(tree_get(pod, "metadata.labels"), LABEL_JOB) &&
                 strcmp(tree_text(pod, "metadata.ownerReferences[0].kind", "Other"), "Other") != 0;
    }
    return count;
}

struct sums {
    json_int_t jobs, all; /* requests: without those of watches; with them */
};

static struct sums sum(void) {
    struct sums sums = {0};
    const char *what;
    json_t *count;
    json_object_foreach((json_t *)(uintptr_t)api_double_counts(api), what, count) {
        bool is_watching = strncmp(what, "watch", 5) == 0 || strncmp(what, "list", 4) == 0;
        sums.all += json_integer_value(count);
        sums.jobs += is_watching ? 0 : json_integer_value(count);
    }
    return sums;
}

static const json_t *root(void) {
    const char *name;
    json_t *job;
    json_object_foreach(api_double_all(api, row.job->plural), name, job) {
        if (!tree_get(job, "metadata.ownerReferences[0]")) {
            return job;
        }
    }
    return NULL;
}

static bool has_failed(void) {
    const json_t *failed = object_condition(json_object_get(root(), "status"), "Failed");
    return strcmp(tree_text(failed, "status", ""), "True") == 0;
}

/* What stays of that act keeps the job from being whole, or it was asked for. (A Sweep does not see
 * trials without their annotations, and no garbage collector deletes the pods of deleted ones.) */
static bool is_left(void) {
    return row.act && (row.act->stays || strcmp(row.plural, row.job->plural) == 0 ||
                       strcmp(row.plural, "disttrains") == 0);
}

/* A second in which everything is as it should be, but for the row's trouble. */
static void live_until(int end_s, int *ret_most_pods, struct sums *ret_begun) {
    for (; now_s < end_s; now_s++) {
        asking_run(1000);
        live();
        *ret_most_pods = MAX(*ret_most_pods, count_pods());
        if (now_s == BEGIN_S) {
            *ret_begun = sum();
        }
    }
}

static void run_row(const char *name) {
    enum { MINUTES = (TROUBLE_S - BEGIN_S) / 60 };
    int most_pods = 0;
    struct sums begun = {0};
    int64_t passes = asking_passes();
    now_s = hits = 0;
    asking_open(hook);
    asking_put(row.job->plural, row.job->manifest, NULL, 1);
    live_until(TROUBLE_S, &most_pods, &begun);
    struct sums ended = sum();
    passes = asking_passes() - passes;
    live_until(TROUBLE_S + MENDED_S, &most_pods, &begun);
    printf("# %s: %d hits; %lld requests, then %.1f a minute, with watches %.1f; %d pods, %s\n",
           name, hits, (long long)begun.jobs, (double)(ended.jobs - begun.jobs) / MINUTES,
           (double)(ended.all - begun.all) / MINUTES, count_pods(),
           object_state(json_object_get(root(), "status")));
    CHECK(begun.jobs <= PER_JOB_BEGIN * row.job->jobs);
    CHECK(ended.jobs - begun.jobs <= (PER_JOB_MINUTE * MINUTES + PER_JOB_LIFE) * row.job->jobs);
    CHECK(ended.all - begun.all <= PER_MINUTE * MINUTES);
    CHECK(passes <= PASSES_MAX * row.job->jobs);
    CHECK(most_pods <= row.job->pods || is_left());
    CHECK(count_pods() == row.job->pods || has_failed() || is_left());
    asking_close();
}

/* ---- all rows ---- */

static bool is_chosen(const char *name, size_t number, size_t part) {
    const char *only = getenv("ASKING_ANY");
    return only ? strstr(name, only) != NULL
                : test_samples(number, 100 * part, part, test_seed(test_day()));
}

/* The kinds of requests in the life of that job. */
static json_t *requests_of(const struct job *job) {
    struct sums begun = {0};
    int most_pods = 0;
    row = (struct row){.job = job};
    now_s = 0;
    asking_open(hook);
    asking_put(job->plural, job->manifest, NULL, 1);
    live_until(TROUBLE_S, &most_pods, &begun);
    CHECK_INT(most_pods, job->pods);
    json_t *counts = json_deep_copy(api_double_counts(api));
    asking_close();
    return counts;
}

/* The number-th of the answers to that kind of request, from the beginning and later. */
static void answer_row(const struct job *job, const char *what, size_t number) {
    row = (struct row){.job = job,
                       .answer = &answers[number / ARRAY_LEN(from_s)],
                       .what = what,
                       .from_s = from_s[number % ARRAY_LEN(from_s)]};
    AUTO(text_freep)
    char *name = x_printf("%s: %s: %s from %d s", job->name, what, row.answer->name, row.from_s);
    if (is_chosen(name, answer_rows++, SAMPLE_OF_ANSWERS)) {
        run_row(name);
    }
}

static void test_whatever_is_answered(void) {
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        AUTO(tree_freep) json_t *counts = requests_of(&jobs[i]);
        const char *what;
        json_t *count;
        json_object_foreach(counts, what, count) {
            for (size_t k = 0; k < ARRAY_LEN(answers) * ARRAY_LEN(from_s); k++) {
                answer_row(&jobs[i], what, k);
            }
        }
    }
}

static void test_whatever_somebody_does(void) {
    size_t number = 0;
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        for (size_t k = 0; k < ARRAY_LEN(plurals) * ARRAY_LEN(acts) * ARRAY_LEN(periods); k++) {
            row = (struct row){.job = &jobs[i],
                               .plural = plurals[k / (ARRAY_LEN(acts) * ARRAY_LEN(periods))],
                               .act = &acts[k / ARRAY_LEN(periods) % ARRAY_LEN(acts)],
                               .period_s = periods[k % ARRAY_LEN(periods)],
                               .from_s = 30};
            AUTO(text_freep)
            char *name = x_printf("%s: %s are %s every %d s", jobs[i].name, row.plural,
                                  row.act->name, row.period_s);
            if (is_chosen(name, number++, SAMPLE_OF_ACTS)) {
                run_row(name);
            }
        }
    }
}

int main(void) {
    TEST(test_whatever_is_answered);
    TEST(test_whatever_somebody_does);
    return TEST_END();
}
