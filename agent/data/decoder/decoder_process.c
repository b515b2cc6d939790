// SPDX-License-Identifier: Apache-2.0
#include "agent/data/decoder/decoder_process.h"

#include "agent/data/decoder/decoder_message.h"
#include "lib/cgroup.h"
#include "lib/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_NS = 2000000, LOOKS = 2500 };

/* What a decoder may know: where its libraries are, and how many threads to use. */
static const char *const passed[] = {"LD_LIBRARY_PATH", "WINDLASS_THREADS"};

int decoder_process_window(struct decoder_process *process, struct error *err) {
    if (process->window) {
        return 0;
    }
    AUTO(fd_closep) int fd = memfd_create("windlass-decoder", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, DECODER_WINDOW_BYTES) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        return error_from_errno(err, errno, "no memory to share with a decoder");
    }
    void *window =
        mmap(NULL, DECODER_WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (window == MAP_FAILED) {
        return error_from_errno(err, errno, "no memory to share with a decoder");
    }
    process->window = window;
    process->window_fd = fd;
    fd = -1;
    return 0;
}

/* In the child. Descriptors above are moved first, since they may be 3 or 4 themselves. */
_Noreturn static void become(const char *program, char *const *words, char *const *variables,
                             int socket, int window, pid_t parent) {
    child_begin();
    int high_socket = fcntl(socket, F_DUPFD, 10), high_window = fcntl(window, F_DUPFD, 10);
    int nothing = open("/dev/null", O_RDWR);
    if (high_socket >= 0 && high_window >= 0 && nothing >= 0 && dup2(nothing, 0) == 0 &&
        dup2(nothing, 1) == 1 && dup2(nothing, 2) == 2 &&
        dup2(high_socket, DECODER_SOCKET_FD) == DECODER_SOCKET_FD &&
        dup2(high_window, DECODER_WINDOW_FD) == DECODER_WINDOW_FD &&
        close_range(DECODER_WINDOW_FD + 1, UINT_MAX, 0) == 0 && child_dies_with(parent)) {
        execve(program, words, variables);
    }
    _exit(127);
}

/* vfork, not fork: copy-on-write breaks memory that MPI has registered with a network card
 * (ibv_fork_init(3)), and a large process's page tables take long to copy. The child has this
 * process's memory, so no signal handler may run in it before become() has reset them all. */
static pid_t start(const char *program, char *const *words, char *const *variables, int socket,
                   int window) {
    sigset_t all, before;
    pid_t parent = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = vfork();
    if (pid == 0) {
        become(program, words, variables, socket, window, parent);
    }
    int why = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return pid;
}

int decoder_process_start(struct decoder_process *process, const char *program, const char *use,
                          struct error *err) {
    static char name[] = "windlass-decoder", command[] = "decoder";
    AUTO(fd_closep) int ours = -1;
    AUTO(fd_closep) int theirs = -1;
    int pair[2];
    char *const words[] = {name, command, (char *)(uintptr_t)use, NULL};
    char *variables[ARRAY_LEN(passed) + 1] = {NULL};
    if (decoder_process_window(process, err) < 0) {
        return -1;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        return error_from_errno(err, errno, "no socket for a decoder");
    }
    ours = pair[0];
    theirs = pair[1];
    for (size_t i = 0, count = 0; i < ARRAY_LEN(passed); i++) {
        const char *value = getenv(passed[i]);
        variables[count] = value ? x_printf("%s=%s", passed[i], value) : NULL;
        count += value != NULL;
    }
    process->kills_before = cgroup_memory_kills(NULL);
    pid_t pid = start(program, words, variables, theirs, process->window_fd);
    int why = errno;
    for (size_t i = 0; i < ARRAY_LEN(passed); i++) {
        free(variables[i]);
    }
    if (pid < 0) {
        return error_from_errno(err, why, "cannot start a decoder");
    }
    process->pid = pid;
    process->spent_at_s = 0;
    process->socket = ours;
    ours = -1;
    return 0;
}

static char *describe(int status) {
    if (WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        return x_printf("by SIG%s%s", name ? name : "?",
                        WTERMSIG(status) == SIGSYS ? " (a system call that no decoder makes)"
                        : WTERMSIG(status) == SIGXCPU
                            ? " (more processor time than any file should need)"
                            : "");
    }
    return x_printf("with exit code %d", WEXITSTATUS(status));
}

void decoder_process_stop(struct decoder_process *process, char **ret_how) {
    int status = 0;
    pid_t ended = 0;
    process->ended_by = 0;
    if (process->pid > 0) {
        /* One that has closed its socket is ending: what it ended by is worth 5 s, of which a busy
         * machine may need some. */
        for (int look = 0; ret_how && look < LOOKS && ended == 0; look++) {
            ended = waitpid(process->pid, &status, WNOHANG);
            if (ended == 0) {
                nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
            }
        }
        if (ended > 0 && WIFSIGNALED(status)) {
            process->ended_by = WTERMSIG(status);
        }
        if (ended == 0) {
            kill(process->pid, SIGKILL);
            do {
                ended = waitpid(process->pid, &status, 0);
            } while (ended < 0 && errno == EINTR);
        }
    }
    if (ret_how) {
        *ret_how = ended > 0 ? describe(status) : x_strdup("without a trace");
    }
    process->pid = 0;
    fd_closep(&process->socket);
}

void decoder_process_release(struct decoder_process *process) {
    decoder_process_stop(process, NULL);
    if (process->window) {
        munmap(process->window, DECODER_WINDOW_BYTES);
        process->window = NULL;
        fd_closep(&process->window_fd);
    }
}

/* Processor time that the process has used; -1: it has none, or has ended. */
static int64_t used_s(const struct decoder_process *process) {
    clockid_t clock;
    struct timespec used;
    return process->pid > 0 && clock_getcpuclockid(process->pid, &clock) == 0 &&
                   clock_gettime(clock, &used) == 0
               ? used.tv_sec
               : -1;
}

void decoder_process_limit(struct decoder_process *process, int seconds) {
    struct rlimit limit;
    int64_t used = used_s(process);
    if (used >= 0 && prlimit(process->pid, RLIMIT_CPU, NULL, &limit) == 0) {
        limit.rlim_cur = (rlim_t)used + 1 + (rlim_t)seconds;
        (void)prlimit(process->pid, RLIMIT_CPU, &limit, NULL);
    }
    process->spent_at_s = used >= 0 ? used + 2 + seconds : 0; /* the kernel's limit comes first */
}

bool decoder_process_is_spent(const struct decoder_process *process) {
    return process->spent_at_s && used_s(process) >= process->spent_at_s;
}

void decoder_process_forget(struct decoder_process *process, size_t at, size_t size) {
    (void)madvise(process->window + at, size, MADV_REMOVE);
}
