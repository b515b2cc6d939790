// SPDX-License-Identifier: Apache-2.0
#include "operator/local/orphans.h"

#include "lib/base.h"
#include "lib/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOKS_MAX = 100, LOOK_MS = 10, STAT_MAX = 512 };

void orphans_adopt(void) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* /proc/PID/stat: "PID (any bytes) STATE PARENT ...". 0 when the process is gone. */
static pid_t parent_of(const char *pid) {
    char path[64], text[STAT_MAX + 1];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    AUTO(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, STAT_MAX);
    text[MAX(got, 0)] = 0;
    const char *name_end = strrchr(text, ')');
    int parent = 0;
    return name_end && sscanf(name_end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

static bool is_pod(const pid_t *pods, size_t count, pid_t pid) {
    for (size_t i = 0; i < count; i++) {
        if (pods[i] == pid) {
            return true;
        }
    }
    return false;
}

/* Returns how many were killed: their children become ours next. */
static int kill_once(const pid_t *pods, size_t count) {
    DIR *entries = opendir("/proc");
    int found = 0;
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && parent_of(entry->d_name) == getpid() && !is_pod(pods, count, pid)) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, WNOHANG);
            found++;
        }
    }
    if (entries) {
        closedir(entries);
    }
    return found;
}

void orphans_end(const pid_t *pods, size_t count) {
    for (int look = 0; look < LOOKS_MAX && kill_once(pods, count) > 0; look++) {
        poll(NULL, 0, LOOK_MS);
    }
}
