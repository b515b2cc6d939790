/* server.c: a library for LD_PRELOAD that runs a program for clients (client.c), each time as a
 * fork of the program as it is when its libraries are loaded and bound, before its main: of ffmpeg,
 * which has two hundred libraries, that takes a tenth of a second of a processor.
 *   LD_PRELOAD=server.so PROGRAM FOLDER NAME    it listens in FOLDER, and ends with its parent */
#define _GNU_SOURCE
#include "warm.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

typedef int main_function(int, char **, char **);
static main_function *real_main;
enum { RUNNING_MAX = 200 };
static struct running {
    int connection, end; /* a pidfd; -1: there is none */
    pid_t pid;
} running[RUNNING_MAX];
static char text[WARM_TEXT];

static int receive(int connection, struct warm_call *call, int *numbers) {
    struct iovec part = {call, sizeof *call};
    _Alignas(struct cmsghdr) char room[CMSG_SPACE((WARM_DESCRIPTORS + 1) * sizeof *numbers)];
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    if (recvmsg(connection, &message, MSG_WAITALL | MSG_CMSG_CLOEXEC) != sizeof *call) {
        return -1;
    }
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    size_t bytes = (size_t)(call->count + 1) * sizeof *numbers;
    if (!header || header->cmsg_len != CMSG_LEN(bytes) || bytes > sizeof room) {
        return -1;
    }
    memcpy(numbers, CMSG_DATA(header), bytes);
    ssize_t n = recv(connection, text, (size_t)call->bytes, MSG_WAITALL);
    return n == call->bytes ? 0 : -1;
}

static char **words(int32_t count, char **at) {
    char **list = calloc((size_t)count + 1, sizeof *list);
    for (int32_t i = 0; list && i < count; i++) {
        list[i] = *at;
        *at += strlen(*at) + 1;
    }
    return list;
}

/* In the child: as if the client had started it. */
static int run(struct warm_call *call, int *numbers) {
    int moved[WARM_DESCRIPTORS + 1];
    for (int i = 0; i <= call->count; i++) { /* above all numbers that they get */
        moved[i] = fcntl(numbers[i], F_DUPFD_CLOEXEC, 2000);
    }
    if (fchdir(moved[call->count]) != 0 || close_range(0, 1999, 0) != 0) {
        return 126;
    }
    for (int i = 0; i < call->count; i++) {
        if (dup2(moved[i], call->descriptors[i]) < 0) {
            return 126;
        }
    }
    close_range(2000, ~0U, 0);
    umask(call->mask);
    setpriority(PRIO_PROCESS, 0, call->nice);
    for (int i = 0; i < WARM_LIMITS; i++) {
        setrlimit((__rlimit_resource_t)i, &call->limits[i]);
    }
    char *at = text;
    char **arguments = words(call->arguments, &at);
    environ = words(call->variables, &at);
    return arguments && environ ? real_main(call->arguments, arguments, environ) : 126;
}

static void begin(int connection) {
    struct warm_call call;
    int numbers[WARM_DESCRIPTORS + 1], at = 0;
    while (at < RUNNING_MAX && running[at].end >= 0) {
        at++;
    }
    if (receive(connection, &call, numbers) != 0 || at == RUNNING_MAX) {
        close(connection);
        return;
    }
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        exit(getppid() == parent ? run(&call, numbers) : 126);
    }
    for (int i = 0; i <= call.count; i++) {
        close(numbers[i]);
    }
    running[at] = (struct running){connection, (int)syscall(SYS_pidfd_open, pid, 0), pid};
}

static void look(struct running *one, const struct pollfd *connection, const struct pollfd *end) {
    char number;
    if (end->revents) {
        int status = 0;
        waitpid(one->pid, &status, 0);
        send(one->connection, &status, sizeof status, MSG_NOSIGNAL);
        close(one->connection);
        close(one->end);
        one->end = -1;
    } else if (connection->revents) {
        kill(one->pid, recv(one->connection, &number, 1, 0) == 1 ? number : SIGKILL);
    }
}

static int serve(int count, char **arguments, char **environment) {
    (void)environment;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (count != 3 ||
        warm_address(address.sun_path, sizeof address.sun_path, arguments[1], arguments[2]) != 0 ||
        bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, RUNNING_MAX) != 0) {
        return 1;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    unsetenv("LD_PRELOAD");
    for (int i = 0; i < RUNNING_MAX; i++) {
        running[i].end = -1;
    }
    for (;;) {
        struct pollfd set[1 + 2 * RUNNING_MAX] = {{listener, POLLIN, 0}};
        for (int i = 0; i < RUNNING_MAX; i++) {
            int is_running = running[i].end >= 0;
            set[1 + 2 * i] = (struct pollfd){is_running ? running[i].connection : -1, POLLIN, 0};
            set[2 + 2 * i] = (struct pollfd){running[i].end, POLLIN, 0};
        }
        if (poll(set, 1 + 2 * RUNNING_MAX, -1) < 0 && errno != EINTR) {
            return 1;
        }
        for (int i = 0; i < RUNNING_MAX; i++) {
            if (running[i].end >= 0) {
                look(&running[i], &set[1 + 2 * i], &set[2 + 2 * i]);
            }
        }
        int connection = set[0].revents ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (connection >= 0) {
            begin(connection);
        }
    }
}

/* The name that glibc calls, which takes four more: two functions, of which newer ones take no
   note, the loader's, and the stack. NOLINTNEXTLINE */
int __libc_start_main(main_function *main, int count, char **arguments, ...) {
    int (*start)(main_function *, int, char **, ...) = NULL;
    *(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
    real_main = main;
    void *more[4];
    va_list list;
    va_start(list, arguments);
    for (int i = 0; i < 4; i++) {
        more[i] = va_arg(list, void *);
    }
    va_end(list);
    return start(serve, count, arguments, more[0], more[1], more[2], more[3]);
}
