// SPDX-License-Identifier: Apache-2.0
#include "operator/local/probe_exec.h"

#include "lib/child.h"
#include "lib/text/text_list.h"
#include "operator/local/pod.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 64, NOT_FOUND = 127 /* as of a shell */ };

struct probe_exec {
    char *program, *folder;
    char **words, **variables; /* end with NULL */
    pid_t pid;                 /* 0: it does not run */
};

/* A probe needs no Secret, and any program of this user can read its environment. */
static bool is_secret(const json_t *pod, const char *variable) {
    AUTO(text_freep) char *name = x_strndup(variable, strcspn(variable, "="));
    const json_t *found = tree_find(tree_get(pod, "spec.containers[0].env"), "name", name);
    return tree_get(found, "valueFrom.secretKeyRef") != NULL;
}

static char **copy_variables(const json_t *pod, char *const *from) {
    size_t count = 0, kept = 0;
    while (from && from[count]) {
        count++;
    }
    char **copy = x_calloc(count + 1, sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        if (!is_secret(pod, from[i])) {
            copy[kept++] = x_strdup(from[i]);
        }
    }
    return copy;
}

struct probe_exec *probe_exec_new(const json_t *pod, const json_t *command,
                                  const struct probe_place *place) {
    size_t count = json_array_size(command);
    const char *first = json_string_value(json_array_get(command, 0));
    if (!first || count > WORDS_MAX || !place) {
        return NULL;
    }
    struct probe_exec *exec = x_calloc(1, sizeof *exec);
    exec->program = local_pod_program(place->program_folder, first);
    exec->folder = x_strdup(place->folder ? place->folder : "/");
    exec->variables = copy_variables(pod, place->variables);
    exec->words = x_calloc(count + 1, sizeof *exec->words);
    for (size_t i = 0; i < count; i++) {
        const char *word = json_string_value(json_array_get(command, i));
        exec->words[i] = x_strdup(word ? word : "");
    }
    return exec;
}

void probe_exec_free(struct probe_exec *exec) {
    if (exec) {
        probe_exec_kill(exec);
        text_list_free(exec->words);
        text_list_free(exec->variables);
        free(exec->program);
        free(exec->folder);
        free(exec);
    }
}

static _Noreturn void become(const struct probe_exec *exec, pid_t parent) {
    child_begin();
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (dup2(null, 0) == 0 && dup2(null, 1) == 1 && dup2(null, 2) == 2 &&
        close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC) == 0 && chdir(exec->folder) == 0 &&
        child_dies_with(parent)) {
        execvpe(exec->program, exec->words, exec->variables);
    }
    _exit(NOT_FOUND);
}

int probe_exec_start(struct probe_exec *exec, struct error *err) {
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        become(exec, parent);
    }
    if (pid < 0) {
        return error_from_errno(err, errno, "cannot start a process");
    }
    setpgid(pid, pid); /* both processes call it, so that it is done whichever runs first */
    exec->pid = pid;
    return 0;
}

bool probe_exec_runs(const struct probe_exec *exec) {
    return exec && exec->pid > 0;
}

int probe_exec_look(struct probe_exec *exec, struct error *why) {
    int status = 0;
    pid_t ended = waitpid(exec->pid, &status, WNOHANG);
    if (ended == 0) {
        return 0;
    }
    kill(-exec->pid, SIGKILL); /* what it has left behind */
    exec->pid = 0;
    if (ended < 0) {
        return error_set(why, ERROR_FAILED, "the process of its command is missing");
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return 1;
    }
    return WIFEXITED(status) ? error_set(why, ERROR_FAILED, "%s ended with %d", exec->words[0],
                                         WEXITSTATUS(status))
                             : error_set(why, ERROR_FAILED, "%s was ended by signal %d",
                                         exec->words[0], WTERMSIG(status));
}

void probe_exec_kill(struct probe_exec *exec) {
    if (exec->pid > 0) {
        kill(-exec->pid, SIGKILL);
        waitpid(exec->pid, NULL, 0); /* it is killed: this does not last */
        exec->pid = 0;
    }
}

pid_t probe_exec_pid(const struct probe_exec *exec) {
    return exec ? exec->pid : 0;
}
