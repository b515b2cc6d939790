// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/status/status_list.h"

#include "lib/time/clock.h"
#include "operator/kinds/kinds.h"
#include "operator/kube/watch.h"
#include "operator/object.h"
#include "operator/show/progress_line.h"
#include "operator/show/text_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BAR = 10, KINDS_MAX = 16 };

static char *progress_cell(const json_t *status) {
    int64_t total = tree_integer(status, "items.total", 0);
    int64_t done = tree_integer(status, "items.done", 0);
    if (total <= 0) {
        return x_strdup("");
    }
    int full = (int)(MIN(MAX(done, 0), total) * BAR / total);
    return x_printf("[%.*s%.*s] %3d%%", full, "==========", BAR - full, "          ",
                    progress_line_percent(done, total));
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

/* reported: the kinds for which the message was printed. */
static void report_denied_once(size_t kind, const char *what, const struct error *why,
                               bool *reported) {
    if (!reported[kind]) {
        status_denied(kind_rows[kind]->loop->name, what, why);
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

int status_list_read(struct remote *remote, json_t *jobs, struct error *err) {
    bool reported[KINDS_MAX] = {false};
    return list_jobs(remote, jobs, reported, err);
}

void status_list_print(const json_t *jobs, bool all) {
    struct text_table *table = text_table_new();
    add_head(table, all);
    for (size_t i = 0; i < json_array_size(jobs); i++) {
        add_row(table, json_array_get(jobs, i), all, clock_wall_ms());
    }
    print_table(&table);
    text_table_free(table);
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

static void on_event(void *context, enum cluster_event event, const json_t *job) {
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
                                              .listener = on_event,
                                              .context = follower};
        result = watch_new(&options, remote->client, remote->loop, &watches[count], err);
    }
    while (result == 0 && (result = loop_wait(remote->loop, -1, err) < 0 ? -1 : 0) == 0) {
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

int status_list_show(struct remote *remote, const struct status_request *request,
                     struct error *err) {
    AUTO(tree_freep) json_t *versions = json_object();
    struct follower follower = {
        .all = request->all, .versions = versions, .table = text_table_new()};
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
