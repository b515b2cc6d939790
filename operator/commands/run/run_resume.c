// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/run/run_resume.h"

#include "lib/time/clock.h"
#include "operator/commands/run/run_inputs.h"
#include "operator/commands/run/run_outputs.h"
#include "operator/commands/run/run_record.h"
#include "operator/kinds/kinds.h"
#include "operator/local/runs/run_list.h"
#include "operator/local/volume.h"
#include "operator/object.h"

#include <stdlib.h>
#include <string.h>

/* ---- the run that it is compared with ---- */

json_t *run_resume_earlier(const struct run_list *list, const json_t *after) {
    json_t *earlier = json_object();
    for (size_t i = 0; i < json_array_size(after); i++) {
        const char *name = tree_text(json_array_get(after, i), "name", "");
        const struct run_item *item = run_list_find(list, name);
        if (item) {
            json_object_set_new(earlier, name, json_string(item->id));
        }
    }
    return earlier;
}

/* The folders that it would get now are those that it had. */
static bool has_same_folders(const json_t *object, const char *file,
                             const struct run_options *options, const json_t *record) {
    AUTO(text_freep) char *manifest_folder = volume_manifest_folder(file);
    const char *within = kinds_of(object)->local.within;
    struct volume_places places = {.given = options->volumes.values,
                                   .given_count = options->volumes.count,
                                   .manifest_folder = manifest_folder,
                                   .state_folder = tree_text(record, "state", "")};
    AUTO(tree_freep) json_t *folders = NULL;
    struct error ignored = {0};
    if (volume_find_all(&places, object, within, &folders, &ignored) < 0) {
        return false;
    }
    return json_equal(folders, json_object_get(record, "folders"));
}

/* By any path. Two that come from pipes are not told apart. */
static bool is_same_file(const char *file, const json_t *record) {
    const char *before = tree_text(record, "file", NULL);
    AUTO(text_freep) char *path = run_record_path(file);
    AUTO(text_freep) char *now = path ? realpath(path, NULL) : NULL;
    AUTO(text_freep) char *then = before ? realpath(before, NULL) : NULL;
    return before ? now && then && strcmp(now, then) == 0 : !path;
}

static bool has_succeeded(const json_t *record) {
    const json_t *ended = object_succeeded(tree_get(record, "job.status"));
    return strcmp(tree_text(ended, "status", ""), "True") == 0 &&
           tree_integer(record, "exitCode", -1) == 0;
}

/* A job that waits for none may have run alone, without any. */
static bool is_of(const json_t *record, const json_t *object, const json_t *earlier) {
    const json_t *before = json_object_get(record, "earlier");
    return strcmp(tree_text(record, "name", ""), tree_text(object, "metadata.name", "")) == 0 &&
           strcmp(tree_text(record, "manifest.metadata.namespace", ""),
                  tree_text(object, "metadata.namespace", "")) == 0 &&
           strcmp(tree_text(record, "job.kind", ""), tree_text(object, "kind", "")) == 0 &&
           json_equal(tree_get(record, "manifest.spec"), tree_get(object, "spec")) &&
           (json_object_size(before) + json_object_size(earlier) == 0 ||
            json_equal(before, earlier));
}

bool run_resume_is_done(const struct run_list *list, const json_t *object, const char *file,
                        const struct run_options *options, const json_t *earlier) {
    const json_t *spec = tree_get(object, "spec");
    if (tree_mentions(spec, "://") || tree_get(spec, "input.table.query")) {
        return false;
    }
    const struct run_item *item = run_list_find(list, tree_text(object, "metadata.name", ""));
    if (!item || item->is_alive) {
        return false;
    }
    const json_t *record = item->record, *folders = json_object_get(record, "folders");
    int64_t begun_ms = tree_integer(record, RUN_RECORD_START, 0);
    return begun_ms > 0 && begun_ms <= clock_wall_ms() && has_succeeded(record) &&
           is_of(record, object, earlier) && is_same_file(file, record) &&
           has_same_folders(object, file, options, record) &&
           run_outputs_are_whole(object, json_object_get(record, "job"), folders) &&
           !run_inputs_are_newer(spec, tree_get(object, kinds_of(object)->local.within), folders,
                                 begun_ms);
}
