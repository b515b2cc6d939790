// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/run/run_resume.h"

#include "lib/file.h"
#include "lib/time/clock.h"
#include "operator/commands/run/run_record.h"
#include "operator/kinds/kinds.h"
#include "operator/local/runs/run_list.h"
#include "operator/local/volume.h"
#include "operator/object.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DESCRIPTORS = 16, SECOND_MS = 1000 };

/* What is read is older than this, on the wall clock. nftw has no context. */
static int64_t begun_ms;

static bool is_since(const struct timespec *time) {
    int64_t changed_ms = (int64_t)time->tv_sec * SECOND_MS + time->tv_nsec / 1000000;
    /* the record has whole seconds */
    return changed_ms >= begun_ms + SECOND_MS;
}

/* status: of what a link leads to; the link itself may have been changed, too. */
static int is_newer(const char *path, const struct stat *status, int type UNUSED,
                    struct FTW *place UNUSED) {
    struct stat link;
    return is_since(&status->st_mtim) || (lstat(path, &link) == 0 && is_since(&link.st_mtim));
}

/* VOLUME/path, or $(VOLUME)/path of a program's word, on this machine; owned; NULL: neither. */
static char *path_of(const char *text, const json_t *folders) {
    bool is_word = text_starts(text, "$(");
    const char *name = text + (is_word ? 2 : 0);
    size_t length = strcspn(name, is_word ? ")" : "/");
    const char *rest = name + length + (is_word && name[length] == ')');
    AUTO(text_freep) char *volume = x_strndup(name, length);
    const char *folder = json_string_value(json_object_get(folders, volume));
    return folder && (!*rest || *rest == '/') ? x_printf("%s%s", folder, rest) : NULL;
}

static bool is_changed(const json_t *tree, const json_t *folders) {
    const char *name;
    json_t *child;
    if (json_is_string(tree)) {
        AUTO(text_freep) char *path = path_of(json_string_value(tree), folders);
        return path && access(path, F_OK) == 0 && nftw(path, is_newer, DESCRIPTORS, 0) != 0;
    }
    for (size_t i = 0; i < json_array_size(tree); i++) {
        if (is_changed(json_array_get(tree, i), folders)) {
            return true;
        }
    }
    json_object_foreach((json_t *)tree, name, child) {
        static const char *const own[] = {"output", "outputs", "logs", "volumes", "register"};
        bool is_own = false;
        for (size_t i = 0; i < ARRAY_LEN(own); i++) {
            is_own |= strcmp(name, own[i]) == 0;
        }
        if (!is_own && is_changed(child, folders)) {
            return true;
        }
    }
    return false;
}

/* Whether that file is in the folder; file NULL: whether the folder is there. */
static bool is_there(const char *folder, const char *file, const json_t *folders) {
    AUTO(text_freep) char *place = folder ? path_of(folder, folders) : NULL;
    AUTO(text_freep) char *path = place && file ? file_join(place, file) : NULL;
    return !folder || (place && access(path ? path : place, F_OK) == 0);
}

/* What each kind leaves last, and only with the whole output (docs/results.md). A command may have
 * succeeded without it: then the record says why. */
static bool has_outputs(const json_t *object, const json_t *job, const json_t *folders) {
    static const char result[] = "result.json";
    const json_t *within = tree_get(object, kinds_of(object)->local.within);
    const json_t *outputs = json_object_get(within, "outputs");
    const char *trained = tree_text(within, "trainer.output.path", NULL);
    bool is_below = within != tree_get(object, "spec"); /* its jobs have folders below */
    bool has_result = !is_below && !tree_get(job, "status.proof.resultMessage");
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        const char *path = tree_text(json_array_get(outputs, i), "path", NULL);
        if (!is_there(path, has_result ? result : NULL, folders)) {
            return false;
        }
    }
    return is_there(tree_text(object, "spec.output.path", NULL), result, folders) &&
           is_there(tree_text(object, "spec.register.path", NULL), NULL, folders) &&
           is_there(trained, is_below ? NULL : result, folders) &&
           is_there(trained, is_below ? NULL : "model.onnx", folders);
}

/* ---- the run that it is compared with ---- */

json_t *run_resume_earlier(const json_t *after) {
    AUTO(run_list_release) struct run_list list = {0};
    struct error ignored = {0};
    json_t *earlier = json_object();
    if (run_list_read(&list, &ignored) < 0) {
        return earlier;
    }
    for (size_t i = 0; i < json_array_size(after); i++) {
        const char *name = tree_text(json_array_get(after, i), "name", "");
        const struct run_item *item = run_list_find(&list, name);
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
    const json_t *volumes = json_object_get(tree_get(object, within), "volumes");
    struct volume_places places = {.given = options->volumes.values,
                                   .given_count = options->volumes.count,
                                   .manifest_folder = manifest_folder,
                                   .state_folder = tree_text(record, "state", "")};
    AUTO(tree_freep) json_t *folders = json_object();
    for (size_t i = 0; i < json_array_size(volumes); i++) {
        struct error ignored = {0};
        AUTO(text_freep) char *folder = NULL;
        const json_t *volume = json_array_get(volumes, i);
        if (volume_find(&places, volume, &folder, &ignored) < 0) {
            return false;
        }
        json_object_set_new(folders, tree_text(volume, "name", ""), json_string(folder));
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

bool run_resume_is_done(const json_t *object, const char *file, const struct run_options *options,
                        const json_t *earlier) {
    AUTO(run_list_release) struct run_list list = {0};
    struct error ignored = {0};
    const json_t *spec = tree_get(object, "spec");
    if (tree_mentions(spec, "://") || run_list_read(&list, &ignored) < 0) {
        return false;
    }
    const struct run_item *item = run_list_find(&list, tree_text(object, "metadata.name", ""));
    if (!item || item->is_alive) {
        return false;
    }
    const json_t *record = item->record, *folders = json_object_get(record, "folders");
    begun_ms = clock_parse(tree_text(record, "startTime", ""));
    return begun_ms > 0 && has_succeeded(record) && is_of(record, object, earlier) &&
           is_same_file(file, record) && has_same_folders(object, file, options, record) &&
           has_outputs(object, json_object_get(record, "job"), folders) &&
           !is_changed(spec, folders);
}
