// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/rank/rank.h"

#include "agent/launch/pod/agent_socket.h"
#include "agent/launch/pod/output_tail.h"
#include "agent/launch/rank/reporter.h"
#include "agent/launch/tunnel/preload_file.h"
#include "agent/launch/tunnel/preload_frame.h"
#include "agent/store/spool.h"
#include "lib/child.h"
#include "lib/file.h"
#include "lib/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum {
    LINE_MAX_BYTES = 64 << 10, /* of a line of the log: a longer one becomes several */
    READ_MAX = 16 << 10,
    REST_MAX = 1 << 20, /* capacity of a pipe: bytes that a rank left there when it ended */
    STORE_TRY_MS = 5000,
    LOG_END_MS = 5000,
    NOT_FOUND = 127,
    RANKS_MAX = 1 << 20,
};

struct stream {
    int from, theirs, to; /* theirs: the rank's end */
    struct buffer line;   /* the beginning of a line */
};

struct rank {
    int number; /* -1: the agent started us, and sees how the rank ends */
    int size;   /* of its launch; 0: unknown */
    char launch[AGENT_SOCKET_LAUNCH_MAX];
    const char *name; /* the log's name */
    struct store *store;
    struct spool *spool; /* NULL: no logs are kept */
    bool reports;
    struct reporter *reporter; /* NULL: no metrics are wanted */
    struct stream streams[2];
    struct output_tail tail;
    sigset_t before;
    pid_t pid;
    int fd; /* a pidfd */
};

static const char *agent(void) {
    return getenv("WINDLASS_SOCKET");
}

static void complain(const struct rank *rank, const char *what, const struct error *err) {
    fprintf(stderr, "windlass-shim: %s: %s: %s\n", rank->name, what, err->text);
}

/* ---- the environment of a rank -------------------------------------------------------------- */

static int find_number(const char *const *names, int most) {
    for (; *names; names++) {
        const char *text = getenv(*names);
        char *end = NULL;
        long number = text && *text ? strtol(text, &end, 10) : -1;
        if (number >= 0 && !*end && number <= most) {
            return (int)number;
        }
    }
    return -1;
}

/* Finds the rank's number, how many there are, and a name that the ranks of one mpirun share, as
 * set by Open MPI 4, and by 5 (not tested). */
static void find_rank(struct rank *rank) {
    static const char *const numbers[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", NULL};
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE", NULL};
    const char *name = getenv("PMIX_NAMESPACE");
    rank->number = find_number(numbers, RANKS_MAX - 1);
    rank->size = MAX(find_number(sizes, RANKS_MAX), 0);
    snprintf(rank->launch, sizeof rank->launch, "%s", name && *name ? name : "mpi");
    for (char *at = rank->launch; *at; at++) {
        bool is_plain = (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') ||
                        (*at >= 'A' && *at <= 'Z') || strchr("._-@", *at);
        *at = is_plain ? *at : '_';
    }
}

static struct agent_request request_of(const struct rank *rank, enum agent_request_kind kind) {
    struct agent_request request = {.kind = kind, .rank = rank->number, .size = rank->size};
    snprintf(request.launch, sizeof request.launch, "%s", rank->number < 0 ? "" : rank->launch);
    return request;
}

/* What mpirun and its daemon were given for themselves. The user's own libraries stay. */
static void drop_launcher_variables(void) {
    const char *libraries = getenv("LD_PRELOAD");
    size_t size = libraries ? strcspn(libraries, ": ") : 0;
    AUTO(text_freep) char *first = x_strndup(libraries ? libraries : "", size);
    unsetenv(PRELOAD_VARIABLE);
    if (strcmp(file_basename(first), PRELOAD_FILE_NAME) != 0) {
        return;
    }
    AUTO(text_freep) char *others = x_strdup(libraries + size + (libraries[size] != 0));
    if (*others) {
        setenv("LD_PRELOAD", others, 1);
    } else {
        unsetenv("LD_PRELOAD");
    }
}

/* Notifies the agent that the rank starts. Variables that are already set are kept. */
static int get_variables(const struct rank *rank, struct error *err) {
    struct agent_request request = request_of(rank, AGENT_REQUEST_VARIABLES);
    AUTO(text_freep) char *words = NULL;
    AUTO(tree_freep) json_t *tree = NULL;
    const char *name;
    json_t *value;
    int code = 0;
    if (agent_socket_ask(agent(), &request, &code, &words, err) < 0) {
        return -1;
    }
    if (code != 0) {
        return error_set(err, ERROR_UNAVAILABLE, "%s", words);
    }
    if (tree_parse(words, strlen(words), AGENT_SOCKET_ANSWER_MAX, &tree, err) < 0) {
        return -1;
    }
    json_object_foreach(tree, name, value) {
        if (json_is_string(value)) {
            setenv(name, json_string_value(value), 0);
        }
    }
    explicit_bzero(words, strlen(words));
    return 0;
}

/* A rank runs even if its log cannot be written. */
static void open_logs(struct rank *rank) {
    const char *path = getenv("WINDLASS_LOGS"), *round = getenv("WINDLASS_ROUND");
    const char *worker = getenv("WINDLASS_WORKER");
    struct error err = {0};
    if (!path) {
        return;
    }
    AUTO(text_freep) char *out = x_printf("%s/stdout", rank->name);
    AUTO(text_freep) char *errors = x_printf("%s/stderr", rank->name);
    const char *const names[] = {out, errors};
    struct spool_options options = {.names = names, .count = 2};
    if (store_probe_path(path, STORE_TRY_MS, &err) < 0 ||
        store_open(path, true, &rank->store, &err) < 0) {
        complain(rank, "its log is not kept", &err);
        return;
    }
    options.store = rank->store;
    if (spool_new(&options, &rank->spool, &err) < 0) {
        complain(rank, "its log is not kept", &err);
        return;
    }
    char mark[SPOOL_MARK];
    snprintf(mark, sizeof mark, "round %.30s%s%.100s", round ? round : "?", worker ? ", " : "",
             worker ? worker : "");
    spool_begin(rank->spool, 0, mark);
    spool_begin(rank->spool, 1, mark);
}

/* ---- its start ------------------------------------------------------------------------------ */

/* Opens a terminal that passes bytes unchanged. */
static int open_terminal(struct stream *stream) {
    char name[128];
    struct termios modes;
    AUTO(fd_closep) int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 ||
        ptsname_r(master, name, sizeof name) != 0) {
        return -1;
    }
    int slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0 || tcgetattr(slave, &modes) < 0) {
        fd_closep(&slave);
        return -1;
    }
    cfmakeraw(&modes);
    tcsetattr(slave, TCSANOW, &modes);
    stream->from = master;
    master = -1;
    stream->theirs = slave;
    return 0;
}

static int open_stream(struct stream *stream, int to, struct error *err) {
    int ends[2];
    *stream = (struct stream){.from = -1, .theirs = -1, .to = to};
    buffer_init(&stream->line, LINE_MAX_BYTES + READ_MAX);
    if (!isatty(to) || open_terminal(stream) < 0) {
        if (pipe2(ends, O_CLOEXEC) < 0) {
            return error_from_errno(err, errno, "cannot make a pipe");
        }
        stream->from = ends[0];
        stream->theirs = ends[1];
    }
    fcntl(stream->from, F_SETFL, O_NONBLOCK);
    return 0;
}

static _Noreturn void become(const struct rank *rank, char **words, int why, pid_t parent) {
    int out = rank->streams[0].theirs, errors = rank->streams[1].theirs;
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    sigprocmask(SIG_SETMASK, &rank->before, NULL);
    if (dup2(out, 1) == 1 && dup2(errors, 2) == 2 && child_dies_with(parent)) {
        execvp(words[0], words);
    }
    child_fail(why);
}

/* INVALID: the program does not exist. */
static int start(struct rank *rank, char **words, struct error *err) {
    int why[2], reason = 0;
    if (open_stream(&rank->streams[0], 1, err) < 0 || open_stream(&rank->streams[1], 2, err) < 0 ||
        pipe2(why, O_CLOEXEC) < 0) {
        return error_from_errno(err, errno, "cannot make a pipe");
    }
    fflush(NULL);
    pid_t parent = getpid();
    rank->pid = fork();
    if (rank->pid == 0) {
        become(rank, words, why[1], parent);
    }
    int failure = errno;
    close(why[1]);
    fd_closep(&rank->streams[0].theirs);
    fd_closep(&rank->streams[1].theirs);
    ssize_t got = rank->pid < 0 ? 0 : read(why[0], &reason, sizeof reason);
    close(why[0]);
    if (rank->pid < 0) {
        return error_from_errno(err, failure, "cannot start a process");
    }
    if (got > 0) {
        waitpid(rank->pid, NULL, 0);
        bool is_theirs =
            reason == ENOENT || reason == EACCES || reason == ENOEXEC || reason == ENOTDIR;
        return is_theirs
                   ? error_set(err, ERROR_INVALID, "cannot run %s: %s", words[0], strerror(reason))
                   : error_from_errno(err, reason, "cannot run %s", words[0]);
    }
    rank->fd = pidfd_open(rank->pid, 0);
    return rank->fd < 0 ? error_from_errno(err, errno, "cannot watch a process") : 0;
}

/* ---- its output ----------------------------------------------------------------------------- */

static void write_all(int fd, const char *data, size_t size) {
    while (size > 0) {
        ssize_t written = write(fd, data, size);
        if (written < 0 && errno == EAGAIN) {
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        } else if (written < 0 && errno != EINTR) {
            return; /* nothing reads the output */
        }
        data += MAX(written, 0);
        size -= (size_t)MAX(written, 0);
    }
}

static void keep(struct rank *rank, struct stream *stream, const char *data, size_t size) {
    struct error err = {0};
    struct buffer *line = &stream->line;
    int slot = (int)(stream - rank->streams);
    if (!rank->spool || buffer_append(line, data, size, &err) < 0) {
        return;
    }
    size_t done = 0;
    for (char *end; (end = memchr(line->data + done, '\n', line->size - done));) {
        size_t at = (size_t)(end - line->data);
        spool_add(rank->spool, slot, line->data + done, at - done);
        done = at + 1;
    }
    if (line->size - done >= LINE_MAX_BYTES) {
        spool_add(rank->spool, slot, line->data + done, line->size - done);
        done = line->size;
    }
    buffer_drop(line, done);
}

/* Passes on up to READ_MAX available bytes. False: nothing is available now. */
static bool pass_on(struct rank *rank, struct stream *stream) {
    char data[READ_MAX];
    ssize_t got = stream->from >= 0 ? read(stream->from, data, sizeof data) : 0;
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return errno == EINTR;
    }
    if (got <= 0) { /* EIO of a terminal: the other end is closed */
        fd_closep(&stream->from);
        stream->from = -1;
        return false;
    }
    output_tail_add(&rank->tail, data, (size_t)got);
    if (stream == &rank->streams[0]) { /* what the log shows has been looked at */
        reporter_add_output(rank->reporter, data, (size_t)got);
    }
    write_all(stream->to, data, (size_t)got);
    keep(rank, stream, data, (size_t)got);
    return true;
}

static int await(struct rank *rank) {
    int status = 0, wait_ms = reporter_has_file(rank->reporter) ? REPORTER_POLL_MS : -1;
    for (bool is_over = false; !is_over;) {
        struct pollfd fds[] = {{.fd = rank->streams[0].from, .events = POLLIN},
                               {.fd = rank->streams[1].from, .events = POLLIN},
                               {.fd = rank->fd, .events = POLLIN}};
        poll(fds, ARRAY_LEN(fds), wait_ms);
        is_over = fds[2].revents != 0;
        reporter_read_file(rank->reporter);
        pass_on(rank, &rank->streams[0]);
        pass_on(rank, &rank->streams[1]);
    }
    while (waitpid(rank->pid, &status, 0) < 0 && errno == EINTR) {
    }
    for (size_t i = 0; i < ARRAY_LEN(rank->streams); i++) {
        struct stream *stream = &rank->streams[i];
        /* Processes that it has left behind may write forever. */
        for (size_t rest = 0; rest < REST_MAX && pass_on(rank, stream); rest += READ_MAX) {
        }
        if (rank->spool && stream->line.size) {
            spool_add(rank->spool, (int)i, stream->line.data, stream->line.size);
        }
        buffer_release(&stream->line);
    }
    reporter_free(TAKE(rank->reporter)); /* before its end is reported */
    return status;
}

/* ---- its end -------------------------------------------------------------------------------- */

static void send_request(const struct rank *rank, struct agent_request request) {
    AUTO(text_freep) char *words = NULL;
    int code = 0;
    struct error err = {0};
    if (agent() && agent_socket_ask(agent(), &request, &code, &words, &err) < 0) {
        complain(rank, "its exit is not reported", &err);
    }
}

/* True if a process of another process group (mpirun, its daemon, the agent) sent this one a signal
 * to end: a rank's end is then a consequence and explains nothing, and its 0 proves nothing. Shells
 * that send a signal to their own group (kill 0) are meant for their children. */
static bool was_signalled(const struct rank *rank) {
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    bool was_told = false;
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        sigset_t one;
        siginfo_t info = {0};
        sigemptyset(&one);
        sigaddset(&one, numbers[i]);
        was_told |= sigtimedwait(&one, &info, &(struct timespec){0}) > 0 &&
                    info.si_pid != rank->pid && /* it has been reaped */
                    (info.si_pid <= 0 || getpgid(info.si_pid) != getpgrp());
    }
    return was_told;
}

/* Ends this process like the rank. */
static int end_as(int status) {
    if (!WIFSIGNALED(status)) {
        return WEXITSTATUS(status);
    }
    sigset_t one;
    int number = WTERMSIG(status);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* the rank has left its own core file */
    signal(number, SIG_DFL);
    sigemptyset(&one);
    sigaddset(&one, number);
    kill(getpid(), number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    return 128 + number;
}

/* A rank runs even if its metrics cannot be read. */
static void open_reporter(struct rank *rank) {
    struct error err = {0};
    if (rank->reports) {
        rank->reporter = reporter_new(strcmp(rank->name, "command") == 0 ? -1 : 0, &err);
    }
    if (err.kind) {
        complain(rank, "its metrics are not reported", &err);
    }
}

static int run(struct rank *rank, char **words) {
    struct error err = {0};
    open_logs(rank);
    open_reporter(rank);
    if (start(rank, words, &err) < 0) {
        complain(rank, "it did not start", &err);
        if (err.kind == ERROR_INVALID) {
            struct agent_request missing = request_of(rank, AGENT_REQUEST_MISSING);
            missing.text = err.text;
            send_request(rank, missing);
        }
        return NOT_FOUND;
    }
    int status = await(rank);
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (rank->number >= 0) {
        char last[OUTPUT_TAIL_LINE_MAX];
        struct agent_request exited = request_of(rank, AGENT_REQUEST_EXITED);
        output_tail_line(&rank->tail, last);
        exited.code = code;
        exited.text = last;
        exited.was_signalled = was_signalled(rank);
        send_request(rank, exited);
    }
    /* A thread that waits for a dead store ends with this process. */
    if (spool_free(rank->spool, LOG_END_MS) == 0) {
        store_free(rank->store);
    }
    return end_as(status);
}

/* As the program was called: by a link with the name rank, or as `windlass-shim rank`. */
static int print_usage(const char *word) {
    bool is_link = strcmp(program_invocation_short_name, "rank") == 0;
    bool wants_help = word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0);
    fprintf(wants_help ? stdout : stderr,
            "Usage: %s%s [--log NAME [--reports]] PROGRAM ARGUMENTS...\n\n"
            "Wraps a rank of a DistTrain; windlass starts it.\n\n"
            "Options:\n"
            "      --log NAME               The name of its log; default: rank.NNN.\n"
            "      --reports                Its output has metrics (spec.metrics).\n"
            "  -h, --help                   Print this text.\n",
            is_link ? "" : program_invocation_short_name, is_link ? "rank" : " rank");
    return wants_help ? 0 : 2;
}

int rank_main(int argc, char **argv) {
    struct rank rank = {.number = -1, .name = "rank", .fd = -1};
    struct error err = {0};
    bool has_log = argc > 2 && strcmp(argv[1], "--log") == 0;
    bool reports = has_log && argc > 3 && strcmp(argv[3], "--reports") == 0;
    char **words = argv + (reports ? 4 : has_log ? 3 : 1), name[32];
    sigset_t all;
    if (!words[0] || words[0][0] == '-') {
        return print_usage(words[0]);
    }
    if (has_log) {
        rank.name = argv[2];
        rank.reports = reports;
    } else {
        drop_launcher_variables();
        find_rank(&rank);
        rank.reports = rank.number == 0;
        snprintf(name, sizeof name, "rank.%03d", rank.number);
        rank.name = name;
    }
    /* Signals go to the process group and so to the rank; we end when it ends. */
    sigfillset(&all);
    sigdelset(&all, SIGTSTP);
    sigprocmask(SIG_BLOCK, &all, &rank.before);
    if (!has_log && agent() && get_variables(&rank, &err) < 0) {
        complain(&rank, "cannot get its variables", &err);
        return 3;
    }
    if (!agent() || (!has_log && rank.number < 0)) { /* not a rank of ours */
        signal(SIGPIPE, SIG_DFL);
        signal(SIGXFSZ, SIG_DFL);
        sigprocmask(SIG_SETMASK, &rank.before, NULL);
        execvp(words[0], words);
        fprintf(stderr, "rank: cannot run %s: %s\n", words[0], strerror(errno));
        return NOT_FOUND;
    }
    return run(&rank, words);
}
