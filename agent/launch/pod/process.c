// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/pod/process.h"

#include "lib/child.h"
#include "lib/digest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { ENVIRONMENT_MAX = 4 << 20 };

struct pipes {
    int in[2], out[2], errors[2], why[2];
};

static void close_pipes(struct pipes *pipes) {
    int *fds = (int *)pipes;
    for (size_t i = 0; i < sizeof *pipes / sizeof *fds; i++) {
        fd_closep(&fds[i]);
    }
}

static int open_pipes(struct pipes *pipes, struct error *err) {
    *pipes = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    if (pipe2(pipes->in, O_CLOEXEC) < 0 || pipe2(pipes->out, O_CLOEXEC) < 0 ||
        pipe2(pipes->errors, O_CLOEXEC) < 0 || pipe2(pipes->why, O_CLOEXEC) < 0) {
        int why = errno;
        close_pipes(pipes);
        return error_from_errno(err, why, "cannot make a pipe");
    }
    int ours[] = {pipes->in[1], pipes->out[0], pipes->errors[0]};
    for (size_t i = 0; i < ARRAY_LEN(ours);
         i++) { /* the program's ends are blocking, as programs expect */
        fcntl(ours[i], F_SETFL, O_NONBLOCK);
    }
    return 0;
}

/* Runs in the child, up to exec; errors are reported through the pipe. If this process had closed
 * 0, 1 or 2, pipes may have these numbers, so they are moved first. */
static _Noreturn void become(const char *const *words, char **variables, struct pipes *pipes,
                             pid_t parent) {
    child_begin();
    int in = fcntl(pipes->in[0], F_DUPFD, 3), out = fcntl(pipes->out[1], F_DUPFD, 3);
    int errors = fcntl(pipes->errors[1], F_DUPFD, 3), why = fcntl(pipes->why[1], F_DUPFD, 3);
    if (in >= 0 && out >= 0 && errors >= 0 && why >= 0 && dup2(in, 0) == 0 && dup2(out, 1) == 1 &&
        dup2(errors, 2) == 2 && close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC) == 0 &&
        child_dies_with(parent)) {
        environ = variables; /* execvp looks for PATH in it */
        execvp(words[0], (char *const *)words);
    }
    child_fail(why >= 0 ? why : pipes->why[1]);
}

static char **with_mark(char **variables, const char *mark) {
    size_t count = 0;
    while (variables[count]) {
        count++;
    }
    char **marked = x_calloc(count + 2, sizeof *marked); /* the strings are borrowed */
    memcpy(marked, variables, count * sizeof *marked);
    marked[count] = (char *)mark;
    return marked;
}

int process_start(const char *const *words, char **variables, struct process *ret_process,
                  struct error *err) {
    struct process process = {.fd = -1};
    struct pipes pipes;
    if (open_pipes(&pipes, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *nonce = digest_random(16);
    snprintf(process.mark, sizeof process.mark, "WINDLASS_LIFE=%s", nonce);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    char **marked = with_mark(variables, process.mark);
    pid_t parent = getpid();
    process.pid = fork();
    if (process.pid == 0) {
        become(words, marked, &pipes, parent);
    }
    int why = errno;
    free(marked);
    if (process.pid < 0) {
        close_pipes(&pipes);
        return error_from_errno(err, why, "cannot start a process");
    }
    setpgid(process.pid,
            process.pid); /* parent and child both do it, so it is done whichever runs first */
    fd_closep(&pipes.why[1]);
    ssize_t got;
    do {
        got = read(pipes.why[0], &why, sizeof why);
    } while (got < 0 && errno == EINTR);
    process.fd = got == 0 ? pidfd_open(process.pid, 0) : -1;
    if (process.fd < 0) {
        why = got == 0 ? errno : why;
        kill(process.pid, SIGKILL);
        waitpid(process.pid, NULL, 0);
        close_pipes(&pipes);
        bool is_theirs = why == ENOENT || why == EACCES || why == ENOEXEC || why == ENOTDIR;
        return is_theirs
                   ? error_set(err, ERROR_INVALID, "cannot run %s: %s", words[0], strerror(why))
                   : error_from_errno(err, why, "cannot run %s", words[0]);
    }
    process.in = pipes.in[1];
    process.out = pipes.out[0];
    process.errors = pipes.errors[0];
    pipes.in[1] = pipes.out[0] = pipes.errors[0] = -1;
    close_pipes(&pipes);
    *ret_process = process;
    return 0;
}

int process_end(struct process *process) {
    int status = 0;
    if (process->pid <= 0) {
        return 0;
    }
    kill(-process->pid, SIGKILL);
    while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR) {
    }
    while (waitpid(-process->pid, NULL, WNOHANG) > 0) { /* processes of its group that we have
                                                           adopted */
    }
    process->pid = 0;
    fd_closep(&process->fd);
    return status;
}

static bool has_mark(pid_t pid, const char *mark) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t room = 0;
    bool found = false;
    size_t total = 0;
    for (ssize_t size = 0; file && !found && total < ENVIRONMENT_MAX; total += (size_t)size) {
        size = getdelim(&text, &room, 0, file);
        if (size < 0) {
            break;
        }
        found = strcmp(text, mark) == 0;
    }
    free(text);
    if (file) {
        fclose(file);
    }
    return found;
}

/* Kills every process with the mark, including those that left the group (setsid, daemons) and have
 * another parent now. The pidfd is opened first, so that no other process gets the signal. */
static int kill_marked(const char *mark) {
    DIR *folder = opendir("/proc");
    int killed = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        AUTO(fd_closep) int fd = pid > 1 && pid != getpid() ? pidfd_open(pid, 0) : -1;
        if (fd >= 0 && has_mark(pid, mark) && pidfd_send_signal(fd, SIGKILL, NULL, 0) == 0) {
            killed++;
            siginfo_t info;
            waitid(P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG); /* reaps it if it is our child
                                                                    already */
        }
    }
    if (folder) {
        closedir(folder);
    }
    return killed;
}

void process_kill(struct process *process) {
    pid_t group = process->pid;
    process_end(process);
    if (process->mark[0]) {
        /* A child forked during one pass is found by the next. */
        for (int look = 0; look < 100 && kill_marked(process->mark) > 0; look++) {
            nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        }
        while (group > 0 && waitpid(-group, NULL, WNOHANG) > 0) {
        }
        process->mark[0] = 0;
        fd_closep(&process->in);
        fd_closep(&process->out);
        fd_closep(&process->errors);
    }
}

const char *process_stat(pid_t pid, char text[static PROCESS_STAT_MAX]) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    size_t size = file ? fread(text, 1, PROCESS_STAT_MAX - 1, file) : 0;
    if (file) {
        fclose(file);
    }
    text[size] = 0;
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] == ' ' ? name_end + 2 : NULL;
}

static char state_of(pid_t pid) {
    char text[PROCESS_STAT_MAX];
    const char *fields = process_stat(pid, text);
    return fields ? *fields : 0;
}

pid_t process_find_suspended(const struct process *process) {
    DIR *folder = opendir("/proc");
    pid_t found = 0;
    for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        bool is_halted = pid > 1 && state_of(pid) == 'T';
        found = is_halted && has_mark(pid, process->mark) ? pid : 0;
    }
    if (folder) {
        closedir(folder);
    }
    return found;
}
