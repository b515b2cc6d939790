// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/shell.h"

#include "agent/launch/rsh.h"
#include "lib/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { CLIENTS_MAX = 2048, HOST_MAX = 256, ANSWER_MAX = 8 << 10 };

/* A client says HOST, newline, LINE, NUL; it hears CODE, newline, words, and the end. */
struct client {
    int fd;
    int64_t id;
    bool is_taken;
    struct buffer said;
    struct client *next;
};

struct shell {
    int fd;
    char *path;
    struct client *clients;
    size_t count;
    int64_t last_id;
};

static int address_of(const char *path, struct sockaddr_un *address, struct error *err) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address->sun_path) {
        return error_set(err, ERROR_INVALID, "%s is too long for a socket", path);
    }
    memcpy(address->sun_path, path, strlen(path) + 1);
    return 0;
}

int shell_open(const char *path, struct shell **ret_shell, struct error *err) {
    struct sockaddr_un address;
    if (address_of(path, &address, err) < 0) {
        return -1;
    }
    unlink(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        chmod(path, 0600) < 0 || listen(fd, SOMAXCONN) < 0) {
        int why = errno;
        fd_closep(&fd);
        return error_from_errno(err, why, "%s", path);
    }
    struct shell *shell = x_calloc(1, sizeof *shell);
    shell->fd = fd;
    shell->path = x_strdup(path);
    *ret_shell = shell;
    return 0;
}

static void drop(struct shell *shell, struct client **at) {
    struct client *client = *at;
    *at = client->next;
    fd_closep(&client->fd);
    buffer_release(&client->said);
    free(client);
    shell->count--;
}

void shell_free(struct shell *shell) {
    if (shell) {
        while (shell->clients) {
            drop(shell, &shell->clients);
        }
        unlink(shell->path);
        fd_closep(&shell->fd);
        free(shell->path);
        free(shell);
    }
}

static void accept_all(struct shell *shell) {
    while (shell->count < CLIENTS_MAX) {
        int fd = accept4(shell->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            return;
        }
        struct client *client = x_calloc(1, sizeof *client);
        client->fd = fd;
        client->id = ++shell->last_id;
        buffer_init(&client->said, RSH_LINE_MAX + HOST_MAX + 2);
        client->next = shell->clients;
        shell->clients = client;
        shell->count++;
    }
}

/* False: it has gone, or says nonsense. */
static bool listen_to(struct client *client) {
    struct error err = {0};
    char data[16 << 10];
    for (;;) {
        ssize_t got = read(client->fd, data, sizeof data);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 && errno == EAGAIN;
        }
        if (buffer_append(&client->said, data, (size_t)got, &err) < 0) {
            return false;
        }
    }
}

bool shell_take(struct shell *shell, struct shell_request *ret_request) {
    accept_all(shell);
    for (struct client *client = shell->clients; client; client = client->next) {
        if (client->is_taken || !listen_to(client) || !client->said.size ||
            client->said.data[client->said.size - 1]) {
            continue;
        }
        char *newline = strchr(client->said.data, '\n');
        if (newline) {
            *newline = 0;
            client->is_taken = true;
            *ret_request = (struct shell_request){client->id, client->said.data, newline + 1};
            return true;
        }
    }
    return false;
}

bool shell_gone(struct shell *shell, int64_t *ret_id) {
    for (struct client **at = &shell->clients; *at; at = &(*at)->next) {
        if (!listen_to(*at)) {
            *ret_id = (*at)->id;
            drop(shell, at);
            return true;
        }
    }
    return false;
}

void shell_answer(struct shell *shell, int64_t id, int code, const char *words) {
    for (struct client **at = &shell->clients; *at; at = &(*at)->next) {
        if ((*at)->id == id) {
            AUTO(text_freep) char *text = x_printf("%d\n%s", code, words);
            ssize_t ignored = send((*at)->fd, text, strlen(text), MSG_NOSIGNAL);
            (void)ignored;
            drop(shell, at);
            return;
        }
    }
}

/* ---- the program in ssh's place ------------------------------------------------------------- */

static int ask(const char *host, const char *line, char answer[static ANSWER_MAX],
               struct error *err) {
    const char *path = getenv("WINDLASS_SOCKET");
    struct sockaddr_un address;
    AUTO(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    AUTO(text_freep) char *request = x_printf("%s\n%s", host, line);
    size_t size = strlen(request) + 1, done = 0;
    if (!path || address_of(path, &address, err) < 0) {
        return error_set(err, ERROR_INVALID,
                         "WINDLASS_SOCKET is missing: this is no ssh, but what "
                         "stands in its place in a pod of a DistTrain");
    }
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        return error_from_errno(err, errno, "the agent of this pod");
    }
    while (done < size) {
        ssize_t sent = send(fd, request + done, size - done, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            return error_from_errno(err, errno, "the agent of this pod");
        }
        done += (size_t)MAX(sent, 0);
    }
    for (done = 0; done < ANSWER_MAX - 1;) {
        ssize_t got = read(fd, answer + done, ANSWER_MAX - 1 - done);
        if (got <= 0 && (got == 0 || errno != EINTR)) {
            break;
        }
        done += (size_t)MAX(got, 0);
    }
    answer[done] = 0;
    return done ? 0 : error_set(err, ERROR_UNAVAILABLE, "the agent of this pod has ended");
}

int rsh_main(int argc, char **argv) {
    struct error err = {0};
    const char *host = NULL;
    AUTO(text_freep) char *line = NULL;
    char answer[ANSWER_MAX];
    if (rsh_read(argc, argv, &host, &line, &err) < 0 || ask(host, line, answer, &err) < 0) {
        fprintf(stderr, "%s: %s\n", argv[0], err.text);
        return 255;
    }
    char *end = NULL;
    long code = strtol(answer, &end, 10);
    if (code != 0 && *end && end[1]) {
        fprintf(stderr, "%s: %s\n", host, end + 1);
    }
    return (int)code;
}
