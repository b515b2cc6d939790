// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/crew.h"

#include "agent/launch/pod/output_tail.h"
#include "agent/launch/process.h"
#include "lib/buffer.h"

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
    LOOK_MAX = 1 << 20, /* of a stream, and what its pipe holds: looks are some ms apart */
};

struct stream {
    struct buffer line; /* the beginning of one */
    int to;             /* 1, 2 */
};

struct mate {
    int id;
    struct process process;
    struct stream out, errors;
    struct output_tail tail;
    int64_t killed_before;
    struct mate *next;
};

struct crew {
    struct mate *mates;
    size_t count;
    int64_t kill_ms; /* -1: nobody is to be killed */
    int64_t lines;
    int64_t killed_before; /* when the first of those that run began */
};

/* Of this container's cgroup (version 2, or 1): processes that the kernel has killed for want of
 * memory. */
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

struct crew *crew_new(void) {
    struct crew *crew = x_calloc(1, sizeof *crew);
    crew->kill_ms = -1;
    return crew;
}

/* ---- output --------------------------------------------------------------------------------- */

static void write_all(int fd, const char *data, size_t size) {
    while (size > 0) {
        ssize_t written = write(fd, data, size);
        if (written < 0 && errno != EINTR) {
            return; /* nobody reads: nothing is worth an end */
        }
        data += MAX(written, 0);
        size -= (size_t)MAX(written, 0);
    }
}

/* Whole lines, so that those of several processes do not mix. */
static void pass_on(struct crew *crew, struct stream *stream, bool is_end) {
    char *newline = stream->line.size ? memrchr(stream->line.data, '\n', stream->line.size) : NULL;
    size_t size = newline ? (size_t)(newline - stream->line.data) + 1 : 0;
    if (is_end || stream->line.size >= LINE_MAX_BYTES) {
        size = stream->line.size;
    }
    for (size_t i = 0; i < size; i++) {
        crew->lines += stream->line.data[i] == '\n';
    }
    if (size) {
        write_all(stream->to, stream->line.data, size);
        buffer_drop(&stream->line, size);
    }
}

static void read_stream(struct crew *crew, struct mate *mate, struct stream *stream, int *fd) {
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
        output_tail_add(&mate->tail, data, (size_t)got);
        if (buffer_append(&stream->line, data, (size_t)got, &err) == 0) {
            pass_on(crew, stream, false);
        }
        total += (size_t)got;
    }
}

/* ---- starts and ends ------------------------------------------------------------------------ */

int crew_start(struct crew *crew, int id, const char *const *words, char **variables,
               struct error *err) {
    struct mate *mate = x_calloc(1, sizeof *mate);
    mate->id = id;
    mate->killed_before = oom_kills();
    crew->killed_before = crew->count ? crew->killed_before : mate->killed_before;
    if (process_start(words, variables, &mate->process, err) < 0) {
        free(mate);
        return -1;
    }
    fd_closep(&mate->process.in); /* nobody types */
    mate->process.in = -1;
    fcntl(mate->process.out, F_SETPIPE_SZ, LOOK_MAX); /* where we may not it is slower */
    fcntl(mate->process.errors, F_SETPIPE_SZ, LOOK_MAX);
    mate->out.to = 1;
    mate->errors.to = 2;
    buffer_init(&mate->out.line, LINE_MAX_BYTES + READ_MAX);
    buffer_init(&mate->errors.line, LINE_MAX_BYTES + READ_MAX);
    mate->next = crew->mates;
    crew->mates = mate;
    crew->count++;
    crew->kill_ms = -1;
    return 0;
}

static void read_both(struct crew *crew, struct mate *mate) {
    read_stream(crew, mate, &mate->out, &mate->process.out);
    read_stream(crew, mate, &mate->errors, &mate->process.errors);
}

static void free_mate(struct crew *crew, struct mate *mate) {
    pass_on(crew, &mate->out, true);
    pass_on(crew, &mate->errors, true);
    buffer_release(&mate->out.line);
    buffer_release(&mate->errors.line);
    free(mate);
    crew->count--;
}

static void end_one(struct crew *crew, struct mate *mate, struct crew_end *ret_end) {
    int status = process_end(&mate->process);
    read_both(crew, mate);
    process_kill(&mate->process); /* whoever has left its group */
    *ret_end = (struct crew_end){.id = mate->id, .is_memory = oom_kills() > mate->killed_before};
    ret_end->code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    output_tail_line(&mate->tail, ret_end->words);
    free_mate(crew, mate);
}

/* As PID 1, or for who was left behind by those we started. */
static void reap_orphans(const struct crew *crew) {
    siginfo_t info;
    for (;;) {
        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0) {
            return;
        }
        for (const struct mate *mate = crew->mates; mate; mate = mate->next) {
            if (mate->process.pid == info.si_pid) {
                return; /* its end is looked at first */
            }
        }
        waitpid(info.si_pid, NULL, WNOHANG);
    }
}

bool crew_look(struct crew *crew, int64_t now_ms, struct crew_end *ret_end) {
    if (crew->kill_ms >= 0 && now_ms >= crew->kill_ms) {
        crew_kill(crew);
    }
    for (struct mate **at = &crew->mates; *at; at = &(*at)->next) {
        struct mate *mate = *at;
        struct pollfd fd = {.fd = mate->process.fd, .events = POLLIN};
        read_both(crew, mate);
        if (poll(&fd, 1, 0) == 1) {
            *at = mate->next;
            end_one(crew, mate, ret_end);
            return true;
        }
    }
    reap_orphans(crew);
    return false;
}

bool crew_find_halted(const struct crew *crew, int *ret_id, pid_t *ret_pid) {
    for (const struct mate *mate = crew->mates; mate; mate = mate->next) {
        *ret_id = mate->id;
        *ret_pid = process_find_halted(&mate->process);
        if (*ret_pid > 0) {
            return true;
        }
    }
    return false;
}

bool crew_is_short_of_memory(const struct crew *crew) {
    return oom_kills() > crew->killed_before;
}

void crew_stop(struct crew *crew, int64_t now_ms) {
    if (crew->kill_ms >= 0) {
        return;
    }
    crew->kill_ms = now_ms + CREW_TERM_MS;
    for (const struct mate *mate = crew->mates; mate; mate = mate->next) {
        kill(-mate->process.pid, SIGTERM);
        kill(-mate->process.pid, SIGCONT);
    }
}

void crew_kill_one(struct crew *crew, int id) {
    for (const struct mate *mate = crew->mates; mate; mate = mate->next) {
        if (mate->id == id) {
            kill(-mate->process.pid, SIGKILL);
        }
    }
}

void crew_kill(struct crew *crew) {
    for (const struct mate *mate = crew->mates; mate; mate = mate->next) {
        kill(-mate->process.pid, SIGKILL);
    }
    if (getpid() == 1) {
        kill(-1, SIGKILL); /* all of the pod */
    }
}

void crew_free(struct crew *crew) {
    if (!crew) {
        return;
    }
    while (crew->mates) {
        struct mate *mate = crew->mates;
        crew->mates = mate->next;
        process_kill(&mate->process);
        free_mate(crew, mate);
    }
    free(crew);
}

size_t crew_count(const struct crew *crew) {
    return crew->count;
}

int64_t crew_lines(const struct crew *crew) {
    return crew->lines;
}
