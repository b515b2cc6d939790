// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/ui/ui_local_files.h"

#include "lib/file.h"
#include "operator/commands/local_logs.h"
#include "operator/commands/ui/ui_log_lines.h"
#include "operator/commands/ui/ui_text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE_MAX = 64 << 20, FAILURES_BYTES = 256 << 10, FAILURES_MAX = 100 };

/* The folder on this machine of "VOLUME/path/summary.json", which is beside the report; owned.
 * NULL: the run has not written it, or its volume has no folder here. */
static char *report_folder(const struct run_item *item, const json_t *status) {
    const char *summary = tree_text(status, "summary", "");
    const char *rest = strchr(summary, '/'), *last = strrchr(summary, '/');
    AUTO(text_freep) char *volume = x_strndup(summary, rest ? (size_t)(rest - summary) : 0);
    const json_t *folders = json_object_get(item->record, "folders");
    const char *folder = json_string_value(json_object_get(folders, volume));
    return rest && folder ? x_printf("%s%.*s", folder, (int)(last - rest), rest) : NULL;
}

static char *in_report_folder(const struct run_item *item, const json_t *status, const char *name) {
    AUTO(text_freep) char *folder = report_folder(item, status);
    return folder ? file_join(folder, name) : NULL;
}

static void add_page(json_t *files, const char *label, const char *page, const char *path) {
    if (path && access(path, R_OK) == 0) {
        json_array_append_new(files, json_pack("{s:s, s:s}", "label", label, "page", page));
    }
}

static void add_path(json_t *files, const char *label, const char *path) {
    if (path) {
        json_array_append_new(
            files, json_pack("{s:s, s:o}", "label", label, "path", ui_text(path, UI_TEXT_MESSAGE)));
    }
}

json_t *ui_local_files(const struct run_item *item, const json_t *status) {
    AUTO(text_freep) char *report = in_report_folder(item, status, "report.html");
    const char *made = tree_text(item->record, "page", NULL);
    json_t *files = json_array();
    add_page(files, "report", "report", report);
    add_page(files, made ? file_basename(made) : "", "children", made);
    add_path(files, "manifest", tree_text(item->record, "file", NULL));
    add_path(files, "logs", tree_text(item->record, "state", NULL));
    return files;
}

/* The beginning of a regular file, up to its last whole line; owned; NULL: it cannot be read. */
static char *read_lines(const char *path, size_t bytes_max) {
    AUTO(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    AUTO(text_freep) char *text = x_calloc(bytes_max + 1, 1);
    ssize_t size = fd < 0 ? -1 : pread(fd, text, bytes_max, 0);
    char *end = size > 0 ? memrchr(text, '\n', (size_t)size) : NULL;
    if (!end) {
        return NULL;
    }
    *end = 0;
    return TAKE(text);
}

json_t *ui_local_failures(const struct run_item *item, const json_t *status) {
    AUTO(text_freep) char *path = in_report_folder(item, status, "failed.jsonl");
    AUTO(text_freep) char *text = path ? read_lines(path, FAILURES_BYTES) : NULL;
    json_t *list = text ? json_array() : NULL;
    for (char *at = text, *line; at && json_array_size(list) < FAILURES_MAX;) {
        AUTO(tree_freep) json_t *tree = NULL;
        struct error ignored = {0};
        line = strsep(&at, "\n");
        if (tree_parse(line, strlen(line), FAILURES_BYTES, &tree, &ignored) == 0) {
            json_array_append_new(list, json_pack("{s:o, s:o, s:I}", "item",
                                                  ui_text_at(tree, "item", UI_TEXT_LINE), "cause",
                                                  ui_text_at(tree, "cause", UI_TEXT_LINE), "tries",
                                                  (json_int_t)tree_integer(tree, "tries", 0)));
        }
    }
    return list;
}

/* ---- logs ---- */

static void add_log(void *context, const char *pod, const char *path) {
    json_t *list = context;
    AUTO(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    off_t from = MAX(end - UI_LOG_BYTES_MAX, 0);
    AUTO(text_freep) char *text = x_calloc(UI_LOG_BYTES_MAX, 1);
    ssize_t size = end < 0 ? -1 : pread(fd, text, UI_LOG_BYTES_MAX, from);
    if (size >= 0 && json_array_size(list) < UI_LOG_PODS_MAX) {
        json_array_append_new(list, ui_log_lines(pod, text, (size_t)size, /* is_cut= */ from > 0));
    }
}

int ui_local_logs(const struct run_item *item, json_t **ret_logs, struct error *err) {
    const struct local_logs_choice choice = {
        .name = tree_text(item->record, "name", ""), .worker = -1, .tail = -1};
    json_t *list = json_array();
    struct error none = {0};
    if (local_logs_find(tree_text(item->record, "state", ""), &choice, add_log, list, &none) < 0 &&
        none.kind != ERROR_INVALID) { /* INVALID: no pod has a log yet */
        json_decref(list);
        *err = none;
        return -1;
    }
    *ret_logs = list;
    return 0;
}

/* ---- pages ---- */

int ui_local_page(const struct run_item *item, enum ui_page which, char **ret_html,
                  struct error *err) {
    AUTO(tree_freep) json_t *job = run_list_job(item);
    const json_t *status = json_object_get(job, "status");
    AUTO(text_freep)
    char *path = which == UI_PAGE_REPORT ? in_report_folder(item, status, "report.html")
                                         : x_strdup(tree_text(item->record, "page", NULL));
    size_t size = 0;
    if (!path) {
        return error_set(err, ERROR_NOT_FOUND, "the run has left no such page");
    }
    return file_read(path, PAGE_MAX, ret_html, &size, err);
}
