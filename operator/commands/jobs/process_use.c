// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/jobs/process_use.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STAT_MAX_BYTES = 1024, DEPTH_MAX = 64 };

struct process {
    pid_t pid, parent;
    int64_t ms, bytes;
};

struct processes {
    struct process *at;
    size_t count;
};

/* The name in parentheses may have blanks: the fields are counted from the last ")". */
static bool read_one(const char *pid, struct process *ret_process) {
    char path[64], text[STAT_MAX_BYTES + 1];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *from = fopen(path, "re");
    size_t size = from ? fread(text, 1, STAT_MAX_BYTES, from) : 0;
    if (from) {
        fclose(from);
    }
    text[size] = 0;
    const char *at = strrchr(text, ')');
    long long parent, user, system, pages;
    if (!at || sscanf(at + 1,
                      " %*c %lld %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %*d %*d %*d %*d %*d "
                      "%*d %*u %*u %lld",
                      &parent, &user, &system, &pages) != 4) {
        return false;
    }
    *ret_process = (struct process){.pid = (pid_t)strtol(pid, NULL, 10),
                                    .parent = (pid_t)parent,
                                    .ms = (user + system) * 1000 / sysconf(_SC_CLK_TCK),
                                    .bytes = pages * sysconf(_SC_PAGESIZE)};
    return true;
}

static int read_all(struct processes *processes, struct error *err) {
    DIR *entries = opendir("/proc");
    if (!entries) {
        return error_from_errno(err, errno, "/proc");
    }
    for (struct dirent *entry; (entry = readdir(entries));) {
        struct process process;
        if (strspn(entry->d_name, "0123456789") == strlen(entry->d_name) &&
            read_one(entry->d_name, &process)) {
            processes->at = x_realloc_array(processes->at, processes->count + 1, sizeof process);
            processes->at[processes->count++] = process;
        }
    }
    closedir(entries);
    return 0;
}

static const struct process *find(const struct processes *processes, pid_t pid) {
    for (size_t i = 0; i < processes->count; i++) {
        if (processes->at[i].pid == pid) {
            return &processes->at[i];
        }
    }
    return NULL;
}

/* The ancestor that is a child of the run, or the process itself; 0: it is not of the run. */
static pid_t root_of(const struct processes *processes, const struct process *process, pid_t run) {
    for (int depth = 0; process && depth < DEPTH_MAX; depth++) {
        if (process->parent == run) {
            return process->pid;
        }
        process = find(processes, process->parent);
    }
    return 0;
}

/* "POD" of STATE/pods/POD/work, the working folder; owned; NULL: it has another. */
static char *pod_of(pid_t pid, const char *state) {
    char path[64], folder[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
    ssize_t size = readlink(path, folder, sizeof folder - 1);
    AUTO(text_freep) char *start = x_printf("%s/pods/", state);
    folder[MAX(size, 0)] = 0;
    if (!text_starts(folder, start)) {
        return NULL;
    }
    const char *pod = folder + strlen(start);
    return x_strndup(pod, strcspn(pod, "/"));
}

static void add(json_t *use, const char *pod, const struct process *process) {
    json_t *sum = tree_ensure_object(use, pod);
    json_object_set_new(sum, "ms", json_integer(tree_integer(sum, "ms", 0) + process->ms));
    json_object_set_new(sum, "bytes", json_integer(tree_integer(sum, "bytes", 0) + process->bytes));
    json_object_set_new(sum, "count", json_integer(tree_integer(sum, "count", 0) + 1));
}

int process_use_read(pid_t run, const char *state, json_t **ret_use, struct error *err) {
    struct processes processes = {0};
    if (read_all(&processes, err) < 0) {
        return -1;
    }
    json_t *use = json_object();
    for (size_t i = 0; i < processes.count; i++) {
        pid_t root = root_of(&processes, &processes.at[i], run);
        AUTO(text_freep) char *pod = root ? pod_of(root, state) : NULL;
        if (pod) {
            add(use, pod, &processes.at[i]);
        }
    }
    free(processes.at);
    *ret_use = use;
    return 0;
}
