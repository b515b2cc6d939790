// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/run/run_resume.h"

#include "lib/file.h"
#include "lib/time/clock.h"
#include "operator/kinds/job/after/after.h"
#include "operator/local/runs/run_list.h"
#include "operator/object.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DESCRIPTORS = 16, SECOND_MS = 1000 };

/* What is read is older than this, on the wall clock. nftw has no context. */
static int64_t begun_ms;

static int is_newer(const char *path UNUSED, const struct stat *status, int type UNUSED,
                    struct FTW *place UNUSED) {
    int64_t changed_ms =
        (int64_t)status->st_mtim.tv_sec * SECOND_MS + status->st_mtim.tv_nsec / 1000000;
    /* the record has whole seconds */
    return changed_ms >= begun_ms + SECOND_MS;
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
        return path && access(path, F_OK) == 0 && nftw(path, is_newer, DESCRIPTORS, FTW_PHYS) != 0;
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

static bool has_output(const json_t *object, const json_t *folders) {
    const char *output = after_output(object);
    AUTO(text_freep) char *path = output ? path_of(output, folders) : NULL;
    return !path || access(path, F_OK) == 0;
}

bool run_resume_is_done(const json_t *object) {
    AUTO(run_list_release) struct run_list list = {0};
    struct error ignored = {0};
    if (run_list_read(&list, &ignored) < 0) {
        return false;
    }
    const struct run_item *item = run_list_find(&list, tree_text(object, "metadata.name", ""));
    if (!item || item->is_alive) {
        return false;
    }
    const json_t *record = item->record, *folders = json_object_get(record, "folders");
    const json_t *job = json_object_get(record, "job");
    const json_t *ended = object_succeeded(json_object_get(job, "status"));
    begun_ms = clock_parse(tree_text(record, "startTime", ""));
    return strcmp(tree_text(ended, "status", ""), "True") == 0 && begun_ms > 0 &&
           tree_integer(record, "exitCode", -1) == 0 &&
           strcmp(tree_text(job, "kind", ""), tree_text(object, "kind", "")) == 0 &&
           json_equal(tree_get(record, "manifest.spec"), tree_get(object, "spec")) &&
           has_output(object, folders) && !is_changed(json_object_get(object, "spec"), folders);
}
