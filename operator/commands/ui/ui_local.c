// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/ui/ui_local.h"

#include "lib/time/clock.h"
#include "operator/commands/ui/ui_detail.h"
#include "operator/commands/ui/ui_local_files.h"
#include "operator/commands/ui/ui_local_pictures.h"
#include "operator/kinds/kinds.h"
#include "operator/local/runs/run_list.h"

#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 700 };

#define PREFIX "run/"

struct ui_local {
    struct ui_source source;
    struct ui_table *table;
    json_t *stamps;   /* ID -> what its record looked like when it was read; null: it had no room */
    json_t *pictures; /* ui_local_pictures.h */
    json_t *seen;     /* the same, of the look under way */
    int64_t next_ms;  /* monotonic */
};

static struct ui_job job_of(const struct run_item *item, const char *key, const json_t *job) {
    return (struct ui_job){.key = key,
                           .place = "",
                           .job = job,
                           .earlier = json_object_get(item->record, "earlier"),
                           .start = tree_text(item->record, "startTime", NULL),
                           .end = item->is_alive ? NULL : tree_text(item->record, "endTime", NULL)};
}

/* ---- rows ---- */

static bool wants(void *context, const char *id, const struct run_stamp *stamp) {
    struct ui_local *local = context;
    AUTO(text_freep) char *key = x_printf(PREFIX "%s", id);
    json_t *now = json_pack("[I, I, b]", (json_int_t)stamp->changed_ns, (json_int_t)stamp->bytes,
                            stamp->is_alive);
    const json_t *before = json_object_get(local->stamps, id);
    bool is_known = json_equal(before, now);
    json_object_set_new(local->seen, id, now);
    if (json_is_null(before) && ui_table_lacks_room(local->table, key)) {
        json_object_set_new(local->seen, id, json_null());
        return false;
    }
    if (is_known) {
        ui_table_keep(local->table, key);
    }
    return !is_known;
}

static void takes(void *context, const struct run_item *item) {
    struct ui_local *local = context;
    AUTO(text_freep) char *key = x_printf(PREFIX "%s", item->id);
    AUTO(tree_freep) json_t *job = run_list_job(item);
    const struct ui_job row = job_of(item, key, job);
    if (kinds_find(tree_text(job, "kind", "")) && !run_list_has_lost_logs(item) &&
        !ui_table_set(local->table, ui_row(&row))) {
        json_object_set_new(local->seen, item->id, json_null());
    }
}

static void look(struct ui_source *source) {
    struct ui_local *local = (struct ui_local *)source;
    int64_t now_ms = clock_monotonic_ms();
    struct error err = {0};
    if (now_ms < local->next_ms) {
        return;
    }
    local->next_ms = now_ms + LOOK_MS;
    local->seen = json_object();
    const struct run_visitor visitor = {.wants = wants, .takes = takes, .context = local};
    ui_table_begin(local->table, PREFIX);
    if (run_list_visit(&visitor, &err) == 0) {
        ui_table_end(local->table, PREFIX);
    }
    json_decref(local->stamps);
    local->stamps = TAKE(local->seen);
}

/* ---- one run ---- */

struct choice {
    const char *id;
    struct run_item *item;
};

static bool is_chosen(void *context, const char *id, const struct run_stamp *stamp UNUSED) {
    const struct choice *choice = context;
    return strcmp(id, choice->id) == 0;
}

/* What it is given is freed behind this call. */
static void keep(void *context, const struct run_item *item) {
    struct choice *choice = context;
    *choice->item = (struct run_item){.id = x_strdup(item->id),
                                      .path = x_strdup(item->path),
                                      .record = json_incref(item->record),
                                      .is_alive = item->is_alive,
                                      .pid = item->pid};
}

static void release(struct run_item *item) {
    free(item->id);
    free(item->path);
    json_decref(item->record);
}

static int find(const char *id, struct run_item *ret_item, struct error *err) {
    struct choice choice = {.id = id, .item = ret_item};
    const struct run_visitor visitor = {.wants = is_chosen, .takes = keep, .context = &choice};
    if (run_list_visit(&visitor, err) < 0) {
        return -1;
    }
    return ret_item->record ? 0 : error_set(err, ERROR_NOT_FOUND, "this run is forgotten");
}

static int job(struct ui_source *source, const char *rest, json_t **ret_job, struct error *err) {
    AUTO(release) struct run_item item = {0};
    AUTO(text_freep) char *key = x_printf(PREFIX "%s", rest);
    if (find(rest, &item, err) < 0) {
        return -1;
    }
    AUTO(tree_freep) json_t *object = run_list_job(&item);
    if (!kinds_find(tree_text(object, "kind", ""))) {
        return error_set(err, ERROR_NOT_FOUND, "%s has just begun", item.id);
    }
    const json_t *status = json_object_get(object, "status");
    AUTO(tree_freep) json_t *files = ui_local_files(&item, status);
    AUTO(tree_freep) json_t *failures = ui_local_failures(&item, status);
    AUTO(tree_freep)
    json_t *pictures = ui_local_pictures(((struct ui_local *)source)->pictures, &item);
    const struct ui_detail_facts detail = {
        .job = job_of(&item, key, object),
        .pods = json_object_get(item.record, "pods"),
        .made = json_object_get(item.record, "made"),
        .failures = failures,
        .files = files,
        .pictures = pictures,
    };
    *ret_job = ui_detail(&detail);
    return 0;
}

static int logs(struct ui_source *source UNUSED, const char *rest, json_t **ret_logs,
                struct error *err) {
    AUTO(release) struct run_item item = {0};
    return find(rest, &item, err) < 0 ? -1 : ui_local_logs(&item, ret_logs, err);
}

static int page(struct ui_source *source UNUSED, const char *rest, enum ui_page which,
                char **ret_html, struct error *err) {
    AUTO(release) struct run_item item = {0};
    return find(rest, &item, err) < 0 ? -1 : ui_local_page(&item, which, ret_html, err);
}

static int picture(struct ui_source *source, const char *rest, const char *token,
                   struct ui_picture *ret_picture, struct error *err) {
    AUTO(release) struct run_item item = {0};
    return find(rest, &item, err) < 0 ? -1
                                      : ui_local_picture(((struct ui_local *)source)->pictures,
                                                         &item, token, ret_picture, err);
}

static int words(struct ui_source *source UNUSED, const char *rest, json_t **ret_words,
                 struct error *err) {
    AUTO(release) struct run_item item = {0};
    if (find(rest, &item, err) < 0) {
        return -1;
    }
    *ret_words = json_pack("[s, s]", "--local", item.id);
    return 0;
}

struct ui_source *ui_local_new(struct ui_table *table) {
    static const struct ui_source_ops ops = {.prefix = PREFIX,
                                             .look = look,
                                             .job = job,
                                             .logs = logs,
                                             .page = page,
                                             .picture = picture,
                                             .words = words};
    struct ui_local *local = x_calloc(1, sizeof *local);
    *local = (struct ui_local){.source = {.ops = &ops},
                               .table = table,
                               .stamps = json_object(),
                               .pictures = json_object()};
    return &local->source;
}

void ui_local_free(struct ui_source *source) {
    struct ui_local *local = (struct ui_local *)source;
    if (local) {
        json_decref(local->stamps);
        json_decref(local->pictures);
        free(local);
    }
}
