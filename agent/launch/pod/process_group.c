// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/pod/process_group.h"

#include "agent/launch/pod/output_tail.h"
#include "agent/launch/pod/process.h"
#include "lib/buffer.h"
#include "lib/text/shown.h"
#include "lib/text/usage_error.h"
#include "lib/text/utf8.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LINE_MAX_BYTES = 64 << 10,
    READ_MAX = 16 << 10,
    LOOK_MAX = 1 << 20, /* of a stream at once, and size of its pipe, since polls are some ms
                           apart */
    FIRST_LINES = 200,  /* of a program, in which words about a wrong command line are looked for */
    LINE_SEEN_BYTES = 200, /* of each */
    QUIET_LINES = 40,      /* behind such words: more of them, and mpirun's own */
    LAST_SEEN_BYTES = 1000,
};

struct stream {
    struct buffer line; /* the beginning of a line */
    int to;             /* 1, 2 */
};

struct child {
    int id;
    struct process process;
    struct stream out, errors;
    struct output_tail tail;
    int64_t lines, quiet_until; /* lines up to this number do not count */
    int64_t killed_before;
    struct child *next;
};

struct process_group {
    struct child *children;
    size_t count;
    int64_t kill_ms; /* -1: no SIGKILL is due */
    int64_t lines;
    char last[LAST_SEEN_BYTES]; /* the beginning of the last line */
    size_t last_size;
    int64_t killed_before; /* the number of OOM kills when the oldest running process started */
};

/* The number of processes that the kernel has OOM-killed in this container's cgroup (version 2, or
 * 1). */
static int64_t oom_kills(void) {
    FILE *file = fopen("/sys/fs/cgroup/memory.events", "re");
    file = file ? file : fopen("/sys/fs/cgroup/memory/memory.oom_control", "re");
    char line[128];
    long long kills = 0;
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "oom_kill %lld", &kills) == 1) {
            break;
        }
    }
    if (file) {
        fclose(file);
    }
    return kills;
}

struct process_group *process_group_new(void) {
    struct process_group *group = x_calloc(1, sizeof *group);
    group->kill_ms = -1;
    return group;
}

/* ---- output --------------------------------------------------------------------------------- */

static void write_all(int fd, const char *data, size_t size) {
    while (size > 0) {
        ssize_t written = write(fd, data, size);
        if (written < 0 && errno != EINTR) {
            return; /* nothing reads the output: it is dropped */
        }
        data += MAX(written, 0);
        size -= (size_t)MAX(written, 0);
    }
}

/* A program that says that its command line is wrong, and mpirun behind it: such lines do not count
 * as work, however long they take on a busy machine. */
static void count_line(struct process_group *group, struct child *child, const char *line,
                       size_t size) {
    char text[LINE_SEEN_BYTES];
    if (child->lines++ < FIRST_LINES) {
        snprintf(text, sizeof text, "%.*s", (int)MIN(size, sizeof text), line);
        child->quiet_until =
            usage_error_may_be(text) ? child->lines + QUIET_LINES : child->quiet_until;
    }
    group->lines += child->lines > child->quiet_until;
    size_t others = 0;
    while (others < size && !isalnum((unsigned char)line[others]) &&
           (unsigned char)line[others] < 0x80) {
        others++;
    }
    if (others < size) {
        /* Of a bar that a program draws again and again, what it shows last. */
        const char *again = memrchr(line, '\r', size - 1);
        const char *from = again ? again + 1 : line;
        group->last_size = MIN(size - (size_t)(from - line), sizeof group->last);
        memcpy(group->last, from, group->last_size);
    }
}

/* Passes on complete lines, so that lines of several processes do not mix. */
static void pass_on(struct process_group *group, struct child *child, struct stream *stream,
                    bool is_end) {
    char *newline = stream->line.size ? memrchr(stream->line.data, '\n', stream->line.size) : NULL;
    size_t size = newline ? (size_t)(newline - stream->line.data) + 1 : 0;
    if (is_end || stream->line.size >= LINE_MAX_BYTES) {
        size = stream->line.size;
    }
    for (size_t at = 0; at < size;) {
        const char *line = stream->line.data + at, *end = memchr(line, '\n', size - at);
        if (!end) {
            break;
        }
        count_line(group, child, line, (size_t)(end - line));
        at += (size_t)(end - line) + 1;
    }
    if (size) {
        write_all(stream->to, stream->line.data, size);
        buffer_drop(&stream->line, size);
    }
}

static void read_stream(struct process_group *group, struct child *child, struct stream *stream,
                        int *fd) {
    struct error err = {0};
    char data[READ_MAX];
    for (size_t total = 0; *fd >= 0 && total < LOOK_MAX;) {
        ssize_t got = read(*fd, data, sizeof data);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && errno == EAGAIN) {
            return;
        }
        if (got <= 0) {
            fd_closep(fd);
            *fd = -1;
            return;
        }
        output_tail_add(&child->tail, data, (size_t)got);
        if (buffer_append(&stream->line, data, (size_t)got, &err) == 0) {
            pass_on(group, child, stream, false);
        }
        total += (size_t)got;
    }
}

/* ---- starting and ending -------------------------------------------------------------------- */

int process_group_start(struct process_group *group, int id, const char *const *words,
                        char **variables, struct error *err) {
    struct child *child = x_calloc(1, sizeof *child);
    child->id = id;
    child->killed_before = oom_kills();
    group->killed_before = group->count ? group->killed_before : child->killed_before;
    if (process_start(words, variables, &child->process, err) < 0) {
        free(child);
        return -1;
    }
    fd_closep(&child->process.in); /* closes stdin after its last byte */
    child->process.in = -1;
    fcntl(child->process.out, F_SETPIPE_SZ, LOOK_MAX); /* without permission the pipe is smaller,
                                                          and slower */
    fcntl(child->process.errors, F_SETPIPE_SZ, LOOK_MAX);
    child->out.to = 1;
    child->errors.to = 2;
    buffer_init(&child->out.line, LINE_MAX_BYTES + READ_MAX);
    buffer_init(&child->errors.line, LINE_MAX_BYTES + READ_MAX);
    child->next = group->children;
    group->children = child;
    group->count++;
    group->kill_ms = -1;
    return 0;
}

static void read_both(struct process_group *group, struct child *child) {
    read_stream(group, child, &child->out, &child->process.out);
    read_stream(group, child, &child->errors, &child->process.errors);
}

static void free_child(struct process_group *group, struct child *child) {
    pass_on(group, child, &child->out, true);
    pass_on(group, child, &child->errors, true);
    buffer_release(&child->out.line);
    buffer_release(&child->errors.line);
    free(child);
    group->count--;
}

static void end_one(struct process_group *group, struct child *child,
                    struct process_group_end *ret_end) {
    int status = process_end(&child->process);
    read_both(group, child);
    process_kill(&child->process); /* also children that have left its group */
    *ret_end = (struct process_group_end){.id = child->id,
                                          .is_memory = oom_kills() > child->killed_before};
    ret_end->code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    output_tail_line(&child->tail, ret_end->detail);
    free_child(group, child);
}

/* Reaps orphans of processes that we started; as PID 1, all orphans. */
static void reap_orphans(const struct process_group *group) {
    siginfo_t info;
    for (;;) {
        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0) {
            return;
        }
        for (const struct child *child = group->children; child; child = child->next) {
            if (child->process.pid == info.si_pid) {
                return; /* its end is handled first */
            }
        }
        waitpid(info.si_pid, NULL, WNOHANG);
    }
}

bool process_group_poll(struct process_group *group, int64_t now_ms,
                        struct process_group_end *ret_end) {
    if (group->kill_ms >= 0 && now_ms >= group->kill_ms) {
        process_group_kill(group);
    }
    for (struct child **at = &group->children; *at; at = &(*at)->next) {
        struct child *child = *at;
        struct pollfd fd = {.fd = child->process.fd, .events = POLLIN};
        read_both(group, child);
        if (poll(&fd, 1, 0) == 1) {
            *at = child->next;
            end_one(group, child, ret_end);
            return true;
        }
    }
    reap_orphans(group);
    return false;
}

bool process_group_find_suspended(const struct process_group *group, int *ret_id, pid_t *ret_pid) {
    for (const struct child *child = group->children; child; child = child->next) {
        *ret_id = child->id;
        *ret_pid = process_find_suspended(&child->process);
        if (*ret_pid > 0) {
            return true;
        }
    }
    return false;
}

bool process_group_is_short_of_memory(const struct process_group *group) {
    return oom_kills() > group->killed_before;
}

void process_group_stop(struct process_group *group, int64_t now_ms) {
    if (group->kill_ms >= 0) {
        return;
    }
    group->kill_ms = now_ms + PROCESS_GROUP_TERM_MS;
    for (const struct child *child = group->children; child; child = child->next) {
        kill(-child->process.pid, SIGTERM);
        kill(-child->process.pid, SIGCONT);
    }
}

void process_group_kill_one(struct process_group *group, int id) {
    for (const struct child *child = group->children; child; child = child->next) {
        if (child->id == id) {
            kill(-child->process.pid, SIGKILL);
        }
    }
}

void process_group_kill(struct process_group *group) {
    for (const struct child *child = group->children; child; child = child->next) {
        kill(-child->process.pid, SIGKILL);
    }
    if (getpid() == 1) {
        kill(-1, SIGKILL); /* all processes of the pod */
    }
}

void process_group_free(struct process_group *group) {
    if (!group) {
        return;
    }
    while (group->children) {
        struct child *child = group->children;
        group->children = child->next;
        process_kill(&child->process);
        free_child(group, child);
    }
    free(group);
}

size_t process_group_count(const struct process_group *group) {
    return group->count;
}

int64_t process_group_lines(const struct process_group *group) {
    return group->lines;
}

void process_group_last_line(const struct process_group *group,
                             char ret_line[static PROCESS_GROUP_LINE_MAX]) {
    AUTO(text_freep) char *shown = shown_text(group->last, group->last_size);
    size_t size = strlen(shown);
    while (size > 0 && isspace((unsigned char)shown[size - 1])) {
        size--;
    }
    size = utf8_valid_size(shown, MIN(size, (size_t)PROCESS_GROUP_LINE_MAX - 1));
    memcpy(ret_line, shown, size);
    ret_line[size] = 0;
}
