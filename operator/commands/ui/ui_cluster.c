// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/ui/ui_cluster.h"

#include "lib/time/clock.h"
#include "operator/commands/status/live.h"
#include "operator/commands/ui/ui_cluster_log.h"
#include "operator/commands/ui/ui_detail.h"
#include "operator/kinds/kinds.h"
#include "operator/kube/watch.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KINDS_MAX = 16,
    LOOK_MS = 1000,
    ANSWER_MS = 5000, /* for all that one request of the page asks of the cluster */
};

#define PREFIX "job/"

struct ui_cluster {
    struct ui_source source;
    const struct remote_options *options;
    struct ui_table *table;
    struct remote watched; /* of the thread of ui_cluster_wait */
    struct watch *watches[KINDS_MAX];
    struct remote asked; /* of the server's thread, and what follows, too */
    struct live *live;
};

/* ---- rows ---- */

static char *key_of(const json_t *job) {
    return x_printf(PREFIX "%s/%s/%s", tree_text(job, "kind", ""),
                    tree_text(job, "metadata.namespace", ""), tree_text(job, "metadata.name", ""));
}

static void on_event(void *context, enum cluster_event event, const json_t *object) {
    struct ui_cluster *cluster = context;
    AUTO(text_freep) char *key = key_of(object);
    AUTO(text_freep) char *prefix = x_printf(PREFIX "%s/", tree_text(object, "kind", ""));
    const struct ui_job job = {
        .key = key, .place = tree_text(object, "metadata.namespace", ""), .job = object};
    switch (event) {
    case CLUSTER_APPLIED:
        ui_table_set(cluster->table, ui_row(&job));
        break;
    case CLUSTER_DELETED:
        ui_table_remove(cluster->table, key);
        break;
    case CLUSTER_LISTING:
        ui_table_begin(cluster->table, prefix);
        break;
    case CLUSTER_ABSENT: /* without a list before it */
        ui_table_begin(cluster->table, prefix);
        ui_table_end(cluster->table, prefix);
        break;
    case CLUSTER_LISTED:
        ui_table_end(cluster->table, prefix);
        break;
    }
}

static int start_watches(struct ui_cluster *cluster, struct error *err) {
    int result = 0;
    for (size_t i = 0; kind_rows[i] && i < KINDS_MAX && result == 0; i++) {
        const struct watch_options options = {.api_version = kind_rows[i]->loop->api_version,
                                              .kind = kind_rows[i]->loop->name,
                                              .namespace = cluster->watched.namespace,
                                              .may_be_absent = i > 0,
                                              .listener = on_event,
                                              .context = cluster};
        result = watch_new(&options, cluster->watched.client, cluster->watched.loop,
                           &cluster->watches[i], err);
    }
    return result;
}

/* The first of the kinds that cannot be followed says why. */
static void note_trouble(struct ui_cluster *cluster) {
    for (size_t i = 0; i < KINDS_MAX && cluster->watches[i]; i++) {
        const struct error *why = watch_error(cluster->watches[i]);
        if (why) {
            AUTO(text_freep)
            char *text = x_printf("%s of the cluster: %s", kind_rows[i]->loop->name, why->text);
            ui_table_note(cluster->table, text);
            return;
        }
    }
    ui_table_note(cluster->table, NULL);
}

static void on_end(void *context) {
    bool *is_over = context;
    *is_over = true;
}

int ui_cluster_wait(struct ui_cluster *cluster, int end_fd, struct error *err) {
    bool is_over = false;
    struct loop_watch end = {.fd = end_fd, .readable = on_end, .context = &is_over};
    if (loop_add(cluster->watched.loop, &end, err) < 0) {
        return -1;
    }
    int result = 0;
    while (!is_over && result >= 0) {
        result = loop_wait(cluster->watched.loop, LOOK_MS, err);
        note_trouble(cluster);
    }
    loop_remove(cluster->watched.loop, &end);
    return result < 0 ? -1 : 0;
}

/* ---- one job ---- */

/* "KIND/NAMESPACE/NAME"; the texts live as long as `copy`. From then on requests go to that
 * namespace, and must be answered within ANSWER_MS: the next request of the page waits for this
 * one. */
static int choose(struct ui_cluster *cluster, char *copy, struct rest_place *ret_place,
                  struct error *err) {
    const char *kind = strsep(&copy, "/"), *namespace = copy ? strsep(&copy, "/") : NULL;
    const struct kind_row *row = kinds_find(kind);
    if (!row || !namespace || !copy || strpbrk(copy, "/ ") || !isalnum((unsigned char)*copy) ||
        !isalnum((unsigned char)*namespace)) { /* neither is an option of `windlass cancel` */
        return error_set(err, ERROR_NOT_FOUND, "expected the key job/KIND/NAMESPACE/NAME");
    }
    *ret_place = (struct rest_place){
        .api_version = row->loop->api_version, .kind = row->loop->name, .name = copy};
    cluster->asked.namespace = namespace;
    cluster->asked.end_ms = clock_monotonic_ms() + ANSWER_MS;
    return 0;
}

static int read_made(struct ui_cluster *cluster, const json_t *object, json_t **ret_made,
                     struct error *err) {
    const struct kind_children *children = kinds_of(object)->children;
    const struct kind *kind = children ? kinds_find(children->kind)->loop : NULL;
    const struct rest_place place = {.api_version = kind ? kind->api_version : "",
                                     .kind = kind ? kind->name : ""};
    return kind ? remote_made(&cluster->asked, &place, tree_text(object, "metadata.name", ""),
                              ret_made, err)
                : 0;
}

/* What may not be read is left out. */
static json_t *detail_of(struct ui_cluster *cluster, json_t *object) {
    struct error ignored = {0};
    char why[LIVE_WHY_MAX] = "";
    AUTO(text_freep) char *key = key_of(object);
    AUTO(tree_freep) json_t *pods = NULL;
    AUTO(tree_freep) json_t *made = NULL;
    AUTO(tree_freep) json_t *files = json_array();
    AUTO(tree_freep) json_t *jobs = json_pack("[O]", object);
    live_update(cluster->live, jobs, why);
    const struct kind_children *children = kinds_of(object)->children;
    if (remote_pods(&cluster->asked, tree_text(object, "metadata.name", ""), &pods, &ignored) < 0 ||
        read_made(cluster, object, &made, &ignored) < 0) {
        snprintf(why, sizeof why, "%.400s", ignored.text);
    }
    AUTO(tree_freep)
    json_t *tree = made && children->tree ? children->tree(object, made) : NULL;
    if (made) {
        json_array_append_new(
            files, json_pack("{s:s, s:s}", "label", children->page_name, "page", "children"));
    }
    const struct ui_detail_facts detail = {
        .job = {.key = key, .place = tree_text(object, "metadata.namespace", ""), .job = object},
        .pods = pods,
        .made = tree,
        .files = files,
        .not_live = why};
    return ui_detail(&detail);
}

static int job(struct ui_source *source, const char *rest, json_t **ret_job, struct error *err) {
    struct ui_cluster *cluster = (struct ui_cluster *)source;
    AUTO(text_freep) char *copy = x_strdup(rest);
    AUTO(tree_freep) json_t *object = NULL;
    struct rest_place place;
    if (choose(cluster, copy, &place, err) < 0 ||
        remote_get(&cluster->asked, &place, NULL, &object, err) < 0) {
        return -1;
    }
    *ret_job = detail_of(cluster, object);
    return 0;
}

static int logs(struct ui_source *source, const char *rest, json_t **ret_logs, struct error *err) {
    struct ui_cluster *cluster = (struct ui_cluster *)source;
    AUTO(text_freep) char *copy = x_strdup(rest);
    struct rest_place place;
    return choose(cluster, copy, &place, err) < 0
               ? -1
               : ui_cluster_log(&cluster->asked, place.name, ret_logs, err);
}

static int page(struct ui_source *source, const char *rest, enum ui_page which, char **ret_html,
                struct error *err) {
    struct ui_cluster *cluster = (struct ui_cluster *)source;
    AUTO(text_freep) char *copy = x_strdup(rest);
    AUTO(tree_freep) json_t *object = NULL;
    AUTO(tree_freep) json_t *made = NULL;
    struct rest_place place;
    if (choose(cluster, copy, &place, err) < 0 ||
        remote_get(&cluster->asked, &place, NULL, &object, err) < 0 ||
        read_made(cluster, object, &made, err) < 0) {
        return -1;
    }
    if (which == UI_PAGE_REPORT || !made || !kinds_of(object)->children->page) {
        return error_set(err, ERROR_NOT_FOUND,
                         "the job has no such page here: it is in its output");
    }
    return kinds_of(object)->children->page(object, made, ret_html, err);
}

static void add_option(json_t *words, const char *option, const char *value) {
    if (value) {
        json_array_append_new(words, json_string(option));
        json_array_append_new(words, json_string(value));
    }
}

static int words(struct ui_source *source, const char *rest, json_t **ret_words,
                 struct error *err) {
    struct ui_cluster *cluster = (struct ui_cluster *)source;
    AUTO(text_freep) char *copy = x_strdup(rest);
    struct rest_place place;
    if (choose(cluster, copy, &place, err) < 0) {
        return -1;
    }
    *ret_words = json_pack("[s]", place.name);
    add_option(*ret_words, "-n", cluster->asked.namespace);
    add_option(*ret_words, "--context", cluster->options->context);
    add_option(*ret_words, "--kubeconfig", cluster->options->kubeconfig);
    return 0;
}

/* ---- life ---- */

int ui_cluster_open(const struct remote_options *options, struct ui_table *table,
                    struct ui_cluster **ret_cluster, struct error *err) {
    static const struct ui_source_ops ops = {
        .prefix = PREFIX, .job = job, .logs = logs, .page = page, .words = words};
    struct ui_cluster *cluster = x_calloc(1, sizeof *cluster);
    *cluster = (struct ui_cluster){.source = {.ops = &ops}, .options = options, .table = table};
    if (remote_open(options, &cluster->watched, err) < 0 ||
        remote_open(options, &cluster->asked, err) < 0 || start_watches(cluster, err) < 0) {
        ui_cluster_free(cluster);
        return -1;
    }
    cluster->live = live_new(&cluster->asked);
    *ret_cluster = cluster;
    return 0;
}

void ui_cluster_free(struct ui_cluster *cluster) {
    if (!cluster) {
        return;
    }
    live_free(cluster->live);
    for (size_t i = 0; i < KINDS_MAX; i++) {
        watch_free(cluster->watches[i]);
    }
    remote_release(&cluster->watched);
    remote_release(&cluster->asked);
    free(cluster);
}

struct ui_source *ui_cluster_source(struct ui_cluster *cluster) {
    return &cluster->source;
}
