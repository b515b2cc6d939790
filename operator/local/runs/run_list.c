// SPDX-License-Identifier: Apache-2.0
#include "operator/local/runs/run_list.h"

#include "lib/file.h"
#include "lib/time/clock.h"
#include "operator/local/runs/run_entry.h"
#include "operator/object.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RECORD_MAX_BYTES = 16 << 20, ENDED_KEPT = 500, LOOK_MS = 50 };

static void release_item(struct run_item *item) {
    free(item->id);
    free(item->path);
    json_decref(item->record);
}

void run_list_release(struct run_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        release_item(&list->at[i]);
    }
    free(list->at);
    *list = (struct run_list){0};
}

/* Who holds the lock: -1: no one; 0: unknown. Opening and closing it would drop a lock of this
 * process, which has none: only `windlass run` has one, and it never reads the list meanwhile. */
static pid_t holder_of(const char *path) {
    AUTO(text_freep) char *file = x_printf("%s.lock", path);
    AUTO(fd_closep) int fd = open(file, O_RDONLY | O_CLOEXEC);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fd < 0 || fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK) {
        return -1;
    }
    return MAX(lock.l_pid, 0);
}

static bool is_of_this_machine(const json_t *record) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    return strcmp(tree_text(record, "host", ""), host) == 0;
}

static bool read_item(const char *folder, const char *file, struct run_item *ret_item) {
    struct error ignored = {0};
    AUTO(text_freep) char *whole = file_join(folder, file);
    AUTO(text_freep) char *text = NULL;
    size_t size = 0;
    AUTO(tree_freep) json_t *record = NULL;
    if (!text_ends(file, ".json") ||
        file_read(whole, RECORD_MAX_BYTES, &text, &size, &ignored) < 0 ||
        tree_parse(text, size, RECORD_MAX_BYTES, &record, &ignored) < 0 ||
        !json_is_object(record)) {
        return false;
    }
    char *path = x_strndup(whole, strlen(whole) - strlen(".json"));
    pid_t holder = holder_of(path);
    bool is_here = is_of_this_machine(record);
    *ret_item = (struct run_item){.id = x_strdup(file_basename(path)),
                                  .path = path,
                                  .is_alive = holder >= 0,
                                  .pid = holder > 0 && is_here ? holder : 0,
                                  .record = TAKE(record)};
    return true;
}

static void remove_files(const char *path) {
    static const char *const endings[] = {"json", "next", "lock", "again"};
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        AUTO(text_freep) char *file = x_printf("%s.%s", path, endings[i]);
        unlink(file);
    }
}

/* Newest first; the ID ends with the time and, in the same second, a number. */
static int in_order(const void *one, const void *other) {
    const struct run_item *a = one, *b = other;
    int by_time =
        strcmp(tree_text(b->record, "startTime", ""), tree_text(a->record, "startTime", ""));
    size_t a_length = strlen(a->id), b_length = strlen(b->id);
    return by_time                ? by_time
           : a_length != b_length ? (a_length < b_length) - (a_length > b_length)
                                  : strcmp(b->id, a->id);
}

/* Deleted by somebody: not only out of sight (another machine's, a folder that may not be read). */
bool run_list_has_lost_logs(const struct run_item *item) {
    return is_of_this_machine(item->record) &&
           access(tree_text(item->record, "state", ""), F_OK) < 0 && errno == ENOENT;
}

static void prune(struct run_list *list) {
    size_t kept = 0, ended = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct run_item *item = &list->at[i];
        ended += !item->is_alive;
        if (!item->is_alive && (run_list_has_lost_logs(item) || ended > ENDED_KEPT)) {
            remove_files(item->path);
            release_item(item);
        } else {
            list->at[kept++] = *item;
        }
    }
    list->count = kept;
}

/* Without such a folder no run can be recorded. */
static bool has_none(int error) {
    return error == ENOENT || error == ENOTDIR || error == EACCES;
}

/* The folder of the records; *ret_entries is NULL where there is none. */
static int open_folder(char **ret_folder, DIR **ret_entries, struct error *err) {
    AUTO(text_freep) char *base = NULL;
    struct error ignored = {0};
    *ret_entries = NULL;
    if (run_entry_base(&base, &ignored) < 0) {
        return 0;
    }
    *ret_folder = file_join(base, "runs");
    *ret_entries = opendir(*ret_folder);
    return *ret_entries || has_none(errno) ? 0 : error_from_errno(err, errno, "%s", *ret_folder);
}

int run_list_read(struct run_list *ret_list, struct error *err) {
    AUTO(text_freep) char *folder = NULL;
    struct run_list list = {0};
    DIR *entries;
    if (open_folder(&folder, &entries, err) < 0) {
        return -1;
    }
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        struct run_item item;
        if (read_item(folder, entry->d_name, &item)) {
            list.at = x_realloc_array(list.at, list.count + 1, sizeof item);
            list.at[list.count++] = item;
        }
    }
    if (entries) {
        closedir(entries);
    }
    if (list.count > 1) {
        qsort(list.at, list.count, sizeof *list.at, in_order);
    }
    prune(&list);
    *ret_list = list;
    return 0;
}

static void visit(const char *folder, const char *file, const struct run_visitor *visitor) {
    AUTO(text_freep) char *whole = file_join(folder, file);
    struct stat status;
    if (!text_ends(file, ".json") || stat(whole, &status) < 0) {
        return;
    }
    AUTO(text_freep) char *path = x_strndup(whole, strlen(whole) - strlen(".json"));
    const struct run_stamp stamp = {.changed_ns = status.st_mtim.tv_sec * (int64_t)1000000000 +
                                                  status.st_mtim.tv_nsec,
                                    .bytes = status.st_size,
                                    .is_alive = holder_of(path) >= 0};
    struct run_item item;
    if (visitor->wants(visitor->context, file_basename(path), &stamp) &&
        read_item(folder, file, &item)) {
        visitor->takes(visitor->context, &item);
        release_item(&item);
    }
}

int run_list_visit(const struct run_visitor *visitor, struct error *err) {
    AUTO(text_freep) char *folder = NULL;
    DIR *entries;
    if (open_folder(&folder, &entries, err) < 0) {
        return -1;
    }
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        visit(folder, entry->d_name, visitor);
    }
    if (entries) {
        closedir(entries);
    }
    return 0;
}

const struct run_item *run_list_find(const struct run_list *list, const char *name) {
    for (size_t i = 0; i < list->count; i++) {
        const struct run_item *item = &list->at[i];
        if (strcmp(item->id, name) == 0 || strcmp(tree_text(item->record, "name", ""), name) == 0) {
            return item;
        }
    }
    return NULL;
}

static bool has_ended(const json_t *status) {
    const char *value = tree_text(object_succeeded(status), "status", "");
    return strcmp(value, "True") == 0 || strcmp(value, "False") == 0;
}

json_t *run_list_job(const struct run_item *item) {
    const json_t *seen = json_object_get(item->record, "job");
    const json_t *given = json_object_get(item->record, "manifest"); /* it has just begun */
    json_t *job = json_deep_copy(seen ? seen : given);
    json_t *status = job ? tree_ensure_object(job, "status") : NULL;
    if (!job || item->is_alive || has_ended(status)) {
        return job ? job : json_object();
    }
    const char *outcome = tree_text(item->record, "outcome", "Killed");
    AUTO(text_freep)
    char *text = x_printf("%s; windlass resume %s goes on",
                          tree_text(item->record, "message", "the run left no record of its end"),
                          tree_text(item->record, "name", ""));
    json_t *condition = json_pack("{s:s, s:s, s:s, s:s, s:s*}", "type", "Succeeded", "status",
                                  "False", "reason", outcome, "message", text, "lastTransitionTime",
                                  tree_text(item->record, "endTime", NULL));
    json_object_set_new(status, "conditions", json_pack("[o]", condition));
    return job;
}

int run_list_signal(const struct run_item *item, int signal, struct error *err) {
    if (item->is_alive && item->pid == 0) {
        return error_set(err, ERROR_UNSUPPORTED, "%s runs on %s or in a container, not here",
                         item->id, tree_text(item->record, "host", "another machine"));
    }
    AUTO(fd_closep) int process = item->is_alive ? (int)syscall(SYS_pidfd_open, item->pid, 0) : -1;
    /* The lock was still held when the process had been opened: the number was not given anew. */
    if (process < 0 || holder_of(item->path) != item->pid) {
        return error_set(err, ERROR_NOT_FOUND, "%s does not run any more", item->id);
    }
    return syscall(SYS_pidfd_send_signal, process, signal, NULL, 0) < 0
               ? error_from_errno(err, errno, "cannot signal %s", item->id)
               : 0;
}

int run_list_wait(const struct run_item *item, int64_t timeout_ms, struct error *err) {
    int64_t start_ms = clock_monotonic_ms();
    while (holder_of(item->path) >= 0) {
        if (timeout_ms >= 0 && clock_monotonic_ms() - start_ms >= timeout_ms) {
            return error_set(err, ERROR_TIMEOUT, "%s still runs after %lld s", item->id,
                             (long long)timeout_ms / 1000);
        }
        poll(NULL, 0, LOOK_MS);
    }
    return 0;
}

int run_list_set_outcome(const struct run_item *item, const char *outcome, struct error *err) {
    struct run_item now = {0};
    AUTO(text_freep) char *file = x_printf("%s.json", item->path);
    AUTO(text_freep) char *folder = x_strndup(file, (size_t)(file_basename(file) - file));
    if (!read_item(folder, file_basename(file), &now)) {
        return error_set(err, ERROR_NOT_FOUND, "%s: its record is gone", item->id);
    }
    json_object_set_new(now.record, "outcome", json_string(outcome));
    AUTO(text_freep) char *text = tree_compact(now.record);
    int result = now.is_alive ? error_set(err, ERROR_CONFLICT, "%s still runs", item->id)
                              : file_write(file, text, strlen(text), err);
    release_item(&now);
    return result;
}

int run_list_forget(const struct run_item *item, struct error *err) {
    const char *state = tree_text(item->record, "state", "");
    if (tree_bool(item->record, "ownsState", false) && *state == '/' &&
        file_remove_tree(state, err) < 0) {
        return -1;
    }
    remove_files(item->path);
    return 0;
}
