// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/run/run_record.h"

#include "lib/file.h"
#include "lib/time/clock.h"
#include "operator/local/runs/run_entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct run_record {
    json_t *about;
    struct run_entry *entry; /* NULL: not started, or the folder cannot be written to */
};

static void set_now(json_t *to, const char *member) {
    char now[21];
    clock_format(clock_wall_ms(), now);
    json_object_set_new(to, member, json_string(now));
}

/* With its links: what is beside the link belongs to the manifest, and not what is beside its
 * target. */
char *run_record_path(const char *file) {
    struct stat status;
    bool is_of_process = text_starts(file, "/dev/") || text_starts(file, "/proc/");
    if (stat(file, &status) < 0 || !S_ISREG(status.st_mode)) {
        return NULL;
    }
    if (is_of_process) { /* /dev/stdin is another file in another process */
        return realpath(file, NULL);
    }
    AUTO(text_freep) char *folder = getcwd(NULL, 0);
    return *file == '/' ? x_strdup(file) : folder ? file_join(folder, file) : NULL;
}

struct run_record *run_record_new(const json_t *object, const char *file) {
    struct run_record *record = x_calloc(1, sizeof *record);
    AUTO(text_freep) char *path = run_record_path(file);
    AUTO(tree_freep) json_t *copy = json_deep_copy((json_t *)object);
    record->about =
        json_pack("{s:s, s:O}", "name", tree_text(object, "metadata.name", ""), "manifest", copy);
    if (path) {
        json_object_set_new(record->about, "file", json_string(path));
    }
    return record;
}

void run_record_start(struct run_record *record, const struct run_record_facts *facts) {
    char host[256] = "";
    AUTO(text_freep) char *folder = getcwd(NULL, 0);
    struct error err = {0};
    gethostname(host, sizeof host - 1);
    AUTO(tree_freep)
    json_t *more = json_pack("{s:s, s:s, s:b, s:O, s:O, s:s?, s:O*}", "host", host, "state",
                             facts->state_folder, "ownsState", facts->owns_state, "arguments",
                             facts->arguments, "folders", facts->folders, "folder", folder,
                             "earlier", facts->earlier);
    json_object_update(record->about, more);
    set_now(record->about, "startTime");
    json_object_set_new(record->about, RUN_RECORD_START, json_integer(clock_wall_ms()));
    if (run_entry_open(record->about, &record->entry, &err) < 0) {
        fprintf(stderr, "windlass: this run cannot be found by its name: %s\n", err.text);
    }
}

/* Of a pod what commands show; its variables may be long. */
static json_t *brief(const json_t *pods) {
    json_t *all = json_array();
    for (size_t i = 0; i < json_array_size(pods); i++) {
        const json_t *pod = json_array_get(pods, i);
        json_array_append_new(all, json_pack("{s:O?, s:O?}", "metadata",
                                             json_object_get(pod, "metadata"), "status",
                                             json_object_get(pod, "status")));
    }
    return all;
}

void run_record_update(struct run_record *record, const json_t *job, const json_t *pods) {
    if (!record || !record->entry || !job) {
        return;
    }
    AUTO(tree_freep) json_t *few = brief(pods);
    run_entry_set(record->entry, "job", job);
    run_entry_set(record->entry, "pods", few);
    run_entry_write(record->entry, /* is_last= */ false);
}

void run_record_set(struct run_record *record, const char *member, const char *text) {
    AUTO(tree_freep) json_t *value = text ? json_string(text) : NULL;
    run_record_set_tree(record, member, value);
}

void run_record_set_tree(struct run_record *record, const char *member, const json_t *tree) {
    if (record && record->entry && tree) {
        run_entry_set(record->entry, member, tree);
    }
}

void run_record_end(struct run_record *record, int exit_code, const char *message) {
    if (!record || !record->entry) {
        return;
    }
    AUTO(tree_freep) json_t *end = json_object();
    AUTO(tree_freep) json_t *code = json_integer(exit_code);
    set_now(end, "endTime");
    run_entry_set(record->entry, "endTime", json_object_get(end, "endTime"));
    run_entry_set(record->entry, "exitCode", code);
    if (message) {
        run_record_set(record, "outcome", exit_code == 130 ? "Interrupted" : "Failed");
        run_record_set(record, "message", message);
    }
    run_entry_write(record->entry, /* is_last= */ true);
}

void run_record_free(struct run_record *record) {
    if (record) {
        run_entry_free(record->entry);
        json_decref(record->about);
        free(record);
    }
}
