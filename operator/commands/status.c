// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/status.h"

#include "lib/time/clock.h"
#include "operator/commands/cli_command.h"
#include "operator/commands/pod_table.h"
#include "operator/commands/remote.h"
#include "operator/kinds/kinds.h"
#include "operator/kube/watch.h"
#include "operator/object.h"
#include "operator/show/ending.h"
#include "operator/show/progress_line.h"
#include "operator/show/text_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WATCH_MS = 1000, BAR = 10, KINDS_MAX = 16 };

struct request {
    struct remote_options where;
    bool watch;
    const char *output; /* NULL: for people; otherwise "html" */
    const char *name;   /* NULL: all jobs */
};

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
        text_table_age(left_s * 1000, text);
    }
    return x_strdup(text);
}

/* "24/280". */
static char *done_cell(const json_t *job) {
    const struct kind_row *row = kinds_of(job);
    const json_t *status = json_object_get(job, "status");
    return row->done_column ? row->done_column(status)
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

/* The namespace column is omitted when all rows have the same one. */
static void add_row(struct text_table *table, const json_t *job, bool all, int64_t now_ms) {
    const json_t *status = json_object_get(job, "status");
    AUTO(text_freep) char *bar = progress_cell(status);
    AUTO(text_freep) char *left = left_cell(status);
    const char *rate =
        tree_text(status, "itemsPerSecond", tree_text(status, "samplesPerSecond", NULL));
    AUTO(text_freep) char *done = done_cell(job);
    AUTO(text_freep) char *speed = rate ? x_printf("%s/s", rate) : NULL;
    char age[32];
    text_table_age(object_age_ms(job, now_ms), age);
    const char *const cells[] = {
        [AT_NAMESPACE] = tree_text(job, "metadata.namespace", ""),
        [AT_NAME] = tree_text(job, "metadata.name", ""),
        [AT_STATE] = object_state(status),
        [AT_BAR] = bar,
        [AT_DONE] = done,
        [AT_RATE] = speed,
        [AT_LEFT] = left,
        [AT_AGE] = age,
        [AT_MESSAGE] = tree_text(object_succeeded(status), "message", ""),
    };
    size_t first = all ? AT_NAMESPACE : AT_NAME;
    text_table_add(table, cells + first, ARRAY_LEN(cells) - first);
}

static void add_head(struct text_table *table, bool all) {
    static const char *const head[] = {"NAMESPACE", "NAME", "STATE", "PROGRESS", "DONE",
                                       "RATE",      "LEFT", "AGE",   "MESSAGE"};
    text_table_add(table, head + (all ? 0 : 1), ARRAY_LEN(head) - (all ? 0 : 1));
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
static void print_table(struct text_table **table) {
    AUTO(text_freep) char *text = text_table_format(*table, "", text_table_width());
    fputs(text, stdout);
    fflush(stdout);
    text_table_free(*table);
    *table = text_table_new();
}

/* Names the kinds that the user may not list, with the server's message, which has the verb; the
 * rest is shown. */
static void report_denied(const char *kind, const char *what, const struct error *why) {
    fprintf(stderr, "windlass status: %ss are not %s: %s\n", kind, what, why->text);
}

/* reported: the kinds for which the message was printed. */
static void report_denied_once(size_t kind, const char *what, const struct error *why,
                               bool *reported) {
    if (!reported[kind]) {
        report_denied(kind_rows[kind]->loop->name, what, why);
    }
    reported[kind] = true;
}

/* Lists the jobs of all kinds that the user may list. An earlier version of Windlass has installed
 * only the first kind. reported: as in report_denied_once. */
static int list_jobs(struct remote *remote, json_t *jobs, bool *reported, struct error *err) {
    struct error denied[KINDS_MAX] = {0};
    bool is_any_listed = false;
    for (size_t i = 0; kind_rows[i] && i < KINDS_MAX; i++) {
        const struct kind *kind = kind_rows[i]->loop;
        const struct rest_place place = {.api_version = kind->api_version, .kind = kind->name};
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
                       ? error_context(err,
                                       "this cluster has no %ss: is windlass "
                                       "installed there (helm install windlass ...)?",
                                       kinds_first())
                       : -1;
        }
    }
    if (!is_any_listed) { /* the first kind exists, and was denied */
        *err = denied[0];
        return -1;
    }
    for (size_t i = 0; i < KINDS_MAX; i++) {
        if (denied[i].kind) {
            report_denied_once(i, "shown", &denied[i], reported);
        }
    }
    return 0;
}

struct follower {
    bool all, has_news;
    struct text_table *table;
    json_t *versions;
    bool reported[KINDS_MAX]; /* kinds for which the denial was printed */
};

static int list_once(struct remote *remote, struct follower *follower, struct error *err) {
    AUTO(tree_freep) json_t *jobs = json_array();
    if (list_jobs(remote, jobs, follower->reported, err) < 0) {
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

/* -1: the user may not watch any of the kinds, or the cluster does not have them. */
static int check_watches(struct watch *const *watches, size_t count, bool *reported,
                         struct error *err) {
    size_t denied = 0;
    for (size_t i = 0; i < count; i++) {
        const struct error *trouble = watch_error(watches[i]);
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
        const struct error *trouble = watch_error(watches[i]);
        if (trouble && trouble->kind == ERROR_DENIED) {
            report_denied_once(i, "followed", trouble, reported);
        }
    }
    return denied == count ? -1 : 0;
}

/* Runs until a permanent refusal; never returns success. */
static int follow_list(struct remote *remote, struct follower *follower, struct error *err) {
    struct watch *watches[KINDS_MAX] = {NULL};
    size_t count = 0;
    int result = 0;
    for (; kind_rows[count] && count < KINDS_MAX && result == 0; count++) {
        const struct watch_options options = {.api_version = kind_rows[count]->loop->api_version,
                                              .kind = kind_rows[count]->loop->name,
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
        result = check_watches(watches, count, follower->reported, err);
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
        .all = request->where.all, .versions = versions, .table = text_table_new()};
    int result = list_once(remote, &follower, err);
    if (result == 0 && (request->watch || json_object_size(versions) > 0)) {
        print_table(&follower.table);
    }
    if (result == 0 && request->watch) {
        result = follow_list(remote, &follower, err);
    }
    text_table_free(follower.table);
    return result;
}

/* ---- one job --------------------------------------------------------------------------------- */

/* The last runs of a job that makes runs. */
static void print_runs(const json_t *status) {
    static const char *const head[] = {"RUN", "STATE", "DUE", "DONE", "TOOK", "OUTPUT"};
    const json_t *runs = json_object_get(status, "runs");
    if (json_array_size(runs) == 0) {
        return;
    }
    struct text_table *table = text_table_new();
    text_table_add(table, head, ARRAY_LEN(head));
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        char took[32] = "";
        if (json_object_get(run, "seconds")) {
            text_table_age(1000 * tree_integer(run, "seconds", 0), took);
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
        text_table_add(table, cells, ARRAY_LEN(cells));
    }
    AUTO(text_freep) char *text = text_table_format(table, "  ", text_table_width());
    printf("\n%s", text);
    text_table_free(table);
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

/* The jobs of another kind that the job has made; an array, owned. */
static int read_made(struct remote *remote, const json_t *job, json_t **ret_made,
                     struct error *err) {
    const struct kind *kind = kinds_find(kinds_of(job)->made->kind)->loop;
    const struct rest_place place = {.api_version = kind->api_version, .kind = kind->name};
    return remote_made(remote, &place, tree_text(job, "metadata.name", ""), ret_made, err);
}

/* Prints them as a table. A missing permission is reported and is not an error. */
static int print_made(struct remote *remote, const json_t *job, struct error *err) {
    const struct kind_made *kind = kinds_of(job)->made;
    AUTO(tree_freep) json_t *made = NULL;
    AUTO(text_freep) char *text = NULL;
    struct error why = {0};
    if (!kind) {
        return 0;
    }
    if (read_made(remote, job, &made, &why) < 0 ||
        kind->table(job, made, text_table_width(), &text, &why) < 0) {
        if (why.kind != ERROR_DENIED) {
            *err = why;
            return -1;
        }
        report_denied(kind->kind, "shown", &why);
    }
    if (text) {
        printf("\n%s", text);
    }
    return 0;
}

static bool has_page(const struct kind_row *row) {
    return row->made && row->made->page;
}

/* -o html. */
static int print_page(struct remote *remote, const json_t *job, struct error *err) {
    AUTO(tree_freep) json_t *made = NULL;
    AUTO(text_freep) char *html = NULL;
    AUTO(text_freep) char *names = kinds_names(has_page, "a %s", "or");
    if (!has_page(kinds_of(job))) {
        return error_set(err, ERROR_INVALID, "-o html is for %s; %s is a %s", names,
                         tree_text(job, "metadata.name", ""), tree_text(job, "kind", ""));
    }
    if (read_made(remote, job, &made, err) < 0 ||
        kinds_of(job)->made->page(job, made, &html, err) < 0) {
        return -1;
    }
    if (fputs(html, stdout) < 0 || fflush(stdout) != 0) {
        return error_from_errno(err, errno, "cannot write the page");
    }
    return 0;
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
    struct progress_line progress = {.name = name,
                                     .unit = kinds_of(job)->unit(job),
                                     .read = kinds_of(job)->numbers,
                                     .start_ms = start_ms};
    char line[512], age[32];
    progress_line_format(&progress, status, end_ms < 0 ? clock_wall_ms() : end_ms, line);
    text_table_age(object_age_ms(job, clock_wall_ms()), age);
    printf("%s\n  %s\n  created %s ago\n", line,
           tree_text(object_succeeded(status), "message", "no controller has seen it yet"), age);
    print_outputs(status);
    ending_print_said(stdout, status);
    ending_print_retired(stdout, status);
    print_runs(status);
    pod_table_print(pods, name);
    fflush(stdout);
    if (!pods) {
        report_denied("Pod", "shown", &why);
    }
    if (print_made(remote, job, err) < 0) {
        return -1;
    }
    fflush(stdout);
    return 0;
}

/* Follows the job until its end. Errors are retried, unless only a person can fix them. */
static int follow_job(struct remote *remote, const struct request *request, json_t **ret_job,
                      struct error *err) {
    struct progress_line progress;
    AUTO(tree_freep) json_t *job = NULL;
    if (remote_job(remote, request->name, &job, err) < 0) {
        return -1;
    }
    int64_t start_ms = clock_monotonic_ms() - object_age_ms(job, clock_wall_ms());
    progress_line_init(&progress, request->name, kinds_of(job)->unit(job), kinds_of(job)->numbers,
                       start_ms);
    while (!ending_is_final(json_object_get(job, "status"))) {
        progress_line_show(&progress, json_object_get(job, "status"), clock_monotonic_ms());
        struct error failure = {0};
        json_t *next = NULL;
        if (wait_a_while(remote, err) < 0) {
            return -1;
        }
        if (remote_job(remote, request->name, &next, &failure) == 0) {
            json_decref(job);
            job = next;
        } else if (failure.kind == ERROR_NOT_FOUND || failure.kind == ERROR_DENIED) {
            progress_line_clear(&progress);
            *err = failure;
            return -1;
        }
    }
    progress_line_clear(&progress);
    *ret_job = TAKE(job);
    return 0;
}

static int show_job(struct remote *remote, const struct request *request, int *ret_code,
                    struct error *err) {
    AUTO(tree_freep) json_t *job = NULL;
    int result = request->watch ? follow_job(remote, request, &job, err)
                                : remote_job(remote, request->name, &job, err);
    if (result < 0 ||
        (request->output ? print_page(remote, job, err) : print_job(remote, job, err)) < 0) {
        return -1;
    }
    const json_t *condition = object_succeeded(json_object_get(job, "status"));
    *ret_code = request->watch && strcmp(tree_text(condition, "status", ""), "True") != 0;
    return 0;
}

/* For the help: "of a KIND its trials, ..." of the kinds that show more than pods; owned. */
static char *about_made(void) {
    char *all = x_strdup("");
    for (const struct kind_row *const *row = kind_rows; *row; row++) {
        if ((*row)->status_about) {
            char *longer =
                x_printf("%s; for a %s %s", all, (*row)->loop->name, (*row)->status_about);
            free(all);
            all = longer;
        }
    }
    return all;
}

static char *about_page(void) {
    char *all = x_strdup("");
    for (const struct kind_row *const *row = kind_rows; *row; row++) {
        if (has_page(*row)) {
            char *longer =
                x_printf("%sFor a %s: %s.", all, (*row)->loop->name, (*row)->made->page_about);
            free(all);
            all = longer;
        }
    }
    return all;
}

static int run(void *context, const struct option_list *words, int *ret_code, struct error *err) {
    struct request *request = context;
    AUTO(remote_release) struct remote remote = {0};
    request->name = words->count ? words->values[0] : NULL;
    if (request->name && request->where.all) {
        return error_set(err, ERROR_INVALID, "NAME is one job, -A all: give one of them");
    }
    if (request->output && !request->name) {
        return error_set(err, ERROR_INVALID, "-o %s: the NAME of a job is missing",
                         request->output);
    }
    if (request->output && strcmp(request->output, "html") != 0) {
        return error_set(err, ERROR_INVALID, "-o %s: expected html", request->output);
    }
    if (remote_open(&request->where, &remote, err) < 0) {
        return -1;
    }
    return request->name ? show_job(&remote, request, ret_code, err)
                         : show_list(&remote, request, err);
}

int status_command(int argc, char **argv) {
    struct request request = {0};
    AUTO(text_freep) char *page_help = about_page();
    AUTO(text_freep) char *made = about_made();
    AUTO(text_freep)
    char *about = x_printf(
        "Lists the jobs of a cluster with their progress. With NAME: one job and its pods, with\n"
        "the reason and the remedy for each pod that does not run%s.\n\n"
        "-w follows one job until its end (exit code 0 succeeded, 1 failed), or the list of\n"
        "jobs, with a line for every change.",
        made);
    const struct command_help help = {
        .usage = "windlass status [NAME] [options]",
        .about = about,
        .examples = "windlass status -A\n"
                    "windlass status style-transfer -w",
        .words_max = 1,
    };
    const struct option options[] = {
        {"all-namespaces", 'A', OPTION_FLAG, NULL, "The jobs of all namespaces.",
         &request.where.all},
        {"watch", 'w', OPTION_FLAG, NULL, "Follow changes.", &request.watch},
        {"output", 'o', OPTION_TEXT, "html", page_help, &request.output},
        REMOTE_ROWS(&request.where),
        {0},
    };
    const struct cli_command command = {
        .name = "status", .help = &help, .options = options, .run = run, .context = &request};
    return cli_command_run(&command, argc, argv);
}
