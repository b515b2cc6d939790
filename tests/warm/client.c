/* client.c: a program by another name: it has a warm process run it (server.c), and is for its
 * caller what the program would be: descriptors, folder, environment, limits, signals, exit code.
 * Where there is no such process it starts the next program of its name in PATH. */
#define _GNU_SOURCE
#include "warm.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

extern char **environ;
static volatile int connection = -1;
static char text[WARM_TEXT];

static int start_itself(const char *name, const char *own, char **arguments) {
    char *rest = strdup(getenv("PATH") ? getenv("PATH") : ""), *folder;
    while ((folder = strsep(&rest, ":"))) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", folder, name);
        if (strcmp(folder, own) != 0 && access(path, X_OK) == 0) {
            execv(path, arguments);
        }
    }
    fprintf(stderr, "%s: not found\n", name);
    return 127;
}

static void forward(int signal_number) {
    char byte = (char)signal_number;
    int before = errno;
    if (write(connection, &byte, 1) < 0) {
        _exit(128 + signal_number);
    }
    errno = before;
}

static int connect_to(const char *folder, const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s < 0 || warm_address(address.sun_path, sizeof address.sun_path, folder, name) != 0 ||
        connect(s, (struct sockaddr *)&address, sizeof address) != 0) {
        return -1;
    }
    return s;
}

/* All open descriptors but that of the connection; -1: more than fit. */
static int take_descriptors(struct warm_call *call, int *numbers) {
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        int fd = (int)strtol(entry->d_name, NULL, 10);
        if (entry->d_name[0] == '.' || fd == dirfd(folder) || fd == connection) {
            continue;
        }
        if (call->count == WARM_DESCRIPTORS) {
            return -1;
        }
        call->descriptors[call->count] = numbers[call->count] = fd;
        call->count++;
    }
    return folder ? closedir(folder) : -1;
}

static int put(struct warm_call *call, char **words, int32_t *count) {
    for (; words[*count]; ++*count) {
        size_t length = strlen(words[*count]) + 1;
        if (length > sizeof text - (size_t)call->bytes) {
            return -1;
        }
        memcpy(text + call->bytes, words[*count], length);
        call->bytes += (int32_t)length;
    }
    return 0;
}

/* The struct call, with the descriptors and the folder. */
static int send_head(struct warm_call *call, int *numbers) {
    size_t bytes = (size_t)(call->count + 1) * sizeof *numbers;
    struct iovec part = {call, sizeof *call};
    _Alignas(struct cmsghdr) char room[CMSG_SPACE((WARM_DESCRIPTORS + 1) * sizeof *numbers)] = {0};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = room,
                             .msg_controllen = CMSG_SPACE(bytes)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(bytes);
    memcpy(CMSG_DATA(header), numbers, bytes);
    return sendmsg(connection, &message, MSG_NOSIGNAL) == sizeof *call ? 0 : -1;
}

static int send_call(char **arguments) {
    struct warm_call call = {.nice = getpriority(PRIO_PROCESS, 0), .mask = umask(0)};
    int numbers[WARM_DESCRIPTORS + 1];
    umask(call.mask);
    for (int i = 0; i < WARM_LIMITS; i++) {
        getrlimit((__rlimit_resource_t)i, &call.limits[i]);
    }
    if (take_descriptors(&call, numbers) != 0 || put(&call, arguments, &call.arguments) != 0 ||
        put(&call, environ, &call.variables) != 0) {
        return -1;
    }
    int folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    numbers[call.count] = folder;
    int result = folder < 0 ? -1 : send_head(&call, numbers);
    for (int32_t sent = 0; result == 0 && sent < call.bytes;) {
        ssize_t n = send(connection, text + sent, (size_t)(call.bytes - sent), MSG_NOSIGNAL);
        result = n > 0 ? 0 : -1;
        sent += (int32_t)n;
    }
    close(folder);
    return result;
}

/* The exit code, or the same end by a signal. */
static int await_end(void) {
    int status = 0;
    ssize_t n;
    while ((n = read(connection, &status, sizeof status)) < 0 && errno == EINTR) {
    }
    if (n != sizeof status) {
        return 126;
    }
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int count, char **arguments) {
    (void)count;
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(own, '/'), *name = strrchr(arguments[0], '/');
    if (!slash) {
        return 127;
    }
    *slash = '\0';
    name = name ? name + 1 : arguments[0];
    const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL); /* until they can be forwarded */
    if (getenv("LD_PRELOAD") || getenv("LD_LIBRARY_PATH") ||
        (connection = connect_to(own, name)) < 0 || send_call(arguments) != 0) {
        close(connection);
        sigprocmask(SIG_UNBLOCK, &all, NULL);
        return start_itself(name, own, arguments);
    }
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++) {
        signal(forwarded[i], forward);
    }
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    for (int fd = 0; fd < 3; fd++) { /* a pipe ends when the program closes it */
        close(fd);
    }
    return await_end();
}
