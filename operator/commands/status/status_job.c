// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/status/status_job.h"

#include "lib/time/clock.h"
#include "operator/commands/status/live.h"
#include "operator/commands/status/pod_table.h"
#include "operator/kinds/kinds.h"
#include "operator/object.h"
#include "operator/show/ending.h"
#include "operator/show/progress_line.h"
#include "operator/show/shown_tree.h"
#include "operator/show/text_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WATCH_MS = 1000, MADE_MS = 10000 };

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

/* The job goes on with another spec than it has, which its State does not say. */
static void print_change(const json_t *status) {
    const json_t *changed = object_condition(status, "SpecChanged");
    if (strcmp(tree_text(changed, "status", ""), "True") == 0) {
        printf("  spec     %s\n", tree_text(changed, "message", ""));
    }
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
    const struct kind *kind = kinds_find(kinds_of(job)->children->kind)->loop;
    const struct rest_place place = {.api_version = kind->api_version, .kind = kind->name};
    return remote_made(remote, &place, tree_text(job, "metadata.name", ""), ret_made, err);
}

static void update_one(struct live *live, json_t *job, char ret_why[static LIVE_WHY_MAX]) {
    AUTO(tree_freep) json_t *jobs = json_pack("[O]", job);
    live_update(live, jobs, ret_why);
}

/* why: of figures that are not live; "": they are. */
static void print_figures_age(const char *why) {
    if (*why) {
        printf("  figures as of the last write of the status: %s\n", why);
    }
}

/* Prints them as a table. A missing permission is reported and is not an error. */
static int print_made(struct remote *remote, struct live *live, const json_t *job,
                      struct error *err) {
    const struct kind_children *kind = kinds_of(job)->children;
    AUTO(tree_freep) json_t *made = NULL;
    AUTO(text_freep) char *text = NULL;
    char not_live[LIVE_WHY_MAX] = "";
    struct error why = {0};
    if (!kind) {
        return 0;
    }
    bool is_read = read_made(remote, job, &made, &why) == 0;
    if (is_read) {
        live_update(live, made, not_live);
    }
    if (!is_read || kind->table(job, made, text_table_width(), &text, &why) < 0) {
        if (why.kind != ERROR_DENIED) {
            *err = why;
            return -1;
        }
        status_denied(kind->kind, "shown", &why);
    }
    if (text) {
        printf("\n%s", text);
        print_figures_age(not_live);
    }
    fflush(stdout);
    return 0;
}

/* -o html. */
static int print_page(struct remote *remote, const json_t *job, struct error *err) {
    AUTO(tree_freep) json_t *made = NULL;
    AUTO(text_freep) char *html = NULL;
    AUTO(text_freep) char *names = kinds_names(status_has_page, "a %s", "or");
    if (!status_has_page(kinds_of(job))) {
        return error_set(err, ERROR_INVALID, "-o html is for %s; %s is a %s", names,
                         tree_text(job, "metadata.name", ""), tree_text(job, "kind", ""));
    }
    if (read_made(remote, job, &made, err) < 0 ||
        kinds_of(job)->children->page(job, made, &html, err) < 0) {
        return -1;
    }
    if (fputs(html, stdout) < 0 || fflush(stdout) != 0) {
        return error_from_errno(err, errno, "cannot write the page");
    }
    return 0;
}

void status_job_print(const json_t *job, const json_t *pods, const char *not_live) {
    const char *name = tree_text(job, "metadata.name", "");
    const json_t *raw_status = json_object_get(job, "status");
    AUTO(tree_freep) json_t *status = shown_tree(raw_status);
    int64_t start_ms = clock_parse(tree_text(status, "startTime", ""));
    int64_t end_ms = clock_parse(tree_text(status, "completionTime", ""));
    struct progress_line progress = {.name = name,
                                     .unit = kinds_of(job)->unit(job),
                                     .read = kinds_of(job)->read_progress,
                                     .start_ms = start_ms};
    char line[512], age[32];
    progress_line_format(&progress, status, end_ms < 0 ? clock_wall_ms() : end_ms, line);
    text_table_age(object_age_ms(job, clock_wall_ms()), age);
    printf("%s\n  %s\n  created %s ago\n", line,
           tree_text(object_succeeded(status), "message", "no controller has seen it yet"), age);
    print_change(status);
    print_figures_age(not_live);
    print_outputs(status);
    if (kinds_ending(kinds_of(job))->print_failures) {
        kinds_ending(kinds_of(job))->print_failures(stdout, raw_status);
    }
    print_runs(status);
    pod_table_print(pods, name);
    fflush(stdout);
}

static int print_job(struct remote *remote, struct live *live, json_t *job, struct error *err) {
    AUTO(tree_freep) json_t *pods = NULL;
    struct error why = {0};
    if (remote_pods(remote, tree_text(job, "metadata.name", ""), &pods, &why) < 0 &&
        why.kind != ERROR_DENIED) {
        *err = why;
        return -1;
    }
    char not_live[LIVE_WHY_MAX];
    update_one(live, job, not_live);
    status_job_print(job, pods, not_live);
    if (!pods) {
        status_denied("Pod", "shown", &why);
    }
    return print_made(remote, live, job, err);
}

/* What a job in the middle is seen doing: its line, and every ten seconds what it has made. */
struct follow {
    struct remote *remote;
    struct live *live;
    struct progress_line progress;
    int64_t children_ms; /* when that is printed next, monotonic */
    char not_live[LIVE_WHY_MAX];
};

static int show_now(struct follow *follow, json_t *job, struct error *err) {
    char why[LIVE_WHY_MAX];
    int64_t now_ms = clock_monotonic_ms();
    update_one(follow->live, job, why);
    if (strcmp(why, follow->not_live) != 0) {
        progress_line_clear(&follow->progress);
        fprintf(stderr, "windlass status: figures are %s%s\n",
                *why ? "as of the last write of the status: " : "live again", why);
        snprintf(follow->not_live, sizeof follow->not_live, "%s", why);
    }
    if (kinds_of(job)->children && now_ms >= follow->children_ms) {
        progress_line_clear(&follow->progress);
        follow->children_ms = now_ms + MADE_MS;
        if (print_made(follow->remote, follow->live, job, err) < 0 && remote_is_final(err)) {
            return -1;
        }
        error_clear(err);
    }
    progress_line_show(&follow->progress, json_object_get(job, "status"), now_ms);
    return 0;
}

/* Follows the job until its end. Errors are retried, unless only a person can fix them. */
static int follow_job(struct remote *remote, struct live *live, json_t *found, json_t **ret_job,
                      struct error *err) {
    struct follow follow = {.remote = remote, .live = live};
    AUTO(tree_freep) json_t *job = json_incref(found);
    const char *name = tree_text(found, "metadata.name", "");
    int64_t start_ms = clock_monotonic_ms() - object_age_ms(job, clock_wall_ms());
    progress_line_init(&follow.progress, name, kinds_of(job)->unit(job),
                       kinds_of(job)->read_progress, start_ms);
    while (!ending_is_final(json_object_get(job, "status"))) {
        struct error failure = {0};
        json_t *next = NULL;
        if (show_now(&follow, job, err) < 0 || remote_pause(remote, WATCH_MS, err) < 0) {
            return -1;
        }
        if (remote_job(remote, name, &next, &failure) == 0) {
            json_decref(job);
            job = next;
        } else if (remote_is_final(&failure)) {
            progress_line_clear(&follow.progress);
            *err = failure;
            return -1;
        }
    }
    progress_line_clear(&follow.progress);
    *ret_job = TAKE(job);
    return 0;
}

int status_job_show(struct remote *remote, json_t *found, const struct status_request *request,
                    int *ret_code, struct error *err) {
    AUTO(tree_freep) json_t *job = NULL;
    AUTO(live_freep) struct live *live = live_new(remote);
    bool is_page = request->output && strcmp(request->output, "html") == 0;
    if (!request->watch) {
        job = json_incref(found);
    } else if (follow_job(remote, live, found, &job, err) < 0) {
        return -1;
    }
    if ((is_page ? print_page(remote, job, err) : print_job(remote, live, job, err)) < 0) {
        return -1;
    }
    const json_t *condition = object_succeeded(json_object_get(job, "status"));
    *ret_code = request->watch && strcmp(tree_text(condition, "status", ""), "True") != 0;
    return 0;
}
