// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/status.h"

#include "lib/options.h"
#include "lib/time/clock.h"
#include "operator/commands/ending.h"
#include "operator/commands/progress.h"
#include "operator/commands/remote.h"
#include "operator/commands/status_sweep.h"
#include "operator/commands/table.h"
#include "operator/kinds/batchscore/spec.h"
#include "operator/kinds/job/pod_phase.h"
#include "operator/kube/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WATCH_MS = 1000, BAR = 10, PODS_SHOWN_MAX = 40, KINDS_MAX = 4 };

static const struct command_help help = {
    .usage = "windlass status [NAME] [options]",
    .about =
        "How far the jobs of a cluster are. With NAME: one job, its pods, and for each pod that\n"
        "does not run, why not and what to do; of a Sweep its trials, and with -o html a page "
        "that\n"
        "draws them: windlass status NAME -o html >sweep.html\n\n"
        "With -w it follows: one job until its end (exit code 0 succeeded, 1 failed), or the list\n"
        "of jobs, of which every change is a line.",
    .examples = "windlass status -A\n"
                "windlass status style-transfer -w",
    .words_max = 1,
};

struct request {
    struct remote_options where;
    bool watch;
    const char *output; /* NULL: for people, else "html" */
    const char *name;   /* NULL: all jobs */
};

static int64_t age_of(const json_t *object, int64_t now_ms) {
    int64_t created_ms = clock_parse(tree_text(object, "metadata.creationTimestamp", ""));
    return created_ms < 0 ? 0 : now_ms - created_ms;
}

static const char *unit_of(const json_t *job) {
    bool is_gang = strcmp(tree_text(job, "kind", ""), "DistTrain") == 0;
    if (status_is_sweep(job)) {
        return "trials";
    }
    return is_gang ? "samples" : batchscore_unit(json_object_get(job, "spec"));
}

/* ---- the list -------------------------------------------------------------------------------- */

static char *progress_cell(const json_t *status) {
    int64_t total = tree_integer(status, "items.total", 0);
    int64_t done = tree_integer(status, "items.done", 0);
    if (total <= 0) {
        return x_strdup("");
    }
    int full = (int)(MIN(MAX(done, 0), total) * BAR / total);
    return x_printf("[%.*s%.*s] %3d%%", full, "==========", BAR - full, "          ",
                    (int)(MIN(MAX(done, 0), total) * 100 / total));
}

static char *left_cell(const json_t *status) {
    int64_t left_s = tree_integer(status, "secondsLeft", -1);
    char text[32] = "";
    if (left_s >= 0) {
        table_age(left_s * 1000, text);
    }
    return x_strdup(text);
}

/* "24/280", "step 1200"; of a gang whose program tells no steps, its workers: "3/4". */
static char *done_cell(const json_t *status) {
    int64_t wanted = tree_integer(status, "workers.wanted", 0);
    if (tree_get(status, "step")) {
        return x_printf("step %lld", (long long)tree_integer(status, "step", 0));
    }
    return wanted > 0
               ? x_printf("%lld/%lld", (long long)tree_integer(status, "workers.registered", 0),
                          (long long)wanted)
               : x_strdup(tree_text(status, "progress", ""));
}

enum cell {
    AT_NAMESPACE,
    AT_NAME,
    AT_STATE,
    AT_BAR,
    AT_DONE,
    AT_RATE,
    AT_LEFT,
    AT_AGE,
    AT_MESSAGE
};

/* Without the namespace when it is one for all. */
static void add_row(struct table *table, const json_t *job, bool all, int64_t now_ms) {
    const json_t *status = json_object_get(job, "status");
    AUTO(text_freep) char *bar = progress_cell(status);
    AUTO(text_freep) char *left = left_cell(status);
    const char *rate =
        tree_text(status, "itemsPerSecond", tree_text(status, "samplesPerSecond", NULL));
    AUTO(text_freep) char *done = done_cell(status);
    AUTO(text_freep) char *speed = rate ? x_printf("%s/s", rate) : NULL;
    char age[32];
    table_age(age_of(job, now_ms), age);
    const char *const cells[] = {
        [AT_NAMESPACE] = tree_text(job, "metadata.namespace", ""),
        [AT_NAME] = tree_text(job, "metadata.name", ""),
        [AT_STATE] = progress_state(status),
        [AT_BAR] = bar,
        [AT_DONE] = done,
        [AT_RATE] = speed,
        [AT_LEFT] = left,
        [AT_AGE] = age,
        [AT_MESSAGE] = tree_text(progress_condition(status), "message", ""),
    };
    size_t first = all ? AT_NAMESPACE : AT_NAME;
    table_add(table, cells + first, ARRAY_LEN(cells) - first);
}

static void add_head(struct table *table, bool all) {
    static const char *const head[] = {"NAMESPACE", "NAME", "STATE", "PROGRESS", "DONE",
                                       "RATE",      "LEFT", "AGE",   "MESSAGE"};
    table_add(table, head + (all ? 0 : 1), ARRAY_LEN(head) - (all ? 0 : 1));
}

static bool has_changed(json_t *versions, const json_t *job) {
    const char *uid = tree_text(job, "metadata.uid", "");
    const char *version = tree_text(job, "metadata.resourceVersion", "");
    const char *known = json_string_value(json_object_get(versions, uid));
    if (known && strcmp(known, version) == 0) {
        return false;
    }
    json_object_set_new(versions, uid, json_string(version));
    return true;
}

/* Prints the rows and empties the table. */
static void print_table(struct table **table) {
    AUTO(text_freep) char *text = table_text(*table, "", table_width());
    fputs(text, stdout);
    fflush(stdout);
    table_free(*table);
    *table = table_new();
}

/* What somebody may not see is named, with the server's words, which name the verb; the rest is
 * shown. */
static void tell_denied(const char *kind, const char *what, const struct error *why) {
    fprintf(stderr, "windlass status: %ss are not %s: %s\n", kind, what, why->text);
}

/* told, by kind: of which that was said. */
static void tell_denied_once(size_t kind, const char *what, const struct error *why, bool *told) {
    if (!told[kind]) {
        tell_denied(remote_kinds[kind], what, why);
    }
    told[kind] = true;
}

/* Of all kinds that one may list; an earlier version of Windlass has installed the first one alone.
 * told: tell_denied_once's. */
static int list_jobs(struct remote *remote, json_t *jobs, bool *told, struct error *err) {
    struct error denied[KINDS_MAX] = {0};
    bool is_any_listed = false;
    for (size_t i = 0; remote_kinds[i] && i < KINDS_MAX; i++) {
        const struct rest_place place = {.api_version = REMOTE_API, .kind = remote_kinds[i]};
        struct error failure = {0};
        AUTO(tree_freep) json_t *some = NULL;
        if (remote_list(remote, &place, NULL, &some, &failure) == 0) {
            json_array_extend(jobs, some);
            is_any_listed = true;
        } else if (failure.kind == ERROR_DENIED) {
            denied[i] = failure;
        } else if (i == 0 || failure.kind != ERROR_NOT_FOUND) {
            *err = failure;
            return err->kind == ERROR_NOT_FOUND
                       ? error_context(err, "this cluster has no BatchScores: is windlass "
                                            "installed there (helm install windlass ...)?")
                       : -1;
        }
    }
    if (!is_any_listed) { /* not even the first kind: it is there, or that was said */
        *err = denied[0];
        return -1;
    }
    for (size_t i = 0; i < KINDS_MAX; i++) {
        if (denied[i].kind) {
            tell_denied_once(i, "shown", &denied[i], told);
        }
    }
    return 0;
}

struct follower {
    bool all, has_news;
    struct table *table;
    json_t *versions;
    bool told[KINDS_MAX]; /* that it is denied, by kind */
};

static int list_once(struct remote *remote, struct follower *follower, struct error *err) {
    AUTO(tree_freep) json_t *jobs = json_array();
    if (list_jobs(remote, jobs, follower->told, err) < 0) {
        return -1;
    }
    size_t i;
    json_t *job;
    add_head(follower->table, follower->all);
    json_array_foreach(jobs, i, job) {
        has_changed(follower->versions, job);
        add_row(follower->table, job, follower->all, clock_wall_ms());
    }
    if (json_array_size(jobs) == 0) {
        fprintf(stderr, "no jobs in %s%s\n", remote->namespace ? "namespace " : "any namespace",
                remote->namespace ? remote->namespace : "");
    }
    return 0;
}

static void hear(void *context, enum cluster_event event, const json_t *job) {
    struct follower *follower = context;
    if (event == CLUSTER_APPLIED && has_changed(follower->versions, job)) {
        add_row(follower->table, job, follower->all, clock_wall_ms());
        follower->has_news = true;
    }
}

/* -1: none of the kinds may be watched, or there are no jobs here at all. */
static int check_watches(struct watch *const *watches, size_t count, bool *told,
                         struct error *err) {
    size_t denied = 0;
    for (size_t i = 0; i < count; i++) {
        const struct error *trouble = watch_trouble(watches[i]);
        bool is_denied = trouble && trouble->kind == ERROR_DENIED;
        denied += is_denied;
        if (trouble && i == 0 && (is_denied || trouble->kind == ERROR_NOT_FOUND)) {
            *err = *trouble;
        }
        if (trouble && i == 0 && trouble->kind == ERROR_NOT_FOUND) {
            return -1;
        }
    }
    for (size_t i = 0; i < count && denied < count; i++) {
        const struct error *trouble = watch_trouble(watches[i]);
        if (trouble && trouble->kind == ERROR_DENIED) {
            tell_denied_once(i, "followed", trouble, told);
        }
    }
    return denied == count ? -1 : 0;
}

/* Until something is refused for good; never ends well. */
static int follow_list(struct remote *remote, struct follower *follower, struct error *err) {
    struct watch *watches[KINDS_MAX] = {NULL};
    size_t count = 0;
    int result = 0;
    for (; remote_kinds[count] && count < KINDS_MAX && result == 0; count++) {
        const struct watch_options options = {.api_version = REMOTE_API,
                                              .kind = remote_kinds[count],
                                              .namespace = remote->namespace,
                                              .may_be_absent = count > 0,
                                              .listener = hear,
                                              .context = follower};
        result = watch_new(&options, remote->client, remote->loop, &watches[count], err);
    }
    while (result == 0 && (result = MIN(loop_wait(remote->loop, -1, err), 0)) == 0) {
        if (follower->has_news) {
            follower->has_news = false;
            print_table(&follower->table);
        }
        result = check_watches(watches, count, follower->told, err);
    }
    for (size_t i = 0; i < count; i++) {
        watch_free(watches[i]);
    }
    return result;
}

static int wait_a_while(struct remote *remote, struct error *err) {
    int64_t end_ms = clock_monotonic_ms() + WATCH_MS, now_ms;
    while ((now_ms = clock_monotonic_ms()) < end_ms) {
        if (loop_wait(remote->loop, (int)(end_ms - now_ms), err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int show_list(struct remote *remote, const struct request *request, struct error *err) {
    AUTO(tree_freep) json_t *versions = json_object();
    struct follower follower = {
        .all = request->where.all, .versions = versions, .table = table_new()};
    int result = list_once(remote, &follower, err);
    if (result == 0 && (request->watch || json_object_size(versions) > 0)) {
        print_table(&follower.table);
    }
    if (result == 0 && request->watch) {
        result = follow_list(remote, &follower, err);
    }
    table_free(follower.table);
    return result;
}

/* ---- one job --------------------------------------------------------------------------------- */

static const char *const stage_names[] = {
    [POD_PHASE_WAITING] = "Waiting", [POD_PHASE_RUNNING] = "Running",
    [POD_PHASE_LEAVING] = "Leaving", [POD_PHASE_SUCCEEDED] = "Succeeded",
    [POD_PHASE_DEAD] = "Failed",
};

/* What people do about a pod's reason. %s: the pod. */
static const struct advice {
    const char *reason, *text;
} advices[] = {
    {"ErrImagePull", "check spec.image and imagePullSecrets: can a node pull that image?"},
    {"ImagePullBackOff", "check spec.image and imagePullSecrets: can a node pull that image?"},
    {"InvalidImageName", "correct spec.image"},
    {"Unschedulable", "the scheduler finds no node with room: kubectl describe pod %s"},
    {"OOMKilled", "raise resources.limits.memory of the workers"},
    {"CreateContainerConfigError", "a Secret or a ConfigMap is missing: kubectl describe pod %s"},
    {"ContainerCreating", "a volume may not mount: windlass events shows it"},
};

static void add_pod(struct table *table, const json_t *pod, int64_t now_ms) {
    struct pod_phase phase = pod_phase_read(pod);
    char age[32];
    table_age(age_of(pod, now_ms), age);
    const char *reason =
        phase.stage == POD_PHASE_RUNNING || phase.stage == POD_PHASE_SUCCEEDED ? "" : phase.reason;
    const char *message = *reason || phase.stage == POD_PHASE_DEAD ? phase.message : "";
    AUTO(text_freep)
    char *why = x_printf("%s%s%.300s", reason, *reason && *message ? ": " : "",
                         *message == '{' ? "" : message);
    const char *const cells[] = {phase.name, stage_names[phase.stage], age,
                                 tree_text(pod, "spec.nodeName", ""), why};
    table_add(table, cells, ARRAY_LEN(cells));
}

/* One line for each different reason, for the first pod that has it. */
static void print_advice(const json_t *pods, const char *job) {
    bool told[ARRAY_LEN(advices)] = {false}, told_log = false;
    size_t i;
    json_t *pod;
    json_array_foreach(pods, i, pod) {
        struct pod_phase phase = pod_phase_read(pod);
        if (phase.stage != POD_PHASE_WAITING && phase.stage != POD_PHASE_DEAD) {
            continue;
        }
        size_t row = 0;
        while (row < ARRAY_LEN(advices) && strcmp(advices[row].reason, phase.reason) != 0) {
            row++;
        }
        if (row < ARRAY_LEN(advices) && !told[row]) {
            AUTO(text_freep) char *text = x_strdup(advices[row].text);
            char *mark = strstr(text, "%s");
            printf("  next: %.*s%s%s\n", mark ? (int)(mark - text) : (int)strlen(text), text,
                   mark ? phase.name : "", mark ? mark + 2 : "");
            told[row] = true;
        } else if (row == ARRAY_LEN(advices) && phase.stage == POD_PHASE_DEAD && !told_log) {
            printf("  next: windlass logs %s --previous\n", job);
            told_log = true;
        }
    }
}

static void print_pods(const json_t *pods, const char *job) {
    if (json_array_size(pods) == 0) {
        return;
    }
    static const char *const head[] = {"POD", "STATE", "AGE", "NODE", "WHY"};
    struct table *table = table_new();
    table_add(table, head, ARRAY_LEN(head));
    int64_t now_ms = clock_wall_ms();
    for (size_t i = 0; i < json_array_size(pods) && i < PODS_SHOWN_MAX; i++) {
        add_pod(table, json_array_get(pods, i), now_ms);
    }
    AUTO(text_freep) char *text = table_text(table, "  ", table_width());
    printf("\n%s", text);
    table_free(table);
    if (json_array_size(pods) > PODS_SHOWN_MAX) {
        printf("  and %zu more\n", json_array_size(pods) - PODS_SHOWN_MAX);
    }
    print_advice(pods, job);
}

/* Of a job that makes runs: the last ones. */
static void print_runs(const json_t *status) {
    static const char *const head[] = {"RUN", "STATE", "DUE", "DONE", "TOOK", "OUTPUT"};
    const json_t *runs = json_object_get(status, "runs");
    if (json_array_size(runs) == 0) {
        return;
    }
    struct table *table = table_new();
    table_add(table, head, ARRAY_LEN(head));
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        char took[32] = "";
        if (json_object_get(run, "seconds")) {
            table_age(1000 * tree_integer(run, "seconds", 0), took);
        }
        AUTO(text_freep)
        char *done = tree_get(run, "items")
                         ? x_printf("%lld/%lld", (long long)tree_integer(run, "items.done", 0),
                                    (long long)tree_integer(run, "items.total", 0))
                         : x_strdup("");
        const char *const cells[] = {tree_text(run, "name", ""),
                                     tree_text(run, "state", ""),
                                     tree_text(run, "time", ""),
                                     done,
                                     took,
                                     tree_text(run, "output", tree_text(run, "message", ""))};
        table_add(table, cells, ARRAY_LEN(cells));
    }
    AUTO(text_freep) char *text = table_text(table, "  ", table_width());
    printf("\n%s", text);
    table_free(table);
}

static void print_outputs(const json_t *status) {
    size_t i;
    json_t *output;
    json_array_foreach(json_object_get(status, "outputs"), i, output) {
        printf("  output   %s\n", json_string_value(output));
    }
    const char *summary = tree_text(status, "summary", NULL);
    if (summary) {
        printf("  summary  %s\n", summary);
    }
}

static int print_job(struct remote *remote, const json_t *job, struct error *err) {
    const char *name = tree_text(job, "metadata.name", "");
    AUTO(tree_freep) json_t *pods = NULL;
    struct error why = {0};
    if (remote_pods(remote, name, &pods, &why) < 0 && why.kind != ERROR_DENIED) {
        *err = why;
        return -1;
    }
    const json_t *status = json_object_get(job, "status");
    int64_t start_ms = clock_parse(tree_text(status, "startTime", ""));
    int64_t end_ms = clock_parse(tree_text(status, "completionTime", ""));
    struct progress progress = {.name = name, .unit = unit_of(job), .start_ms = start_ms};
    char line[512], age[32];
    progress_line(&progress, status, end_ms < 0 ? clock_wall_ms() : end_ms, line);
    table_age(age_of(job, clock_wall_ms()), age);
    printf("%s\n  %s\n  created %s ago\n", line,
           tree_text(progress_condition(status), "message", "no controller has seen it yet"), age);
    print_outputs(status);
    ending_print_said(stdout, status);
    print_runs(status);
    print_pods(pods, name);
    fflush(stdout);
    if (!pods) {
        tell_denied("Pod", "shown", &why);
    }
    if (status_is_sweep(job) && status_print_trials(remote, job, &why) < 0) {
        if (why.kind != ERROR_DENIED) {
            *err = why;
            return -1;
        }
        tell_denied("DistTrain", "shown", &why);
    }
    fflush(stdout);
    return 0;
}

/* Until the end; what fails on the way is asked again, unless only a person can help. */
static int follow_job(struct remote *remote, const struct request *request, json_t **ret_job,
                      struct error *err) {
    struct progress progress;
    AUTO(tree_freep) json_t *job = NULL;
    if (remote_job(remote, request->name, &job, err) < 0) {
        return -1;
    }
    int64_t start_ms = clock_monotonic_ms() - age_of(job, clock_wall_ms());
    progress_init(&progress, request->name, unit_of(job), start_ms);
    while (!ending_is_final(json_object_get(job, "status"))) {
        progress_show(&progress, json_object_get(job, "status"), clock_monotonic_ms());
        struct error failure = {0};
        json_t *next = NULL;
        if (wait_a_while(remote, err) < 0) {
            return -1;
        }
        if (remote_job(remote, request->name, &next, &failure) == 0) {
            json_decref(job);
            job = next;
        } else if (failure.kind == ERROR_NOT_FOUND || failure.kind == ERROR_DENIED) {
            progress_clear(&progress);
            *err = failure;
            return -1;
        }
    }
    progress_clear(&progress);
    *ret_job = TAKE(job);
    return 0;
}

static int show_job(struct remote *remote, const struct request *request, int *ret_code,
                    struct error *err) {
    AUTO(tree_freep) json_t *job = NULL;
    int result = request->watch ? follow_job(remote, request, &job, err)
                                : remote_job(remote, request->name, &job, err);
    if (result < 0 ||
        (request->output ? status_print_page(remote, job, err) : print_job(remote, job, err)) < 0) {
        return -1;
    }
    const json_t *condition = progress_condition(json_object_get(job, "status"));
    *ret_code = request->watch && strcmp(tree_text(condition, "status", ""), "True") != 0;
    return 0;
}

int status_command(int argc, char **argv) {
    struct request request = {0};
    const struct option options[] = {
        {"all-namespaces", 'A', OPTION_FLAG, NULL, "The jobs of all namespaces.",
         &request.where.all},
        {"watch", 'w', OPTION_FLAG, NULL, "Follow what changes.", &request.watch},
        {"output", 'o', OPTION_TEXT, "html", "Of a Sweep: a page that draws its trials.",
         &request.output},
        REMOTE_ROWS(&request.where),
        {0},
    };
    struct option_list words = {0};
    struct error err = {0};
    int result = options_read(argc, argv, &help, options, &words, &err);
    if (result > 0) {
        return 0;
    }
    int code = 0;
    AUTO(remote_release) struct remote remote = {0};
    request.name = words.count ? words.values[0] : NULL;
    if (result == 0 && request.name && request.where.all) {
        result = error_set(&err, ERROR_INVALID, "NAME is one job, -A all: give one of them");
    }
    if (result == 0 && request.output && (!request.name || strcmp(request.output, "html") != 0)) {
        result = error_set(&err, ERROR_INVALID,
                           request.name ? "-o %s: html is possible"
                                        : "-o %s: of which Sweep? NAME is missing",
                           request.output);
    }
    if (result < 0 || remote_open(&request.where, &remote, &err) < 0 ||
        (request.name ? show_job(&remote, &request, &code, &err)
                      : show_list(&remote, &request, &err)) < 0) {
        fprintf(stderr, "windlass status: %s\n", err.text);
        return error_exit_code(&err);
    }
    return code;
}
